"""What a rule is: a code, a docstring that is its page, and a check that yields findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from ..finding import Finding, Fix, Severity
from ..plan.model import Plan
from ..profile.load import LoadedProfile
from ..source import Path, Span


class Rule:
    """Base of all rules.

    A subclass states `code`, `severity` and a docstring with the headings What it does, Why it matters,
    Fails, Passes, Fix and References; its name is the file's name with hyphens. Rules of stage `profile` ask
    whether references hold and values make sense before a plan can be made; rules of stage `plan` judge the
    plan. A rule never prints, reads files or raises for a bad profile.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    stage: ClassVar[Literal["profile", "plan"]] = "plan"

    @classmethod
    def name(cls) -> str:
        """The rule's name: the module's file name with hyphens."""
        return cls.__module__.rpartition(".")[2].replace("_", "-")

    def finding(
        self,
        span: Span,
        message: str,
        fix: str | Fix | None = None,
        related: tuple[tuple[Span, str], ...] = (),
    ) -> Finding:
        """A finding of this rule."""
        return Finding(
            self.code,
            self.name(),
            self.severity,
            message,
            span,
            Fix(fix) if isinstance(fix, str) else fix,
            related,
        )


class ProfileRule(Rule):
    """A rule about the profile alone."""

    stage = "profile"

    def check(self, loaded: LoadedProfile) -> Iterator[Finding]:
        """Findings about a profile whose shape is right."""
        raise NotImplementedError


class PlanRule(Rule):
    """A rule about the plan."""

    stage = "plan"

    def check(self, plan: Plan) -> Iterator[Finding]:
        """Findings about a plan whose references hold."""
        raise NotImplementedError


def key_span(loaded: LoadedProfile, path: Path) -> Span:
    """Where the key at the end of `path` is written; for facts about the key and not its value."""
    node, reached = loaded.root.nearest(path)
    if reached == path and node.key_span is not None:
        return node.key_span
    return loaded.span(path)
