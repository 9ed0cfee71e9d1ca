"""Figures of timelines that can be followed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from binpackgen.simulate.model import ClusterState, Node, PodShape, SchedulerProfile, requests_of
from binpackgen.simulate.timeline.run import run
from binpackgen.simulate.workload.model import Submission, Workload
from binpackgen.study import measures
from binpackgen.study.compare import Figure

CPU_ONLY = SchedulerProfile(
    37, strategy="MostAllocated", resources=(("cpu", 1),), weights={"NodeResourcesFit": 1}
)
SPREADING = SchedulerProfile(
    37, strategy="LeastAllocated", resources=(("cpu", 1),), weights={"NodeResourcesFit": 1}
)


def pods(*cpu: int) -> tuple[PodShape, ...]:
    return tuple(PodShape(f"p{c}", *requests_of([{"cpu": c, "memory": 1}])) for c in cpu)


def nodes(count: int) -> ClusterState:
    return ClusterState([Node(f"n{i}", {"cpu": 4000, "memory": 100, "pods": 10}) for i in range(count)])


def workload(*submissions: Submission) -> Workload:
    return Workload("", pods(1000, 4000), submissions)


ONE_BY_ONE = workload(*(Submission(f"s{i}", "small", (0,), float(i), 100.0) for i in range(4)))


@pytest.mark.parametrize(
    ("scheduler", "expected"), [(CPU_ONLY, (3, 3)), (SPREADING, (2, 0))], ids=["packing", "spreading"]
)
def test_hits_are_placements_on_the_fullest_node(
    scheduler: SchedulerProfile, expected: tuple[int, int]
) -> None:
    """Four pods on two nodes: (choices, hits).

    The first pod meets equal nodes. The spreading scheduler's third meets equal ones again.
    """
    assert expected == measures.hits(run(ONE_BY_ONE, nodes(2), scheduler, until=3.0), CPU_ONLY)


def test_waiting_counts_those_that_still_wait() -> None:
    """A node for one: the second waits 10 s, the third still waits at the end with 18 s so far."""
    load = workload(
        Submission("a", "big", (1,), 0.0, 10.0),
        Submission("b", "big", (1,), 0.0, 10.0),
        Submission("c", "big", (1,), 0.0, 10.0),
        Submission("d", "small", (0,), 18.0, 1.0),
    )
    timeline = run(load, nodes(1), CPU_ONLY, until=18.0)
    timeline.arrived[:] = [9.0, 9.0, 9.0, 18.0]  # within the window

    waits = measures.waiting(timeline, np.arange(3))

    assert (3, 1) == (waits.submissions, waits.unbound)
    assert waits.mean == pytest.approx((-9 + 1 + 9) / 3)


def test_node_hours_are_those_with_a_pod() -> None:
    """One pod of an hour on one of two nodes, seen from a third of the time to the last arrival."""
    load = workload(Submission("a", "big", (1,), 0.0, 3600.0), Submission("b", "small", (0,), 7200.0, 1.0))
    timeline = run(load, nodes(2), CPU_ONLY, until=7200.0)

    assert {"p": pytest.approx((3600 - 2400) / 3600)} == dict(measures.node_hours(timeline, ["p", "p"]))


def test_a_gain_within_the_spread_of_the_seeds_is_noise() -> None:
    """Seeds are compared one by one: a steady small gain is none, a wild great one is."""
    steady = Figure((0.51, 0.72, 0.91)).less(Figure((0.50, 0.71, 0.90)))
    wild = Figure((0.9, 0.1, 0.8)).less(Figure((0.5, 0.5, 0.5)))

    assert not steady.is_noise
    assert wild.is_noise
    assert Figure((1.0,)).is_noise


def test_a_figure_leaves_out_seeds_without_a_value() -> None:
    """NaN is no 0."""
    figure = Figure((math.nan, 1.0, 3.0))

    assert (2.0, pytest.approx(math.sqrt(2))) == (figure.mean, figure.deviation)
    assert math.isnan(Figure((math.nan,)).mean)
