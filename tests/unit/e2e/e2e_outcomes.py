"""A run as the scenarios make it: passed, missed a bar, proves nothing, broke off."""

from __future__ import annotations

from typing import Any

from binpackgen_e2e.outcome import Measure, Outcome, Run
from tests.unit.report.packing_maps import three


def packing(**changes: Any) -> Outcome:
    """Jobs that pack, and that don't with the default scheduler profile."""
    outcome = Outcome(
        scenario="packing",
        title="Jobs go to the fullest node that can hold them",
        seconds=41.27,
        measures=(
            Measure("hit rate, A100", 0.9731, "share", "above 85%", True),
            Measure("hit rate, L40S", None, "share", "above 85%", None),
            Measure("fragmentation", 0.1204, "share", "below 30%", True),
            Measure("nodes used against the lower bound", 1.0476, "", "at most 1.15", True),
            Measure("placements", 1204),
            Measure("placements without a choice", 312),
        ),
        control_name="default scheduler profile",
        control=(
            Measure("hit rate, A100", 0.118, "share", "above 85%", False),
            Measure("hit rate, L40S", None, "share", "above 85%", None),
            Measure("fragmentation", 0.5719, "share", "below 30%", False),
            Measure("nodes used against the lower bound", 1.619, "", "at most 1.15", False),
            Measure("placements", 1204),
        ),
        evidence=(
            "pod train-wide-7 had 6 feasible nodes, score 92 on a100-004, and was bound to a100-004",
            "effective weights read from the running scheduler: nvidia.com/gpu 19, cpu 1, memory 1",
        ),
        maps=tuple(three(20, 24)),
    )
    return outcome._replace(**changes)


def preemption() -> Outcome:
    """A bar is missed."""
    return Outcome(
        "preemption",
        "High tiers get their nodes in time",
        63.0,
        (
            Measure("bound within 60 s", 0.92, "share", "above 95%", False),
            Measure("slowest", 74.125, "s", "at most 60 s", False),
            Measure("critical pods evicted", 0, "", "none", True),
        ),
        "preemption policy Never",
        (
            Measure("bound within 60 s", 0.0, "share", "above 95%", False),
            Measure("critical pods evicted", 0, "", "none", True),
        ),
        ("victim notebook-3 got SIGTERM 30.0 s before it was gone",),
    )


def toothless() -> Outcome:
    """Every bar holds, of the control, too."""
    return Outcome(
        "caps",
        "No node is filled above its cap",
        12.0,
        (Measure("least cpu left", 1.5, "cores", "at least 1 core", True),),
        "without the cap",
        (Measure("least cpu left", 1.2, "cores", "at least 1 core", True),),
    )


def broken_off() -> Outcome:
    """The scenario did not come to its end."""
    return Outcome(
        "queueing",
        "1,000 jobs from several teams",
        120.0,
        control_name="without quotas",
        error="Kueue's webhook did not answer within 120.0 s",
    )


def run(*outcomes: Outcome, **changes: Any) -> Run:
    return Run("profiles/article.yaml", "processes", "1.37.1", outcomes, 252.345)._replace(**changes)


def mixed() -> Run:
    """All four kinds in one run."""
    return run(packing(), preemption(), toothless(), broken_off(), logs="/tmp/binpackgen-e2e-1/logs")
