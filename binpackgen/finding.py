"""What binpackgen has to say about an input: a code, a place, a fact with its numbers, and a fix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from .source import Span


class Severity(StrEnum):
    """SARIF's levels, gravest first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


class Edit(NamedTuple):
    """Replace the text at `span` by `text`."""

    span: Span
    text: str


def printable(text: str) -> str:
    """`text` with everything escaped that would break a line or a terminal: control and format characters."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do about a finding. `edits` is empty where only a person can decide."""

    title: str
    edits: tuple[Edit, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", printable(self.title))


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about one place.

    `message` is one sentence in lower case without a full stop that states the fact with its numbers
    and the consequence; the instruction belongs in `fix`. `related` are further places with a label each.
    Whatever a message quotes, it stays one printable line.
    """

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    fix: Fix | None = None
    related: tuple[tuple[Span, str], ...] = ()
    waived: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", printable(self.message))

    @property
    def blocks(self) -> bool:
        """Whether nothing may be built while this finding stands."""
        return self.severity is Severity.ERROR and self.waived is None


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """`findings` by file, position and code: the order in which a reader meets them."""
    return sorted(findings, key=lambda f: (f.span.file, f.span.line, f.span.column, f.code, f.message))


def blocking(findings: Iterable[Finding]) -> bool:
    """Whether any of `findings` forbids a build."""
    return any(finding.blocks for finding in findings)
