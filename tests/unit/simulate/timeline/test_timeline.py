"""Arrivals, placements and departures: hand-worked courses, laws that hold for all, and both paths beside each other."""

from __future__ import annotations

import math
import random
import signal
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binpackgen.errors import BinpackgenError
from binpackgen.simulate.arrays import ClusterArrays, Tables
from binpackgen.simulate.engine import MatrixSimulator, Simulator
from binpackgen.simulate.model import ClusterState, PodShape, SchedulerProfile
from binpackgen.simulate.timeline import events, plain
from binpackgen.simulate.timeline.events import Events, Gangs, Options, Retry
from binpackgen.simulate.timeline.interrupt import Interrupt
from binpackgen.simulate.timeline.plain import is_plain
from binpackgen.simulate.timeline.result import State, Timeline
from binpackgen.simulate.timeline.run import run
from binpackgen.simulate.workload.model import Submission, Workload
from tests.unit.simulate.timeline.clusters import (
    GPU,
    PACK,
    assert_lawful,
    nodes_of,
    random_workload,
    shape_of,
    states,
    submit,
    times,
    workload_of,
)

RETRIES: tuple[Retry, Retry] = ("wait", "loss")


def by_events(workload: Workload, *, retry: Retry = "wait", until: float = math.inf) -> Timeline:
    """The course as the path with everything in it finds it."""
    options = Options(None, (), "one-by-one", False, retry, until, 0)
    return Events(workload, ClusterState(workload.nodes), PACK, options).run(Interrupt())


def test_pods_wait_for_room_in_the_order_in_which_they_came() -> None:
    """One node of 8 cores: the pods of 8 cores run one after the other, the first to come first."""
    jobs = [submit(name, 0, arrives, 10.0) for name, arrives in (("a", 0.0), ("b", 1.0), ("c", 2.0))]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK)

    assert {"a": 0.0, "b": 10.0, "c": 20.0} == times(timeline, "bound")
    assert {"a": 10.0, "b": 20.0, "c": 30.0} == times(timeline, "ended")
    assert [0.0, 9.0, 18.0] == timeline.waited.tolist()
    assert 30.0 == timeline.end


def test_a_small_pod_overtakes_a_big_one_that_does_not_fit() -> None:
    """The scheduler goes on to the next pod when one fits nowhere."""
    jobs = [submit("a", 0, 0.0, 10.0), submit("big", 1, 1.0, 10.0), submit("small", 0, 2.0, 10.0)]

    timeline = run(workload_of([shape_of(4), shape_of(8)], jobs), nodes_of(1), PACK)

    assert {"a": 0.0, "big": 12.0, "small": 2.0} == times(timeline, "bound")


def test_departures_come_before_arrivals_of_the_same_moment() -> None:
    """A pod that arrives when another one ends finds its room."""
    jobs = [submit("a", 0, 0.0, 5.0), submit("b", 0, 5.0, 5.0)]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK, retry="loss")

    assert {"a": "ENDED", "b": "ENDED"} == states(timeline)


def test_what_does_not_fit_is_lost_in_a_loss_system() -> None:
    """A pod that finds no room leaves, also if room would come later."""
    jobs = [submit("a", 0, 0.0, 5.0), submit("b", 0, 4.0, 5.0)]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK, retry="loss")

    assert {"a": "ENDED", "b": "REJECTED"} == states(timeline)
    assert {State.ENDED: 1, State.REJECTED: 1} == timeline.counts()


def test_higher_priority_goes_first_among_those_who_wait() -> None:
    """Of pods that wait the one of the highest priority gets the room, though it came last."""
    jobs = [
        submit("a", 0, 0.0, 10.0, priority=9),
        submit("low", 0, 1.0, 10.0),
        submit("high", 0, 2.0, 10.0, priority=5, preempts=False),
    ]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK)

    assert {"a": 0.0, "low": 20.0, "high": 10.0} == times(timeline, "bound")


def test_the_timeline_ends_where_it_is_told_to() -> None:
    """What happens at `until` still counts; what would come later is running, waiting or unseen."""
    jobs = [submit("a", 0, 0.0, 5.0), submit("b", 0, 1.0, 5.0), submit("c", 0, 2.0, 5.0), submit("d", 0, 8.0)]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK, until=5.0)

    assert {"a": "ENDED", "b": "RUNNING", "c": "WAITING", "d": "UNSEEN"} == states(timeline)
    assert 5.0 == timeline.end
    assert timeline.partial is None


def test_half_bound_gangs_block_each_other_with_the_stock_scheduler() -> None:
    """a holds one of two nodes when c, of higher priority, gets the other one: both lack one for ever.

    An ideal gang scheduler lets a hold nothing while it waits, so that c runs at 5 s and a after it.
    """
    jobs = [
        submit("hold", 0, 0.0, 5.0),
        Submission("a", "a", (0, 0), 0.0, 10.0, gang=True),
        Submission("c", "c", (0, 0), 1.0, 10.0, gang=True, priority=1, preempts=False),
    ]
    workload = workload_of([shape_of(8)], jobs)

    stock = run(workload, nodes_of(2), PACK)
    ideal = run(workload, nodes_of(2), PACK, gangs="all-or-nothing")

    assert {"hold": "ENDED", "a": "WAITING", "c": "WAITING"} == states(stock)
    assert 2 == stock.usage("pods").at(1000.0)
    assert {"hold": 5.0, "a": 25.0, "c": 15.0} == times(ideal, "ended")
    assert {"hold": 0.0, "a": 15.0, "c": 5.0} == times(ideal, "bound")


def test_a_gang_runs_from_its_last_pod_on() -> None:
    """The pod that was bound first waits for the other one, and both leave together."""
    jobs = [submit("a", 0, 0.0, 4.0), Submission("g", "g", (0, 0), 0.0, 10.0, gang=True)]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(2), PACK)

    assert 4.0 == times(timeline, "bound")["g"]
    assert 14.0 == times(timeline, "ended")["g"]
    pods = timeline.usage("pods")
    assert [2, 2, 2, 0] == [pods.at(time) for time in (0.0, 3.0, 4.0, 14.0)]


def test_pods_of_a_job_that_is_no_gang_end_each_for_itself() -> None:
    """The job ends with its last pod."""
    jobs = [Submission("j", "j", (0, 0), 0.0, 10.0)]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK)

    assert {"j": 10.0} == times(timeline, "bound")
    assert {"j": 20.0} == times(timeline, "ended")


def test_pods_that_were_there_before_stay() -> None:
    """What a cluster state has bound takes room to the end, and is no part of the workload's usage."""
    state = ClusterState(nodes_of(1))
    state.bind(shape_of(4), 0)

    timeline = run(
        workload_of([shape_of(8), shape_of(4)], [submit("a", 0, 0.0), submit("b", 1, 0.0)]), state, PACK
    )

    assert {"a": "WAITING", "b": "RUNNING"} == states(timeline)
    assert 4000 == timeline.usage("cpu").peak
    assert 2 == len(timeline.snapshot(0.0).pods[0])


def test_a_cluster_without_nodes_is_refused() -> None:
    """Nothing can be said about where pods go if there is nowhere to go."""
    with pytest.raises(BinpackgenError, match="no nodes"):
        run(workload_of([shape_of(1)], [submit("a", 0, 0.0)]), [], PACK)


def test_a_workload_of_nothing_has_an_empty_timeline() -> None:
    """No submission, no event."""
    timeline = run(workload_of([], []), nodes_of(1), PACK)

    assert {} == timeline.counts()
    assert 0.0 == timeline.end
    assert 0.0 == timeline.usage("cpu").mean()
    assert 0 == timeline.nodes_in_use().peak


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32), retry=st.sampled_from(["wait", "loss"]), until=st.sampled_from([None, 6.0])
)
def test_both_paths_find_the_same(seed: int, retry: Retry, until: float | None) -> None:
    """The path for plain pods and the one with everything in it agree on every time, state and amount."""
    workload = random_workload(seed, jobs=False)

    short = run(workload, workload.nodes, PACK, retry=retry, preemption=False, until=until)
    full = by_events(workload, retry=retry, until=math.inf if until is None else until)

    for field in ("states", "admitted", "bound", "ended"):
        assert np.array_equal(getattr(short, field), getattr(full, field), equal_nan=True)
    assert full.end == short.end
    for resource in ("cpu", GPU, "pods"):
        assert full.usage(resource).values.tolist() == short.usage(resource).values.tolist()
        assert full.usage(resource).times.tolist() == short.usage(resource).times.tolist()
    assert full.nodes_in_use().values.tolist() == short.nodes_in_use().values.tolist()
    assert_lawful(short)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    gangs=st.sampled_from(["one-by-one", "all-or-nothing"]),
    retry=st.sampled_from(["wait", "loss"]),
    preemption=st.booleans(),
)
def test_nothing_is_created_and_nothing_is_lost(
    seed: int, gangs: Gangs, retry: Retry, preemption: bool
) -> None:
    """Every submission ends in one state that fits what it holds, and no node ever holds more than it has."""
    workload = random_workload(seed, jobs=True)

    timeline = run(
        workload,
        workload.nodes,
        PACK,
        gangs=gangs,
        retry=retry,
        preemption=preemption,
        seed=seed,
    )

    assert_lawful(timeline)
    if not preemption:
        assert () == timeline.evicted
        assert 0 == timeline.evictions.sum()
    assert (timeline.evictions > 0).sum() == len({eviction.victim for eviction in timeline.evicted})


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_timeline(seed: int) -> None:
    """Twice the same, to the last entry of the log."""
    workload = random_workload(seed, jobs=True)

    one, two = (run(workload, workload.nodes, PACK, seed=7) for _ in range(2))

    for field in one.log._fields:
        assert np.array_equal(getattr(one.log, field), getattr(two.log, field))
    assert one.evicted == two.evicted


def test_usage_is_back_at_nothing_when_all_have_ended() -> None:
    """The series of every resource ends at 0."""
    workload = random_workload(3, jobs=True)
    finite = [submission._replace(runs=2.0, gang=False) for submission in workload.submissions]

    timeline = run(workload._replace(submissions=tuple(finite)), workload.nodes, PACK)

    fitting = timeline.states == State.ENDED
    assert fitting.sum() > len(finite) // 2
    if fitting.all():
        assert [0, 0, 0] == [timeline.usage(name).values[-1] for name in ("cpu", "memory", "pods")]
        assert 0 == timeline.nodes_in_use().values[-1]


def test_a_series_knows_its_mean() -> None:
    """8 cores for the first half, none for the second: 4 cores in the mean."""
    timeline = run(workload_of([shape_of(8)], [submit("a", 0, 0.0, 5.0)]), nodes_of(1), PACK, until=10.0)

    cpu = timeline.usage("cpu")
    assert 4000.0 == cpu.mean()
    assert 8000.0 == cpu.mean(1.0, 5.0)
    assert [8000, 8000, 0] == [cpu.at(0.0), cpu.at(4.9), cpu.at(5.0)]
    assert 8000 == cpu.peak
    assert [1, 0] == timeline.nodes_in_use().values.tolist()


def test_what_is_plain_is_what_cannot_evict() -> None:
    """Tiers alone do not need the long way; a tier that preempts does, and so do gangs and jobs of several pods."""
    options = Options(None, (), "one-by-one", True, "wait", math.inf, 0)
    same = workload_of([shape_of(1)], [submit("a", 0, 0.0, priority=5), submit("b", 0, 0.0, priority=5)])
    tiers = workload_of([shape_of(1)], [submit("a", 0, 0.0), submit("b", 0, 0.0, priority=5)])
    job = workload_of([shape_of(1)], [Submission("a", "a", (0, 0))])

    assert [True, False, False] == [is_plain(workload, options) for workload in (same, tiers, job)]
    assert is_plain(tiers, options._replace(preemption=False))


class Interrupting(MatrixSimulator):
    """A simulator during whose 50th placement the user presses Ctrl-C."""

    placed = 0

    def place(self, shape: int) -> int | None:
        self.placed += 1
        if self.placed == 50:
            signal.raise_signal(signal.SIGINT)
        return super().place(shape)


def interrupted(
    cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape], chance: random.Random
) -> Interrupting:
    return Interrupting(Tables(ClusterArrays(cluster), profile, shapes), chance)


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ctrl-C while a timeline runs; Python's own handler stands before and after."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    for module in (plain, events):
        monkeypatch.setattr(module, "simulator", interrupted)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupting")
@pytest.mark.parametrize("retry", ["wait", "loss"])
@pytest.mark.parametrize("pods", [1, 2])
def test_ctrl_c_ends_a_timeline_that_says_so(retry: Retry, pods: int) -> None:
    """What is known by then is there, lawful and marked as partial; the handler of before is back."""
    submissions = [Submission(f"j{n}", "j", (0,) * pods, float(n), 3.0) for n in range(100)]

    timeline = run(workload_of([shape_of(1)], submissions), nodes_of(2), PACK, retry=retry)

    seen = 50 // pods
    now = seen - 1
    assert f"interrupted at {now} s, when {seen} of 100 submissions had arrived" == timeline.partial
    assert {State.ENDED: seen - 3, State.RUNNING: 3, State.UNSEEN: 100 - seen} == timeline.counts()
    assert signal.default_int_handler is signal.getsignal(signal.SIGINT)
    assert_lawful(timeline)


def test_ctrl_c_after_the_last_event_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeline is whole then, and the command that asked for it must end all the same."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    whole = Events._timeline

    def pressed(self: Events, end: float, partial: str | None) -> Timeline:
        signal.raise_signal(signal.SIGINT)
        return whole(self, end, partial)

    monkeypatch.setattr(Events, "_timeline", pressed)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(workload_of([shape_of(1)], [Submission("j", "j", (0, 0))]), nodes_of(2), PACK)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_second_ctrl_c_does_not_wait_for_the_event() -> None:
    """Whoever presses it twice wants out."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Interrupt() as interrupt:
            signal.raise_signal(signal.SIGINT)
            assert interrupt.is_set
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_whole_timeline_is_not_marked() -> None:
    """The negative control of the mark."""
    assert run(workload_of([shape_of(1)], [submit("a", 0, 0.0)]), nodes_of(1), PACK).partial is None


@pytest.mark.usefixtures("interrupting")
def test_an_interrupted_timeline_of_those_who_wait_stops_where_it_is_sure() -> None:
    """Somebody waits from 5 s on: what was played beyond it on the guess that nobody does is not told."""
    jobs = [Submission("big", "big", (1,), 0.0, 1000.0), Submission("waits", "waits", (1,), 5.0, 1.0)]
    jobs += [Submission(f"j{n}", "j", (0,), 10.0 + n, 3.0) for n in range(100)]

    timeline = run(workload_of([shape_of(1), shape_of(8)], jobs), [*nodes_of(1), *nodes_of(1, cores=4)], PACK)

    assert "interrupted at 0 s, when 1 of 102 submissions had arrived" == timeline.partial
    assert {State.RUNNING: 1, State.UNSEEN: 101} == timeline.counts()


def test_the_compiled_engine_plays_all_at_once() -> None:
    """With numba the same course comes from one call, in a loss system and where pods wait."""
    pytest.importorskip("numba")

    def slow(
        cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape], chance: random.Random
    ) -> Simulator:
        return MatrixSimulator(Tables(ClusterArrays(cluster), profile, shapes), chance)

    for seed in range(20):
        workload = random_workload(seed, jobs=False)
        for retry in RETRIES:
            one = run(workload, workload.nodes, PACK, retry=retry, preemption=False)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(plain, "simulator", slow)
                two = run(workload, workload.nodes, PACK, retry=retry, preemption=False)
            assert one.log.nodes.tolist() == two.log.nodes.tolist()
            assert one.states.tolist() == two.states.tolist()
