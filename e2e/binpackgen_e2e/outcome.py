"""What a scenario found: figures with their bars, the negative control's, and the evidence."""

from __future__ import annotations

from typing import NamedTuple

from binpackgen.report.packing_map import PackingMap


class Measure(NamedTuple):
    """One figure. `bar` is the condition in words, empty for a figure that is only told.

    `value` is None where there was nothing to measure (no placement had a choice); `holds` is None without
    a bar.
    """

    name: str
    value: float | int | None
    unit: str = ""
    bar: str = ""
    holds: bool | None = None


class Outcome(NamedTuple):
    """One scenario's result.

    `control` repeats the figures with the feature removed, which `control_name` says; the scenario passes
    when every bar holds and at least one of the control's bars does not. `control_name` is empty where no
    control ran. `maps` show the cluster: before, after, and after the control's run. `error` says why a
    scenario did not come to its end.
    """

    scenario: str
    title: str
    seconds: float
    measures: tuple[Measure, ...] = ()
    control_name: str = ""
    control: tuple[Measure, ...] = ()
    evidence: tuple[str, ...] = ()
    maps: tuple[PackingMap, ...] = ()
    error: str = ""

    @property
    def holds(self) -> bool:
        """Whether every bar holds."""
        return not self.error and all(measure.holds is not False for measure in self.measures)

    @property
    def control_fails(self) -> bool:
        """Whether the control misses a bar, as it must."""
        return any(measure.holds is False for measure in self.control)

    @property
    def passed(self) -> bool:
        """Whether the bars hold and the control, if there was one, shows that they can fail."""
        return self.holds and (self.control_fails or not self.control_name)


class Run(NamedTuple):
    """All outcomes of one `binpackgen e2e`: of which profile, on what."""

    profile: str
    backend: str
    kubernetes: str
    outcomes: tuple[Outcome, ...]
    seconds: float
    logs: str = ""
    """Folder with the logs of all processes, where they were kept."""

    @property
    def passed(self) -> bool:
        """Whether there were scenarios, and every one passed."""
        return bool(self.outcomes) and all(outcome.passed for outcome in self.outcomes)
