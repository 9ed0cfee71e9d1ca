"""Outcomes in words: figures with their units, verdicts, and what the negative control shows."""

from __future__ import annotations

import math
from typing import NamedTuple

from binpackgen.report.printable import counted, percent, printable

from ..outcome import Measure, Outcome, Run


class Row(NamedTuple):
    """A measure beside the same one of the negative control; either may be missing."""

    measure: Measure | None
    control: Measure | None

    @property
    def name(self) -> str:
        """What both are figures of."""
        return self._either.name

    @property
    def bar(self) -> str:
        """The condition in words, or ""."""
        return self._either.bar

    @property
    def _either(self) -> Measure:
        either = self.measure or self.control
        assert either is not None, "a row has a measure or a control's"  # noqa: S101
        return either


def rows(outcome: Outcome) -> list[Row]:
    """Every measure of an outcome with the control's of that name, then what only the control measured."""
    control = {measure.name: measure for measure in outcome.control}
    paired = [Row(measure, control.pop(measure.name, None)) for measure in outcome.measures]
    return [*paired, *(Row(None, measure) for measure in control.values())]


def figure(measure: Measure | None) -> str:
    """The value with its unit.

    A `share` is a value of 0 to 1 and shown as a percentage; `%` is one already. Whole numbers have no
    decimals, seconds and percentages one, and other fractions two.
    """
    if measure is None:
        return ""
    value = finite(measure.value)
    if value is None:
        return "no choice" if _is_hit_rate(measure) else "\N{EN DASH}"
    if measure.unit == "share":
        return percent(value)
    if measure.unit == "%":
        return f"{value:.1f}%"
    if measure.unit == "s":
        return seconds(value)
    number = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    return f"{number} {printable(measure.unit)}".rstrip()


def why_missing(measure: Measure | None) -> str:
    """Why a measure has no value; "" for one that has."""
    if measure is None or finite(measure.value) is not None:
        return ""
    return "no placement had a choice" if _is_hit_rate(measure) else "there was nothing to measure"


def _is_hit_rate(measure: Measure) -> bool:
    return "hit rate" in measure.name.lower()


def finite(value: float | None) -> float | int | None:
    """The value, or None for what is no number (0 of 0) or no finite one (1 of 0)."""
    return value if value is not None and math.isfinite(value) else None


def share(measure: Measure | None) -> float | None:
    """The value as a share of 0 to 1 where it is one, for a meter."""
    value = finite(measure.value) if measure else None
    if measure is None or value is None or measure.unit not in ("share", "%"):
        return None
    return min(1.0, max(0.0, value if measure.unit == "share" else value / 100))


def seconds(value: float) -> str:
    """Seconds with one decimal, of any length: two runs are compared by one unit."""
    return f"{value:,.1f} s"


def verdict(measure: Measure | None) -> str:
    """Whether a measure clears its bar; "" for one without."""
    if measure is None or not measure.bar:
        return ""
    return {True: "holds", False: "misses", None: "not measured"}[measure.holds]


def outcome_verdict(outcome: Outcome) -> str:
    """One word for a scenario."""
    return "error" if outcome.error else "passed" if outcome.passed else "failed"


def control_text(outcome: Outcome) -> str:
    """What the negative control shows, or "" where none belongs to the scenario."""
    if not outcome.control_name:
        return ""
    barred = [measure for measure in outcome.control if measure.bar]
    missed = [measure for measure in barred if measure.holds is False]
    name = f"negative control ({outcome.control_name})"
    if outcome.error and not outcome.control:
        return f"{name} did not run"
    if not barred:
        return f"{name} has no figures, so nothing shows that the bars can fail"
    if not missed:
        return f"{name} misses no bar, so nothing shows that the bars can fail"
    return f"{name} misses {len(missed)} of {counted(len(barred), 'bar')}, as it must miss one"


def run_verdict(run: Run) -> str:
    """One line for all scenarios; a run without scenarios has shown nothing."""
    passed = sum(outcome.passed for outcome in run.outcomes)
    if not run.outcomes:
        return "no scenario ran"
    if run.passed:
        return f"passed: {counted(passed, 'scenario')}"
    return f"failed: {len(run.outcomes) - passed} of {counted(len(run.outcomes), 'scenario')}"
