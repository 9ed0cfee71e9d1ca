"""Where an output field comes from, and what follows from a profile line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..document import Because, Document, TextFile
from ..plan.model import Plan
from ..profile.node import Node
from ..source import Path, path_text

_STEP = re.compile(r'\.?(?:([^.\[\]"]+)|\["([^"]*)"\]|\[(\d+)\])')


def parse_path(text: str) -> Path | None:
    """The path that a person wrote: spec.nodePools[0].cpu, metadata.labels["a.b/c"]; None if it is none."""
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or match.end() == position:
            return None
        bare, quoted, index = match.groups()
        steps.append(int(index) if index is not None else quoted if quoted is not None else bare)
        position = match.end()
    return tuple(steps)


def lookup(body: Any, path: Path) -> tuple[Any, Path]:
    """The deepest value on `path` inside a document's body, and how far the path led."""
    for position, step in enumerate(path):
        inside = isinstance(body, dict) and step in body
        inside = inside or (isinstance(body, list) and isinstance(step, int) and step < len(body))
        if not inside:
            return body, path[:position]
        body = body[step]
    return body, path


def document_title(document: Document | TextFile) -> str:
    """The kind and name of an object, for headings."""
    if isinstance(document, TextFile):
        return "text"
    body = document.body if isinstance(document.body, dict) else {}
    name = body.get("metadata", {}).get("name") if isinstance(body.get("metadata"), dict) else None
    return "/".join(str(part) for part in (body.get("kind"), name) if part) or "component file"


def field_text(plan: Plan, document: Document, path: Path) -> str:
    """One field: its value, why it has it, and the profile lines that it follows from."""
    value, _ = lookup(document.body, path)
    because = document.because(path)
    shown = value if not isinstance(value, dict | list) else f"({len(value)} entries)"
    lines = [f"  {path_text(path) or '(whole object)'} = {shown}"]
    return "\n".join([*lines, *because_lines(plan, because)]) + "\n"


def because_lines(plan: Plan, because: Because) -> Iterator[str]:
    """The reason and the places it follows from."""
    yield f"      because {because.reason}"
    for path in because.paths:
        node, reached = plan.loaded.root.nearest(path)
        value = f" = {node.value}" if not isinstance(node.value, dict | list) else ""
        if reached != path:
            yield f"      from    {path_text(path)}, which the profile leaves to its default"
        else:
            yield f"      from    {plan.span(path)}  {path_text(path)}{value}"


def document_text(plan: Plan, document: Document) -> str:
    """An object with every reason that it carries."""
    text = f"{document.path}  {document_title(document)}\n"
    text += field_text(plan, document, ())
    for path, _ in sorted(document.reasons(), key=lambda reason: str(reason[0])):
        text += field_text(plan, document, path)
    return text


def paths_at(root: Node, file: str, line: int) -> list[Path]:
    """The profile paths that are written on a line, deepest last."""
    found: list[Path] = []

    def walk(node: Node, path: Path) -> None:
        spans = (node.span, node.key_span)
        if any(span is not None and span.file == file and span.line == line for span in spans):
            found.append(path)
        if isinstance(node.value, dict):
            for key, child in node.value.items():
                walk(child, (*path, key))
        elif isinstance(node.value, list):
            for index, child in enumerate(node.value):
                walk(child, (*path, index))

    walk(root, ())
    return [path for path in found if path]


def following(
    documents: Iterable[Document | TextFile], paths: Iterable[Path]
) -> Iterator[tuple[Document | TextFile, Path, Because]]:
    """The output fields whose reasons name one of `paths`, something below it, or the thing it is part of.

    A thing is a pool, a queue, a job (`spec.nodePools[0]`): a number that follows from a whole pool follows
    from its cpu, too, but not everything that names `spec` does.
    """
    wanted = list(paths)

    def touches(because: Because) -> bool:
        return any(
            origin[: len(path)] == path or (len(origin) > 2 and path[: len(origin)] == origin)
            for origin in because.paths
            for path in wanted
        )

    for document in documents:
        if touches(document.why):
            yield document, (), document.why
        if isinstance(document, Document):
            for path, because in document.reasons():
                if touches(because):
                    yield document, path, because
