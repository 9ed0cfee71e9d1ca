"""The outcome of a timeline: what became of each submission, and what was in use when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model import ClusterState, PodShape
from ..workload.model import Workload

Times = NDArray[np.float64]
Indexes = NDArray[np.int64]


class State(IntEnum):
    """What became of a submission by the end of the timeline."""

    ENDED = 0
    """All its pods ran to their end."""
    RUNNING = 1
    """All its pods run or have ended."""
    WAITING = 2
    """Some of its pods wait, in a queue or for a node."""
    REJECTED = 3
    """It did not fit when it arrived and left (loss)."""
    LOST = 4
    """It was evicted, did not fit elsewhere and left (loss)."""
    UNSEEN = 5
    """It arrives after the timeline's end."""


class Eviction(NamedTuple):
    """Submission `victim` lost `pods` pods to submission `by`; `cause` is "scheduler" or Kueue's reason."""

    time: float
    victim: int
    by: int
    pods: int
    cause: str


class Series(NamedTuple):
    """An amount over time: `values[i]` holds from `times[i]` until the next time, the last until `end`."""

    times: Times
    values: NDArray[np.int64]
    end: float

    def at(self, time: float) -> int:
        """The amount at a time; 0 before the first change."""
        index = int(np.searchsorted(self.times, time, side="right")) - 1
        return int(self.values[index]) if index >= 0 else 0

    @property
    def peak(self) -> int:
        """The greatest amount."""
        return int(self.values.max(initial=0))

    def mean(self, start: float = 0.0, end: float | None = None) -> float:
        """The mean over a stretch of time, by default all of it; the amount at `start` if that has no length."""
        stop = self.end if end is None else end
        if stop <= start:
            return float(self.at(start))
        inside = (self.times > start) & (self.times < stop)
        edges = np.concatenate(([start], self.times[inside], [stop]))
        amounts = np.concatenate(([self.at(start)], self.values[inside]))
        return float(np.dot(amounts, np.diff(edges)) / (stop - start))


class Log(NamedTuple):
    """Every binding (`sign` 1) and every pod that left a node (-1), in order. Shapes index Timeline.shapes."""

    times: Times
    submissions: NDArray[np.int32]
    shapes: NDArray[np.int32]
    nodes: NDArray[np.int32]
    signs: NDArray[np.int8]


@dataclass(frozen=True)
class Timeline:
    """What happened. Arrays have an entry a submission; times are in seconds, NaN for what did not happen.

    `admitted` is the first time that a queue admitted it (without a queue, its arrival), `bound` the first time that
    all its pods were bound, `ended` when the last pod ended. `evictions` counts how often it lost pods. `shapes` are
    the workload's, then those that queues make of them by flavor. `cluster` is what was there before: nodes in the
    scheduler's order and pods that stay. `partial` says why the timeline stops before its end, None if it does not.
    """

    workload: Workload
    cluster: ClusterState
    shapes: tuple[PodShape, ...]
    end: float
    states: NDArray[np.int8]
    admitted: Times
    bound: Times
    ended: Times
    evictions: NDArray[np.int32]
    log: Log
    evicted: tuple[Eviction, ...] = ()
    partial: str | None = None

    @cached_property
    def arrived(self) -> Times:
        """When each submission arrives."""
        return np.array([submission.arrives for submission in self.workload.submissions], np.float64)

    @property
    def waited(self) -> Times:
        """How long each submission waited until all its pods were bound; NaN where that did not happen."""
        return self.bound - self.arrived

    def counts(self) -> Counter[State]:
        """How many submissions ended in each state."""
        found = np.bincount(self.states, minlength=len(State))
        return Counter({state: int(found[state]) for state in State if found[state]})

    def groups(self, by: Literal["kind", "queue", "priority"]) -> Mapping[str | int | None, Indexes]:
        """Indexes of submissions by kind, queue or priority, in order of first appearance."""
        members: dict[str | int | None, list[int]] = {}
        for index, submission in enumerate(self.workload.submissions):
            members.setdefault(getattr(submission, by), []).append(index)
        return {key: np.array(indexes, np.int64) for key, indexes in members.items()}

    def usage(self, resource: str) -> Series:
        """How much of a resource the workload's pods hold: millicores, bytes, pieces; "pods" counts them."""
        of_shape = np.array([_held(shape, resource) for shape in self.shapes], np.int64)
        return self._series(of_shape[self.log.shapes] * self.log.signs)

    def nodes_in_use(self) -> Series:
        """How many nodes run a pod of the workload."""
        order = np.argsort(self.log.nodes, kind="stable")
        nodes, signs = self.log.nodes[order], self.log.signs[order].astype(np.int64)
        is_first = np.diff(nodes, prepend=-1) != 0
        running = np.cumsum(signs)
        before = (running - signs)[is_first]
        running -= before[np.cumsum(is_first) - 1]
        changes = np.empty(len(nodes), np.int64)
        changes[order] = (running > 0).astype(np.int64) - (running - signs > 0)
        return self._series(changes)

    def _series(self, changes: Indexes) -> Series:
        times = self.log.times
        # of the changes at one time only the last is a state that lasts
        last = np.append(np.diff(times) > 0, True) if len(times) else np.empty(0, bool)
        return Series(times[last], np.cumsum(changes)[last], self.end)

    def snapshot(self, time: float) -> ClusterState:
        """The cluster at a time, after all that happens then."""
        state = self.cluster.copy()
        until = int(np.searchsorted(self.log.times, time, side="right"))
        where = self.log.nodes[:until].astype(np.int64) * max(len(self.shapes), 1) + self.log.shapes[:until]
        places, position = np.unique(where, return_inverse=True)
        counts = np.bincount(position, weights=self.log.signs[:until], minlength=len(places))
        for place, count in zip(places.tolist(), counts.tolist(), strict=True):
            node, shape = divmod(place, max(len(self.shapes), 1))
            for _ in range(int(count)):
                state.bind(self.shapes[shape], node)
        return state


def _held(shape: PodShape, resource: str) -> int:
    return 1 if resource == "pods" else shape.requests.get(resource, 0)
