"""What a sample of the nodes costs: several clusters of openb as one, every node scored or as many as the scheduler likes.

The simulator's exact path for samples is plain Python; this is the same with arrays, for the score plugins that the
strategies here have on (cpu, memory and GPUs, no PreferNoSchedule taints), and held against it by the tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from binpackgen.simulate.cycle import heap_winner, nodes_to_find
from binpackgen.simulate.model import ClusterState, PodShape, SchedulerProfile
from binpackgen.simulate.scores import preferred_weight

from .cluster import GPU

Ints = NDArray[np.int64]
RESOURCES = ("cpu", "memory", GPU)


class SampledRun:
    """Places pods one after the other, as a scheduler of 1.36 and later with `parallelism: 1` does."""

    def __init__(self, state: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        self._profile = profile
        self._capacity = np.array([_amounts(node.allocatable) for node in state.nodes], np.int64)
        self._used = np.zeros_like(self._capacity)
        self._wanted = np.array([_amounts(shape.requests) for shape in shapes], np.int64).reshape(-1, 3)
        self._open = [np.array([shape.accepts(node) for node in state.nodes]) for shape in shapes]
        self._preferred = [
            np.array([preferred_weight(shape, node, profile) for node in state.nodes], np.int64)
            for shape in shapes
        ]
        weights = dict(profile.resources)
        self._weights = np.array([weights.get(name, 0) for name in RESOURCES], np.int64)
        self._most = nodes_to_find(len(state.nodes), profile.percentage)
        self._start = 0

    def place(self, shape: int) -> int | None:
        """The node that a pod of a shape gets."""
        wanted = self._wanted[shape]
        fits = ((self._used + wanted <= self._capacity) | (wanted == 0)).all(axis=1) & self._open[shape]
        feasible = np.flatnonzero(fits)
        begin = int(np.searchsorted(feasible, self._start))
        found = np.concatenate((feasible[begin:], feasible[:begin]))
        if len(found) > self._most:
            self._start = int(found[self._most])
            found = found[: self._most]
        if not len(found):
            return None
        totals = self._totals(shape, found)
        node = int(found[heap_winner(totals.tolist())])
        self._used[node] += wanted
        return node

    def _totals(self, shape: int, of: Ints) -> Ints:
        profile, wanted = self._profile, self._wanted[shape]
        capacity, before = self._capacity[of], self._used[of]
        after = before + wanted
        totals = np.zeros(len(of), np.int64)
        # a GPU that the pod does not ask for, or the node does not have, counts for nothing
        counts = np.where((capacity > 0) & ((wanted > 0) | (np.arange(3) < 2)), self._weights, 0)
        left = after if profile.strategy == "MostAllocated" else capacity - after
        shares = 100 * left // np.maximum(capacity, 1)
        fit = (shares * counts).sum(axis=1) // np.maximum(counts.sum(axis=1), 1)
        totals += profile.weights["NodeResourcesFit"] * fit
        if balanced := profile.weights.get("NodeResourcesBalancedAllocation"):
            gain = _balance(after, capacity) - _balance(before, capacity)
            totals += balanced * (50 + (50 + gain) // 2)
        raw = self._preferred[shape][of]
        if affinity := profile.weights.get("NodeAffinity"):
            totals += affinity * (100 * raw // max(int(raw.max()), 1))
        return totals


def _balance(used: Ints, capacity: Ints) -> Ints:
    """arithmetic.balance of cpu and memory."""
    fractions = used[:, :2] / capacity[:, :2]
    balance: Ints = ((1 - np.abs((fractions[:, 0] - fractions[:, 1]) / 2)) * 100).astype(np.int64)
    return balance


def _amounts(amounts: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(amounts.get(name, 0) for name in RESOURCES)
