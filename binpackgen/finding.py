"""What binpackgen has to say about an input: a code, a place, a fact with its numbers, and a fix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text at `span` by `text`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do about a finding. `edits` is empty where only a person can decide."""

    title: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about one place.

    `message` is one sentence in lower case without a full stop that states the fact with its numbers
    and the consequence; the instruction belongs in `fix`. `related` are further places with a label each.
    """

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    fix: Fix | None = None
    related: tuple[tuple[Span, str], ...] = ()
    waived: str | None = None

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
