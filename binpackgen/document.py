"""The unit of output: one file's content, with the reason for every field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .source import Path


class Because(NamedTuple):
    """Why a field has its value, and the profile paths that it follows from."""

    reason: str
    paths: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One object (or component file) of the compiled tree.

    `path` is relative to the profile's output folder, with `/`. Several documents may share a path: they
    become one multi-document file in the order they were yielded. `body` holds plain dicts, lists, strings,
    integers and booleans; dicts keep their order. `why` is the reason for the document as a whole; `trace`
    maps paths inside `body` to the reasons for those fields, the longest matching prefix wins. `sync` says
    whether GitOps tools should apply it (false: a file for a person, a node or a chart). `wave` orders what
    is applied: lower first.
    """

    path: str
    body: Any
    why: Because
    trace: dict[Path, Because] = field(default_factory=dict)
    sync: bool = True
    wave: int = 0

    def because(self, path: Path) -> Because:
        """The reason for the field at `path` inside the body."""
        for end in range(len(path), 0, -1):
            found = self.trace.get(path[:end])
            if found is not None:
                return found
        return self.why

    def reasons(self) -> Iterator[tuple[Path, Because]]:
        """The reasons of the fields that the body has; a target may also know some for fields it left out."""
        for path, because in self.trace.items():
            value = self.body
            for step in path:
                if isinstance(value, dict):
                    value = value.get(step, _ABSENT)
                elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                    value = value[step]
                else:
                    value = _ABSENT
            if value is not _ABSENT:
                yield path, because


_ABSENT = object()


class TextFile(NamedTuple):
    """A file for a person or a tool that is no YAML: a README, an environment file."""

    path: str
    text: str
    why: Because


class Unsupported(NamedTuple):
    """Something the plan asks for that a control plane cannot express.

    It is a finding until the profile consents to the loss; then it is an entry of the loss report.
    """

    what: str
    reason: str
    alternative: str
    at: Path


Output = Document | TextFile | Unsupported
