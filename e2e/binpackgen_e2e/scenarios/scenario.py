"""What a scenario is, and the bars that several of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binpackgen.plan.model import Plan

from ..context import Context
from ..outcome import Measure, Outcome

#: Bars of the golden metrics: hit rate above, fragmentation below, preemption success above.
HIT_RATE, FRAGMENTATION, PREEMPTION_SUCCESS = 0.85, 0.30, 0.95


class Scenario(NamedTuple):
    """One scenario. `lacks` says what it needs that the profile has not, empty where it can run."""

    name: str
    title: str
    lacks: Callable[[Plan], str]
    run: Callable[[Context], Outcome]
    backends: tuple[str, ...] = ("processes",)


def above(name: str, value: float | None, bar: float) -> Measure:
    """A share that must exceed a bar; one that could not be measured misses it."""
    return Measure(name, value, "share", f"> {bar * 100:.0f}%", value is not None and value > bar)


def below(name: str, value: float | None, bar: float) -> Measure:
    """A share that must stay below a bar; where there is nothing to measure it does."""
    return Measure(name, value, "share", f"< {bar * 100:.0f}%", value is None or value < bar)


def at_most(name: str, value: float, bar: float, unit: str = "") -> Measure:
    """A figure that must not exceed a bar."""
    return Measure(name, value, unit, f"<= {bar:g}{' ' + unit if unit else ''}", value <= bar)


def none_of(name: str, count: int) -> Measure:
    """Something that must not happen once."""
    return Measure(name, count, "", "0", count == 0)


def all_of(name: str, count: int, total: int) -> Measure:
    """Something that must hold for all of `total`."""
    return Measure(name, count, "", f"all {total}", count == total)


def told(name: str, value: float | None, unit: str = "") -> Measure:
    """A figure without a bar."""
    return Measure(name, value, unit)
