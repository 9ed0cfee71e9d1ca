from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from ...finding import Finding
from ...source import Span
from ..rule import Judgement, PolicyRule


class CrashedRule(PolicyRule):
    """
    ## What it does
    Reports a rule that failed by itself, with what stopped it. All other rules had their say.

    ## Why it matters
    What the rule would have found is not known, so nothing is built.

    ## Fails
    A defect in a rule; no profile is meant to cause this.

    ## Passes
    Every profile, as far as we know.

    ## Fix
    Report it with the profile. To build all the same, set `policies.severities: {crashed-rule: warning}`.

    ## References
    The issue tracker.
    """

    code = "BP699"

    def check(self, judgement: Judgement) -> Iterator[Finding]:
        yield from ()

    def of(self, code: str, error: Exception, span: Span) -> Finding:
        """The finding for a rule that raised `error`."""
        place = ""
        trace = error.__traceback__
        while trace is not None:
            place = f" ({PurePath(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"
            trace = trace.tb_next
        what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
        return self.finding(
            span,
            f"rule {code} stopped with {what}{place}, so what it would have found is not known",
            "report this with the profile; severities: {crashed-rule: warning} builds all the same",
        )


CRASHED = CrashedRule()
