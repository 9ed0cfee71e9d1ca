"""How pods came to their end, from changes written by hand."""

from __future__ import annotations

from typing import Any, Literal

from binpackgen.metrics.changes import Change
from binpackgen_e2e.evictions import Eviction, evictions

Item = dict[str, Any]


def pod(*, node: str = "n1", marked: bool = False, told: int | None = None, phase: str = "Running") -> Item:
    """A pod; `told` are the seconds that it was given to end."""
    metadata: Item = {"name": "a", "namespace": "ai", "uid": "1", "labels": {"job": "x"}}
    if told is not None:
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": told}
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    spec: Item = {"containers": [], "priority": 10}
    if node:
        spec["nodeName"] = node
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase, "conditions": [condition] if marked else []},
    }


def change(version: int, item: Item, kind: Literal["MODIFIED", "DELETED"] = "MODIFIED") -> Change:
    return Change(version, version / 2, kind, "Pod", item)


def test_a_victim_of_the_scheduler() -> None:
    """Marked, told with thirty seconds, stopped, and gone: graceful, and a second and a half of the time used."""
    seen = [
        change(1, pod()),
        change(2, pod(marked=True)),
        change(3, pod(marked=True, told=30)),
        change(6, pod(marked=True, told=30, phase="Failed")),
        change(7, pod(marked=True, told=0, phase="Failed"), "DELETED"),
    ]

    [found] = evictions(seen)

    assert (
        Eviction(
            namespace="ai",
            name="a",
            labels={"job": "x"},
            priority=10,
            by_scheduler=True,
            marked_first=True,
            grace=30,
            told=3,
            ended=6,
            seconds=1.5,
        )
        == found
    )
    assert found.graceful


def test_a_pod_that_somebody_else_stops() -> None:
    """Told without a mark: an eviction, gracefully, by another than the scheduler."""
    [found] = evictions([change(1, pod()), change(2, pod(told=30)), change(3, pod(told=30), "DELETED")])

    assert (False, True, 2, 3) == (found.by_scheduler, found.graceful, found.told, found.ended)


def test_gone_without_a_word() -> None:
    """A pod that is deleted by force was on its node, and then it is not there: not graceful."""
    [found] = evictions([change(1, pod()), change(2, pod(), "DELETED")])

    assert (None, 2, False) == (found.told, found.ended, found.graceful)


def test_told_without_time() -> None:
    """A grace period of nothing is none."""
    [found] = evictions([change(1, pod()), change(2, pod(told=0)), change(3, pod(told=0), "DELETED")])

    assert not found.graceful


def test_told_before_it_is_marked() -> None:
    """The scheduler's mark comes first where the scheduler evicts; later, somebody else had told the pod already."""
    seen = [change(1, pod()), change(2, pod(told=30)), change(3, pod(marked=True, told=30))]

    [found] = evictions(seen)

    assert (True, False, True) == (found.by_scheduler, found.marked_first, found.graceful)


def test_pods_that_end_by_themselves() -> None:
    """One that has run to its end, and is cleared away then, was not evicted; nor was one that fails."""
    seen = [
        change(1, pod()),
        change(2, pod(phase="Succeeded")),
        change(3, pod(phase="Succeeded", told=30)),
        change(4, pod(phase="Succeeded", told=0), "DELETED"),
    ]

    assert [] == evictions(seen)
    assert [] == evictions([change(1, pod()), change(2, pod(phase="Failed"))])


def test_pods_that_wait() -> None:
    """A pod that never had a node holds nothing and is not evicted."""
    assert [] == evictions([change(1, pod(node="")), change(2, pod(node="", told=0), "DELETED")])
