"""The tuner finds a best that is known, says when there is none, and goes on from its journal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from binpackgen.errors import BinpackgenError
from binpackgen.study.source import Mix, Source
from binpackgen.study.space import Space, recompiled
from binpackgen.study.subject import Subject
from binpackgen.study.trial import Cases
from binpackgen.study.tuning import Outcome, Search, Workers, tune
from tests.unit.study.conftest import Make

#: CPU-only pods anywhere: they fill GPU nodes first and strand GPUs. The compiler's own default strands none.
BAD = "packing: {cpuOnlyPods: anywhere}"
SEARCH = Search("allocation", candidates=24, seeds=2, held_out=4)


class Here(Executor):
    """Runs at once, and counts; interrupts after so many."""

    def __init__(self, interrupt_after: int | None = None) -> None:
        self.ran = 0
        self.interrupt_after = interrupt_after

    def submit(self, call: Any, /, *arguments: Any, **named: Any) -> Future[Any]:  # type: ignore[override]
        if self.ran == self.interrupt_after:
            raise KeyboardInterrupt
        self.ran += 1
        future: Future[Any] = Future()
        future.set_result(call(*arguments, **named))
        return future


def search(
    subject: Subject, executor: Executor, journal: Path | None = None, how: Search = SEARCH
) -> Outcome:
    @contextlib.contextmanager
    def workers(cases: Cases) -> Iterator[Workers]:
        yield Workers(executor, cases)

    def source_of(chosen: Subject) -> Source:
        return Mix(chosen, 0.9, 60, chosen.cluster())

    return tune(subject, source_of, how, workers, journal=journal)


def test_a_known_best_is_found(make: Make) -> None:
    """Sending CPU-only pods to CPU nodes gains at held-out workloads, beyond their noise."""
    outcome = search(make(BAD), Here())

    assert outcome.changes["spec", "packing", "cpuOnlyPods"] in (
        "cpu-pools-first",
        "spare-cores",
        "cpu-pools-only",
    )
    assert outcome.is_gain
    assert outcome.gain.mean > 0.05
    assert outcome.margin is not None
    assert outcome.margin > 0


def test_no_gain_is_called_one_where_nothing_can_be_gained(make: Make) -> None:
    """The negative control: a profile that has all GPUs in use already."""
    outcome = search(make("packing: {cpuOnlyPods: cpu-pools-only}"), Here())

    assert {1.0} == set(outcome.before.values)
    assert not outcome.is_gain
    assert outcome.changes == {}


def test_the_journal_is_asked_before_the_simulator(make: Make, tmp_path: Path) -> None:
    """A search that was interrupted goes on where it was, and ends as one that was not."""
    subject, journal = make(BAD), tmp_path / "journal.jsonl"
    whole = search(subject, Here())
    first = Here(interrupt_after=40)

    broken = search(subject, first, journal)
    with journal.open("a") as file:
        file.write('{"key": "cut sh')
    second = Here()
    resumed = search(subject, second, journal)
    third = Here()
    search(subject, third, journal)

    assert broken.partial is not None
    assert not broken.is_gain
    assert (whole.changes, whole.after, whole.before) == (resumed.changes, resumed.after, resumed.before)
    assert 0 < second.ran < 24 * 2 + 8
    assert third.ran == 0


def test_a_journal_of_another_search_is_not_used(make: Make, tmp_path: Path) -> None:
    """Its answers would be wrong."""
    journal = tmp_path / "journal.jsonl"
    search(make(BAD), Here(), journal, SEARCH._replace(candidates=2))

    with pytest.raises(BinpackgenError, match="belongs to another search"):
        search(make(), Here(), journal)


def test_a_profile_that_does_not_dominate_is_forbidden(make: Make) -> None:
    """Scorers that outvote packing are no candidate, and no rule may forbid one."""
    from datetime import date

    subject = make("packing: {keepScorers: {NodeResourcesBalancedAllocation: 10}}")
    changes = {("spec", "packing", "pluginWeight"): 1}

    assert recompiled(subject, changes, date(2026, 1, 1), None) is None
    assert recompiled(make(), {("spec", "packing", "pluginWeight"): 1000}, date(2026, 1, 1), None) is not None


def test_a_candidate_is_told_in_the_profiles_words(make: Make) -> None:
    """Only what differs; weights of resources come together."""
    space = Space(make().plan)
    candidate = {**space.start, "gpu": 13, "curve": ((0, 0), (50, 3), (100, 10))}

    assert {
        ("spec", "packing", "resourceWeights"): {"cpu": 1, "memory": 1, "gpu": 13},
        ("spec", "packing", "strategy"): "RequestedToCapacityRatio",
        ("spec", "packing", "shape"): [
            {"utilization": 0, "score": 0},
            {"utilization": 50, "score": 3},
            {"utilization": 100, "score": 10},
        ],
    } == space.changes(candidate)
    assert space.changes(space.start) == {}
