"""Layers of a fleet: a profile on top of those that it extends, each value with the file it came from.

Mappings merge key by key. Lists of things with a name (pools, tiers, queues, jobs, cohorts) merge by name,
new ones at the end; every other list and every scalar replaces what was below. `null` removes a key.
"""

from __future__ import annotations

import os
from pathlib import Path as FilePath

from ..finding import Finding
from ..source import Span
from .codes import LAYER, WRONG_TYPE
from .node import Node
from .reader import read_bytes, read_file


def read_layers(file: str, stdin: bytes | None = None) -> tuple[Node | None, list[Finding], list[str]]:
    """The merged tree of `file` and all that it extends, the findings, and the files from low to high.

    `-` reads `stdin`. Findings of all layers come together; a tree comes only when there are none.
    """
    findings: list[Finding] = []
    files: list[str] = []
    root = _read(file, stdin, (), None, findings, files)
    return (None if findings else root), findings, files


def _read(
    file: str,
    stdin: bytes | None,
    below: tuple[str, ...],
    named_at: Span | None,
    findings: list[Finding],
    files: list[str],
) -> Node | None:
    identity = file if file == "-" else os.path.realpath(file)
    if identity in below:
        at = named_at or Span.start_of(file)
        findings.append(LAYER.at(at, f"{file} extends itself in a circle"))
        return None
    if named_at is not None and not os.path.isfile(file):
        findings.append(LAYER.at(named_at, f"{file} is extended here but is no file"))
        return None
    if file == "-":
        node, problems = read_bytes(stdin or b"", "<stdin>")
    else:
        node, problems = read_file(FilePath(file), file)
    findings.extend(problems)
    if node is None:
        return None
    merged: Node | None = None
    for name in _extended(node, findings):
        path = os.path.normpath(os.path.join("." if file == "-" else os.path.dirname(file), name.value))
        layer = _read(path, None, (*below, identity), name.span, findings, files)
        if layer is not None:
            merged = layer if merged is None else _merge(merged, layer)
    if file not in files:
        files.append(file)
    return node if merged is None else _merge(merged, node)


def _extended(node: Node, findings: list[Finding]) -> list[Node]:
    extends = node.child("extends")
    if extends is None:
        return []
    if not isinstance(extends.value, list) or not all(isinstance(item.value, str) for item in extends.value):
        findings.append(
            WRONG_TYPE.at(extends.span, "extends takes a list of files", "write extends: [base.yaml]")
        )
        return []
    return list(extends.value)


def _merge(low: Node, high: Node) -> Node:
    if isinstance(low.value, dict) and isinstance(high.value, dict):
        values = dict(low.value)
        for key, node in high.value.items():
            if node.value is None:
                values.pop(key, None)
            elif key in values:
                values[key] = _merge(values[key], node)
            else:
                values[key] = node
        return Node(values, high.span, high.key_span)
    if isinstance(low.value, list) and isinstance(high.value, list):
        names = [_name(item) for item in (*low.value, *high.value)]
        if names and all(name is not None for name in names):
            return Node(_by_name(low.value, high.value), high.span, high.key_span)
    return high


def _by_name(low: list[Node], high: list[Node]) -> list[Node]:
    """Items of two layers; a name that one layer states twice stays twice, for a rule to find."""
    merged = list(low)
    place: dict[str | None, int] = {}
    for index, item in enumerate(low):
        place.setdefault(_name(item), index)
    for item in high:
        at = place.pop(_name(item), None)
        if at is None:
            merged.append(item)
        else:
            merged[at] = _merge(merged[at], item)
    return merged


def _name(node: Node) -> str | None:
    name = node.child("name")
    return name.value if name is not None and isinstance(name.value, str) else None
