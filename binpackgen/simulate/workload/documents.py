"""Kubernetes objects in JSON or YAML files, each with the line on which it begins."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ...profile.codes import UNREADABLE_WORKLOAD
from .reading import Findings

Object = Mapping[str, Any]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')


class Placed:
    """An object of a file. `line` is found when it is asked for."""

    __slots__ = ("_line", "_text", "file", "item")

    def __init__(self, item: Object, file: str, line: int | _Text) -> None:
        self.item = item
        self.file = file
        self._line = line if isinstance(line, int) else line.number
        self._text = None if isinstance(line, int) else line.text

    @property
    def line(self) -> int:
        """Counts from 1."""
        return self._line if self._text is None else self._text.line_of(self._line)

    @property
    def name(self) -> str:
        """Kind, namespace and name, for messages."""
        metadata = self.item.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        name = metadata.get("name") or metadata.get("generateName") or "without a name"
        namespace = metadata.get("namespace")
        return f"{self.item.get('kind')} {f'{namespace}/' if namespace else ''}{name}"


class _Text(NamedTuple):
    """The object with this number in a JSON List."""

    text: _Json
    number: int


class _Json:
    """Looks for the lines of a List's objects, which is only needed where there is something to say about them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: list[int] | None = None

    def line_of(self, number: int) -> int:
        if self._lines is None:
            self._lines = list(self._find())
        return self._lines[number] if number < len(self._lines) else 1

    def _find(self) -> Iterator[int]:
        """Lines of the objects in the array `items` of the outermost object."""
        depth, last, inside, line, seen = 0, "", False, 1, 0
        for match in _TOKEN.finditer(self._text):
            mark = match.group()
            if mark == "{" and depth == 2 and inside:
                line += self._text.count("\n", seen, match.start())
                seen = match.start()
                yield line
            elif mark == "[" and depth == 1:
                inside = last == '"items"'
            if mark in "{[":
                depth += 1
            elif mark in "}]":
                depth -= 1
            last = mark


def read_documents(file: str, stdin: bytes | None, findings: Findings) -> list[Placed]:
    """The objects of a file, Lists opened; `-` is `stdin`. What is no object at all is a finding."""
    try:
        data = (stdin or b"") if file == "-" else Path(file).read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        findings.add(UNREADABLE_WORKLOAD, file, 1, f"the file cannot be read: {error.strerror or error}")
        return []
    except UnicodeDecodeError as error:
        findings.add(
            UNREADABLE_WORKLOAD,
            file,
            1 + error.object.count(b"\n", 0, error.start),
            "the file is no UTF-8 text",
        )
        return []
    try:
        found = list(_json(text, file) if text.lstrip()[:1] in ("{", "[") else _yaml(text, file))
    except json.JSONDecodeError as error:
        findings.add(UNREADABLE_WORKLOAD, file, error.lineno, f"the text is no JSON: {error.msg}")
        return []
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        findings.add(UNREADABLE_WORKLOAD, file, line, f"the text is no YAML: {error.problem}")
        return []
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        findings.add(UNREADABLE_WORKLOAD, file, 1, f"the text cannot be read: {str(error).splitlines()[0]}")
        return []
    objects = []
    for placed in found:
        if isinstance(placed.item, Mapping) and isinstance(placed.item.get("kind"), str):
            objects.append(placed)
        else:
            findings.add(
                UNREADABLE_WORKLOAD, file, placed.line, "this is no Kubernetes object: it has no kind"
            )
    if not found:
        findings.add(UNREADABLE_WORKLOAD, file, 1, "the file has no objects")
    return objects


def _json(text: str, file: str) -> Iterator[Placed]:
    top = json.loads(text)
    if isinstance(top, Mapping) and isinstance(top.get("items"), list):
        source = _Json(text)
        kind = str(top.get("kind", "List")).removesuffix("List")
        for number, item in enumerate(top["items"]):
            yield Placed(_of_kind(item, kind), file, _Text(source, number))
    elif isinstance(top, list):
        for item in top:
            yield Placed(item, file, 1)
    else:
        yield Placed(top, file, 1)


def _yaml(text: str, file: str) -> Iterator[Placed]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            # comments and nothing else between two separators
            if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
                continue
            item = loader.construct_document(node)
            if isinstance(item, Mapping) and isinstance(item.get("items"), list):
                kind = str(item.get("kind", "List")).removesuffix("List")
                nodes = next(value.value for key, value in node.value if key.value == "items")
                for one, place in zip(item["items"], nodes, strict=True):
                    yield Placed(_of_kind(one, kind), file, place.start_mark.line + 1)
            else:
                yield Placed(item, file, node.start_mark.line + 1)
    finally:
        loader.dispose()


def _of_kind(item: Any, kind: str) -> Any:
    """An entry of a PodList need not say that it is a Pod."""
    return {"kind": kind, **item} if kind and isinstance(item, Mapping) and "kind" not in item else item
