"""Preemption success: which pods the scheduler made room for, and how soon they were bound.

status.nominatedNodeName alone does not tell. Since 1.35 the scheduler also names the node of pods that wait for
their volumes before they are bound, and others may suggest a node (gate NominatedNodeNameForExpectation). A
nomination counts as one by preemption

- if it came with a new PodScheduled condition of reason Unschedulable: kube-scheduler writes both in one patch after
  a failed attempt, and only preemption gives such an attempt a node (schedule_one.go, handleSchedulingFailure; the
  binding cycle names a node without a condition);
- or if the pod is Unschedulable and a pod of lower priority on that node has the condition DisruptionTarget of
  reason PreemptionByScheduler while the nomination stands (preemption/executor.go, PreemptPod). This finds
  nominations that repeat a condition, and those that were there when the stream began.

Sources: pkg/scheduler in kubernetes v1.34.4 to v1.37.2. Nominations without either sign are told apart as
unexplained; they count neither way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..simulate.model import PodShape
from .changes import Object
from .nodes import PodKey


class PreemptionSuccess(NamedTuple):
    """Pods that were nominated by preemption, and what became of them within the stated time.

    `waiting` are those whose time is not over. Pods that were deleted, or are still not bound when it is over, are
    not bound. `seconds` has the time from the first nomination to the binding of each bound pod, in the order of
    their bindings. `unexplained` are pods with nominations that show no sign of preemption.
    """

    nominated: int
    bound: int
    waiting: int
    seconds: tuple[float, ...]
    unexplained: int

    @property
    def rate(self) -> float | None:
        """The share of the pods whose time is over that were bound within it; None without any."""
        judged = self.nominated - self.waiting
        return self.bound / judged if judged else None


class Nomination:
    """The nominations of one pod that waits. `since` is the first one by preemption, `node` the one that stands."""

    __slots__ = ("at", "condition", "counted", "ever", "node", "priority", "shape", "since")

    def __init__(self, priority: int, *, counted: bool) -> None:
        self.priority = priority
        self.counted = counted
        self.condition: tuple[str, str] | None = None
        self.node = ""
        self.at = 0.0
        self.ever = False
        self.since: float | None = None
        #: What the pod asks for, once it was nominated.
        self.shape: PodShape | None = None


class Nominations:
    """The nominations of all pods that wait."""

    def __init__(self, within: float) -> None:
        self._within = within
        self._nominated = self._bound = self._unexplained = 0
        self._seconds: list[float] = []
        self._waiting: dict[PodKey, Nomination] = {}
        #: Pods by the node that they are nominated to.
        self.by_node: dict[str, dict[PodKey, Nomination]] = {}
        #: Priorities of the victims that are still on a node.
        self._victims: dict[str, dict[PodKey, int]] = {}

    def observe(self, key: PodKey, nomination: Nomination, status: Object, at: float, *, first: bool) -> bool:
        """Look at a pod that waits, `first` if it was never seen before. Whether it is nominated to another node."""
        condition = _unschedulable(status)
        has_failed_anew = condition is not None and condition != nomination.condition and not first
        nomination.condition = condition
        name = status.get("nominatedNodeName") or ""
        is_other = name != nomination.node
        if is_other:
            self.withdraw(key, nomination)
        if not name:
            return False
        if is_other:
            nomination.node, nomination.at = name, at
            self.by_node.setdefault(name, {})[key] = nomination
            if not nomination.ever:
                nomination.ever = True
                self._unexplained += nomination.counted
        victims = self._victims.get(name, {}).values()
        if (is_other and has_failed_anew) or any(_makes_room(victim, nomination) for victim in victims):
            self._explain(key, nomination)
        return is_other

    def evict(self, key: PodKey, node: str, priority: int) -> None:
        """The scheduler evicts a pod of this priority from a node."""
        victims = self._victims.setdefault(node, {})
        if key in victims:
            return
        victims[key] = priority
        for other, nomination in self.by_node.get(node, {}).items():
            if _makes_room(priority, nomination):
                self._explain(other, nomination)

    def spare(self, key: PodKey, node: str) -> None:
        """A pod has left a node, whether it was a victim or not."""
        victims = self._victims.get(node)
        if victims is not None and victims.pop(key, None) is not None and not victims:
            del self._victims[node]

    def close(self, key: PodKey, nomination: Nomination, bound_at: float | None) -> None:
        """The pod is bound, or gone if `bound_at` is None."""
        self.withdraw(key, nomination)
        if self._waiting.pop(key, None) is not None and bound_at is not None and nomination.since is not None:
            seconds = bound_at - nomination.since
            self._seconds.append(seconds)
            self._bound += seconds <= self._within

    def withdraw(self, key: PodKey, nomination: Nomination) -> None:
        """The pod's nomination no longer stands."""
        if nomination.node:
            others = self.by_node[nomination.node]
            del others[key]
            if not others:
                del self.by_node[nomination.node]
            nomination.node = ""

    def now(self, at: float) -> PreemptionSuccess:
        """How it stands at a time."""
        waiting = sum(at - n.since <= self._within for n in self._waiting.values() if n.since is not None)
        return PreemptionSuccess(
            self._nominated, self._bound, waiting, tuple(self._seconds), self._unexplained
        )

    def _explain(self, key: PodKey, nomination: Nomination) -> None:
        if nomination.since is not None:
            return
        nomination.since = nomination.at
        if nomination.counted:
            self._nominated += 1
            self._unexplained -= 1
            self._waiting[key] = nomination


def _makes_room(victim: int, nomination: Nomination) -> bool:
    """Whether a victim of this priority on the node may have been evicted for the pod."""
    return nomination.condition is not None and victim < nomination.priority


def is_evicted_by_scheduler(status: Object) -> bool:
    """Whether the scheduler has chosen the pod as a victim."""
    conditions: list[Mapping[str, Any]] = status.get("conditions") or []
    return any(
        condition.get("type") == "DisruptionTarget"
        and condition.get("status") == "True"
        and condition.get("reason") == "PreemptionByScheduler"
        for condition in conditions
    )


def _unschedulable(status: Object) -> tuple[str, str] | None:
    """What marks one failed attempt of scheduling: the condition's message and when it became so."""
    conditions: list[Mapping[str, Any]] = status.get("conditions") or []
    for condition in conditions:
        if condition.get("type") == "PodScheduled":
            if condition.get("status") == "False" and condition.get("reason") == "Unschedulable":
                return condition.get("message", ""), condition.get("lastTransitionTime", "")
            return None
    return None
