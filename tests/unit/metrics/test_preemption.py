"""Preemption success: which nominations count, and what counts as success."""

from __future__ import annotations

import pytest

from binpackgen.metrics.golden import Ledger
from binpackgen.metrics.preemption import PreemptionSuccess
from tests.unit.metrics.clusters import PACKING, Item, change, evicted, failed_attempt, node, on, plan, pod

PLAN = plan()
HIGH = pod("high", "6", "16Gi", 8, priority=100)
LOW = on(pod("low", "6", "16Gi", 8, priority=10), "n0", "Running")


def told(*states: tuple[float, Item], within: float = 60.0, at: float | None = None) -> PreemptionSuccess:
    """The states of objects, each at its time, beside a node with a low pod on it."""
    ledger = Ledger(PLAN, PACKING, within=within)
    for version, (time, item) in enumerate([(0.0, node("n0")), (0.0, LOW), *states], start=1):
        ledger.feed(change(version, item, at=time))
    return ledger.golden(at).preemption


def nominated_without_condition(item: Item = HIGH) -> Item:
    return {**item, "status": {**item["status"], "nominatedNodeName": "n0"}}


def test_a_nomination_with_a_failed_attempt_is_by_preemption() -> None:
    """The scheduler writes condition and node in one patch; bound 30 s later is within 60 s."""
    result = told((1, HIGH), (2, failed_attempt(HIGH, "n0")), (32, on(HIGH, "n0")))

    assert PreemptionSuccess(1, 1, 0, (30.0,), 0) == result
    assert 1.0 == result.rate


def test_late_is_no_success() -> None:
    """Bound after 61 s with 60 s allowed; 61 s allowed make it one."""
    states = ((1, HIGH), (2, failed_attempt(HIGH, "n0")), (63, on(HIGH, "n0")))

    assert (0.0, 1.0) == (told(*states).rate, told(*states, within=61.0).rate)
    assert PreemptionSuccess(1, 0, 0, (61.0,), 0) == told(*states)


def test_a_pod_whose_time_runs_is_not_judged_yet() -> None:
    """Waiting until 60 s have passed, not bound afterwards."""
    states = ((1, HIGH), (2, failed_attempt(HIGH, "n0")))

    assert PreemptionSuccess(1, 0, 1, (), 0) == told(*states, at=62)
    assert told(*states, at=62).rate is None
    assert PreemptionSuccess(1, 0, 0, (), 0) == told(*states, at=62.5)
    assert 0.0 == told(*states, at=62.5).rate


def test_a_pod_that_is_deleted_before_it_is_bound_is_no_success() -> None:
    """It was nominated and never bound."""
    ledger = Ledger(PLAN, PACKING)
    states: tuple[Item, ...] = (node("n0"), LOW, HIGH, failed_attempt(HIGH, "n0"))
    for version, item in enumerate(states, start=1):
        ledger.feed(change(version, item))
    ledger.feed(change(5, failed_attempt(HIGH, "n0"), "DELETED"))

    assert PreemptionSuccess(1, 0, 0, (), 0) == ledger.golden().preemption


def test_a_nomination_before_the_binding_alone_is_not_by_preemption() -> None:
    """Since 1.35 pods that wait for volumes name their node; no attempt failed, no pod was evicted."""
    result = told((1, HIGH), (2, nominated_without_condition()), (3, on(HIGH, "n0")))

    assert PreemptionSuccess(0, 0, 0, (), 1) == result
    assert result.rate is None


def test_an_old_failure_does_not_make_a_nomination_one_by_preemption() -> None:
    """The pod failed once, then found a node and waits there for its volumes: the condition is an old one."""
    failed = failed_attempt(HIGH)
    waits = failed_attempt(HIGH, "n0")

    assert PreemptionSuccess(0, 0, 0, (), 1) == told((1, HIGH), (2, failed), (9, waits), (10, on(HIGH, "n0")))


@pytest.mark.parametrize("victim_first", [True, False])
def test_a_victim_on_the_node_explains_a_repeated_condition(victim_first: bool) -> None:
    """The attempt failed with the words of the one before; a lower pod on the node is evicted, before or after."""
    waits = failed_attempt(HIGH, "n0")
    pair = [(3.0, evicted(LOW)), (3.0, waits)] if victim_first else [(3.0, waits), (4.0, evicted(LOW))]

    assert PreemptionSuccess(1, 1, 0, (7.0,), 0) == told(
        (1, HIGH), (2, failed_attempt(HIGH)), *pair, (10, on(HIGH, "n0"))
    )


def test_a_victim_of_no_lower_priority_explains_nothing() -> None:
    """It was evicted for another pod."""
    equal = on(pod("equal", priority=100), "n0", "Running")
    states = (
        (1.0, HIGH),
        (2.0, failed_attempt(HIGH)),
        (2.0, equal),
        (3.0, evicted(equal)),
        (4.0, failed_attempt(HIGH, "n0")),
    )

    assert PreemptionSuccess(0, 0, 0, (), 1) == told(*states)


def test_a_victim_that_is_gone_explains_nothing() -> None:
    """Its room was another pod's; what is nominated to the node later was not waiting for it."""
    ledger = Ledger(PLAN, PACKING)
    states: list[Item] = [node("n0"), LOW, HIGH, failed_attempt(HIGH), evicted(LOW)]
    for version, item in enumerate(states, start=1):
        ledger.feed(change(version, item))
    ledger.feed(change(6, evicted(LOW), "DELETED"))
    ledger.feed(change(7, failed_attempt(HIGH, "n0")))

    assert PreemptionSuccess(0, 0, 0, (), 1) == ledger.golden().preemption


def test_the_time_runs_from_the_first_nomination() -> None:
    """Nominated at 2 s, again elsewhere at 20 s, bound at 50 s on a third node."""
    other = node("n1")
    states = (
        (1.0, HIGH), (1.0, other),
        (2.0, failed_attempt(HIGH, "n0")),
        (10.0, failed_attempt(HIGH, "", "worse")),
        (20.0, failed_attempt(HIGH, "n1", "again")),
        (50.0, on(HIGH, "n1")),
    )  # fmt: skip

    assert PreemptionSuccess(1, 1, 0, (48.0,), 0) == told(*states)


def test_pods_that_do_not_count_are_not_in_it() -> None:
    """The chosen pods are the judged ones."""
    ledger = Ledger(PLAN, PACKING, counts=lambda _: False)
    states: tuple[Item, ...] = (node("n0"), LOW, HIGH, failed_attempt(HIGH, "n0"), on(HIGH, "n0"))
    for version, item in enumerate(states, start=1):
        ledger.feed(change(version, item))

    assert PreemptionSuccess(0, 0, 0, (), 0) == ledger.golden().preemption
