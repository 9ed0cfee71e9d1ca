"""Values put into the text of a profile so that nothing else of it changes, comments least of all."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from ..errors import BinpackgenError
from ..profile.node import Node
from ..profile.reader import read_bytes
from ..source import Path, path_text


def with_values(text: str, changes: Mapping[Path, Any], file: str) -> str:
    """`text` with these values (numbers, words, lists and mappings of them) in place.

    Values that are there are replaced, keys that are not are added to the top of the mapping that they belong to. Raises
    BinpackgenError where the text cannot take them, after trying.
    """
    for path, value in changes.items():
        text = _set(text, path, value, file)
    wanted = _read(text, file).plain()
    for path, value in changes.items():
        found: Any = wanted
        for step in path:
            found = found.get(step) if isinstance(found, dict) else found[int(step)]
        if found != value:
            raise BinpackgenError(
                f"{file}: {path_text(path)} cannot be changed in place; set it to {flow(value)}"
            )
    return text


def unified(before: str, after: str, file: str) -> str:
    """The difference as a patch that `patch -p1` and `git apply` take; empty for none."""
    name = file.lstrip("/")
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def replace_text(path: FilePath, text: str) -> None:
    """Write a file whole or not at all: it is the old one or the new one, with its mode, also behind a link."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        if target.exists():
            shutil.copymode(target, name)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def flow(value: Any) -> str:
    """A value in YAML's flow style; words are letters only."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value)


def _set(text: str, path: Path, value: Any, file: str) -> str:
    root = _read(text, file)
    node, reached = root.nearest(path)
    if reached == path:
        start, end = _offset(text, node.span.line, node.span.column), _end(text, node)
        return text[:start] + flow(value) + text[end:]
    missing = path[len(reached) :]
    if not isinstance(node.value, dict):
        raise BinpackgenError(f"{file}: {path_text(path)} cannot be set, {path_text(reached)} is no mapping")
    for step in reversed(missing[1:]):
        value = {step: value}
    entry = f"{missing[0]}: {flow(value)}"
    start = _offset(text, node.span.line, node.span.column)
    if text[start : start + 1] == "{":
        separator = ", " if node.value else ""
        return text[: start + 1] + entry + separator + text[start + 1 :]
    first = next(iter(node.value.values()))
    key = first.key_span
    assert key is not None  # noqa: S101  keys of a mapping have places
    line = _offset(text, key.line, 1)
    return f"{text[:line]}{' ' * (key.column - 1)}{entry}\n{text[line:]}"


def _end(text: str, node: Node) -> int:
    end = _offset(text, node.span.end_line, node.span.end_column)
    start = _offset(text, node.span.line, node.span.column)
    # a block mapping ends where the next token begins
    return start + len(text[start:end].rstrip())


def _offset(text: str, line: int, column: int) -> int:
    position = 0
    for _ in range(line - 1):
        position = text.index("\n", position) + 1
    return position + column - 1


def _read(text: str, file: str) -> Node:
    root, findings = read_bytes(text.encode(), file)
    if root is None or findings:
        raise BinpackgenError(f"{file}: {findings[0].message if findings else 'cannot be read'}")
    return root
