"""What a node's own state makes of it for every pod shape: resources, whether they fit and how they score.

    columns = Columns(state, profile, shapes, kinds, base)
    columns.of(node)                 one total a shape, -1 where a pod of it does not fit

The arithmetic of `filters` and `scores` on arrays of doubles, which hold all integers that occur (see
engine.LARGEST_AMOUNT); the balance of resources is a double there too, computed in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..scheduler.arithmetic import MAX_NODE_SCORE, shape_score
from .filters import is_ignored
from .model import DEFAULT_REQUESTS, ClusterState, PodShape, SchedulerProfile, is_counted, is_scalar

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Columns:
    """The totals of all shapes, node by node.

    `kinds` gives each node's class, `base` the part of its totals that placements do not change, by class and
    shape, -1 where labels or taints forbid the node.
    """

    def __init__(
        self,
        cluster: ClusterState,
        profile: SchedulerProfile,
        shapes: Sequence[PodShape],
        kinds: Ints,
        base: Ints,
    ) -> None:
        self._cluster = cluster
        self._shapes = shapes
        self._kinds = kinds.tolist()
        self._base = [np.ascontiguousarray(row, np.float64) for row in base]
        self._forbidden = [row if row.any() else None for row in base < 0]
        self._room = _Room(cluster, profile, shapes)
        self._scores: list[tuple[_Fit | _Balance, int]] = []
        if weight := profile.weights.get("NodeResourcesFit"):
            self._scores.append((_Fit(cluster, profile, shapes), weight))
        if weight := profile.weights.get("NodeResourcesBalancedAllocation"):
            self._scores.append((_Balance(cluster, profile, shapes), weight))

    def add(self, shape: int, node: int, sign: int) -> None:
        """Count a pod in (1) or out (-1)."""
        self._room.add(shape, node, sign)
        for score, _ in self._scores:
            score.add(shape, node, sign)

    def of(self, node: int) -> Floats:
        """Totals without the normalized plugins, by shape; -1 where the node is not feasible."""
        kind = self._kinds[node]
        totals = self._base[kind]
        for score, weight in self._scores:
            own = score.of(node)
            totals = totals + (own if weight == 1 else own * weight)
        lacking = self._room.lacks(node)
        forbidden = self._forbidden[kind]
        if forbidden is not None:
            lacking |= forbidden
        return np.where(lacking, -1.0, totals)


class _Room:
    """NodeResourcesFit as a filter, and the number of pods."""

    def __init__(self, cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        wanted = {resource for pod in shapes for resource, amount in pod.requests.items() if amount > 0}
        names = sorted(name for name in wanted if not is_ignored(name, profile))
        checks = "NodeResourcesFit" in profile.filters
        self._wanted = _table(
            [[pod.requests.get(name, 0) for name in names] + [1] for pod in shapes]
        ).T.copy()
        self._free = _table(
            [
                [
                    *(
                        node.allocatable.get(name, 0) - cluster.requested[index].get(name, 0)
                        for name in names
                    ),
                    node.allocatable.get("pods", 0) - len(cluster.pods[index]),
                ]
                for index, node in enumerate(cluster.nodes)
            ]
        )
        if not checks:
            self._free[:] = np.inf
        self._changes = self._wanted.T.copy()
        #: What is not requested is not looked at, even where too much is taken already.
        self._floor = np.zeros(len(names) + 1)

    def add(self, shape: int, node: int, sign: int) -> None:
        self._free[node] -= sign * self._changes[shape]

    def lacks(self, node: int) -> Bools:
        free = np.maximum(self._free[node], self._floor)
        lacking: Bools = np.logical_or.reduce(self._wanted > free[:, None], axis=0)
        return lacking


class _Fit:
    """NodeResourcesFit as a score."""

    def __init__(self, cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        self._strategy = profile.strategy
        counted = [(name, weight) for name, weight in profile.resources if is_counted(name)]
        names = [name for name, _ in counted]
        self._weights = np.array([weight for _, weight in counted], np.float64)
        self._state = _State(
            cluster,
            [[_scoring(pod, name) for name in names] for pod in shapes],
            [[_scored(cluster, index, name) for name in names] for index in range(len(cluster.nodes))],
            names,
            factor=MAX_NODE_SCORE,
        )
        self._sums = [(self._weights @ included) for included in self._state.masks]
        self._divisors = [np.maximum(sums, 1.0) for sums in self._sums]
        table = [shape_score(profile.shape, u) if profile.shape else 0 for u in range(101)]
        self._table = np.array(table, np.float64)

    def add(self, shape: int, node: int, sign: int) -> None:
        self._state.add(shape, node, sign)

    def of(self, node: int) -> Floats:
        state = self._state
        kind = state.kinds[node]
        shares = state.wanted + state.used[node]
        if self._strategy == "LeastAllocated":
            np.subtract(state.full[node], shares, out=shares)
        np.divide(shares, state.capacity[node], out=shares)
        np.floor(shares, out=shares)
        np.minimum(shares, 100.0, out=shares)
        if self._strategy == "LeastAllocated":
            np.maximum(shares, 0.0, out=shares)
        if self._strategy == "RequestedToCapacityRatio":
            return self._ratio(self._table[shares.astype(np.intp)] * state.masks[kind])
        if not state.all_included[kind]:
            shares *= state.masks[kind]
        average: Floats = self._weights @ shares
        average /= self._divisors[kind]
        return np.floor(average, out=average)

    def _ratio(self, scores: Floats) -> Floats:
        return half_up_ratio(self._weights @ scores, self._weights @ (scores > 0))


def half_up_ratio(total: Floats, weights: Floats) -> Floats:
    """`total` by `weights`, halves rounded up; 0 by 0 is 0. See arithmetic.weighted_half_up."""
    return np.floor((2 * total + weights) / np.maximum(2 * weights, 1.0))


class _Balance:
    """NodeResourcesBalancedAllocation."""

    def __init__(self, cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        names = [name for name in profile.balanced_resources if is_counted(name)]
        self._gain = profile.minor >= 36
        requests = [[pod.requests.get(name, 0) for name in names] for pod in shapes]
        taken = [
            [cluster.requested[index].get(name, 0) for name in names] for index in range(len(cluster.nodes))
        ]
        self._state = _State(cluster, requests, taken, names)
        self._active = np.array([profile.minor < 33 or any(row) for row in requests], np.float64)

    def add(self, shape: int, node: int, sign: int) -> None:
        self._state.add(shape, node, sign)

    def of(self, node: int) -> Floats:
        state = self._state
        mask = state.masks[state.kinds[node]]
        used, capacity = state.used[node], state.capacity[node]
        with_pod = _balance((state.wanted + used) / capacity, mask)
        if not self._gain:
            return with_pod * self._active
        without = _balance(np.broadcast_to(used / capacity, mask.shape), mask)
        return (50.0 + np.floor((50.0 + with_pod - without) / 2)) * self._active


def _balance(fractions: Floats, mask: Floats) -> Floats:
    fractions = np.minimum(fractions, 1.0) * mask
    count = mask.sum(axis=0)
    # of two fractions; with one or none of them left the other is 0 and does not count
    if len(mask) == 2:
        deviation = np.where(count == 2, np.abs(fractions[0] - fractions[1]) / 2, 0.0)
    else:
        divisor = np.maximum(count, 1.0)
        total = np.zeros(mask.shape[1])
        for row in fractions:
            total = total + row
        mean = total / divisor
        squares = np.zeros(mask.shape[1])
        for row, included in zip(fractions, mask, strict=True):
            squares = squares + (row - mean) * (row - mean) * included
        deviation = np.sqrt(squares / divisor)
        greatest = np.where(mask > 0, fractions, -np.inf).max(axis=0, initial=-np.inf)
        least = np.where(mask > 0, fractions, np.inf).min(axis=0, initial=np.inf)
        deviation = np.where(count == 2, (greatest - least) / 2, np.where(count > 2, deviation, 0.0))
    return np.trunc((1.0 - deviation) * MAX_NODE_SCORE)


class _State:
    """Amounts of the resources of one score: wanted by shape, used by node, and which of them count where.

    `factor` times the amounts are kept. `masks` has 1 where a resource counts, by kind of node: it is there,
    and a scalar one is requested.
    """

    def __init__(
        self,
        cluster: ClusterState,
        wanted: list[list[int]],
        used: list[list[int]],
        names: list[str],
        factor: int = 1,
    ) -> None:
        shapes, nodes = len(wanted), len(used)
        amounts = _table(wanted).reshape(shapes, len(names)) * factor
        self.wanted = amounts.T.copy()
        self._changes = amounts[:, :, None].copy()
        #: By node, with an axis for the shapes.
        self.used = (_table(used).reshape(nodes, len(names)) * factor)[:, :, None].copy()
        capacity = _table([[node.allocatable.get(name, 0) for name in names] for node in cluster.nodes])
        capacity = capacity.reshape(nodes, len(names))
        self.capacity = np.maximum(capacity, 1.0)[:, :, None].copy()
        self.full = self.capacity * factor
        counts = [[row[k] > 0 or not is_scalar(name) for row in wanted] for k, name in enumerate(names)]
        asked = np.array(counts, bool).reshape(len(names), shapes)
        kinds: dict[tuple[bool, ...], int] = {}
        self.kinds = [kinds.setdefault(tuple(row), len(kinds)) for row in (capacity > 0).tolist()]
        self.masks = [(asked & np.array(there, bool)[:, None]).astype(np.float64) for there in kinds]
        self.all_included = [bool(mask.all()) for mask in self.masks]

    def add(self, shape: int, node: int, sign: int) -> None:
        if sign > 0:
            self.used[node] += self._changes[shape]
        else:
            self.used[node] -= self._changes[shape]


def _scoring(pod: PodShape, name: str) -> int:
    return (pod.scoring_requests if name in DEFAULT_REQUESTS else pod.requests).get(name, 0)


def _scored(cluster: ClusterState, index: int, name: str) -> int:
    return (cluster.scoring if name in DEFAULT_REQUESTS else cluster.requested)[index].get(name, 0)


def _table(rows: list[list[int]]) -> Floats:
    return np.array(rows, np.float64)
