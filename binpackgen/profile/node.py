"""The profile as a tree of values that know where they were written."""

from __future__ import annotations

from typing import Any

from ..source import Path, Span


class DecimalText(str):
    """A bare number with a decimal point, kept as it was written, so that 1.30 never becomes 1.3."""

    __slots__ = ()


class Node:
    """A scalar, a mapping (dict of Node) or a sequence (list of Node) with its place.

    `span` covers the value; `key_span` covers the key that leads to it (None for items and the root).
    """

    __slots__ = ("key_span", "span", "value")

    def __init__(self, value: Any, span: Span, key_span: Span | None = None) -> None:
        self.value = value
        self.span = span
        self.key_span = key_span

    def plain(self) -> Any:
        """The tree as plain dicts, lists and scalars."""
        value = self.value
        if isinstance(value, dict):
            return {key: child.plain() for key, child in value.items()}
        if isinstance(value, list):
            return [child.plain() for child in value]
        return value

    def child(self, step: str | int) -> Node | None:
        """The node one step down, or None."""
        value = self.value
        if isinstance(value, dict):
            return value.get(step)
        if isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            item: Node = value[step]
            return item
        return None

    def nearest(self, path: Path) -> tuple[Node, Path]:
        """The deepest node that exists on `path`, and the part of the path that leads to it."""
        node: Node = self
        for index, step in enumerate(path):
            below = node.child(step)
            if below is None:
                return node, path[:index]
            node = below
        return node, path

    def locate(self, path: Path) -> Span:
        """Where the value at `path`, or the nearest thing above it, is written.

        For a mapping or sequence that is the key that names it, which is where a reader looks.
        """
        node, _ = self.nearest(path)
        if isinstance(node.value, (dict, list)):
            if node.key_span is not None:
                return node.key_span
            name = node.value.get("name") if isinstance(node.value, dict) else None
            return name.span if name is not None else node.span
        return node.span
