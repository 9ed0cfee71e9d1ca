"""What a node's own state makes of it for every pod shape: resources, whether they fit and how they score.

    columns = Columns(state, profile, shapes, kinds, base)
    columns.of(node)                 one total a shape, -1 where a pod of it does not fit

The arithmetic of `filters` and `scores` on arrays of doubles, which hold all integers that occur (see
engine.LARGEST_AMOUNT); the balance of resources is a double there too, computed in the same order. Arrays of a
few hundred numbers cost what their calls cost, so the code counts calls.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..scheduler.arithmetic import MAX_NODE_SCORE, balance, shape_score
from .filters import is_ignored
from .model import DEFAULT_REQUESTS, ClusterState, PodShape, SchedulerProfile, is_counted, is_scalar

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


#: Totals that are remembered for states that come again: 64 MiB.
KNOWN_TOTALS = 8 * 1024 * 1024


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
        self._kinds = kinds.tolist()
        self._base = [np.array(row, np.float64) for row in base]
        self._forbidden = [row if row.any() else None for row in base < 0]
        self._room = _Room(cluster, profile, shapes)
        self._scores: list[tuple[_Fit | _Balance, int]] = []
        if weight := profile.weights.get("NodeResourcesFit"):
            self._scores.append((_Fit(cluster, profile, shapes), weight))
        if weight := profile.weights.get("NodeResourcesBalancedAllocation"):
            self._scores.append((_Balance(cluster, profile, shapes), weight))
        looks: dict[object, int] = {}
        self._looks = [
            looks.setdefault((kind, frozenset(node.allocatable.items())), len(looks))
            for kind, node in zip(self._kinds, cluster.nodes, strict=True)
        ]
        self._known: dict[tuple[int, bytes], Floats] = {}
        # one row a node holds what all parts keep of it, so that a placement is one addition
        parts = [self._room.table, *(score.table for score, _ in self._scores)]
        self._rows = np.concatenate([part.rows for part in parts], axis=1)
        self._changes = np.concatenate([part.changes for part in parts], axis=1)
        first = 0
        for part in parts:
            last = first + part.rows.shape[1]
            part.look_at(self._rows[:, first:last])
            first = last

    def add(self, shape: int, node: int) -> None:
        """Count a pod in."""
        self._rows[node] += self._changes[shape]

    def remove(self, shape: int, node: int) -> None:
        """Count a pod out."""
        self._rows[node] -= self._changes[shape]

    def of(self, node: int) -> Floats:
        """Totals without the normalized plugins, by shape; -1 where the node is not feasible."""
        # nodes of a kind come by the same states again and again
        state = (self._looks[node], self._rows[node].tobytes())
        column = self._known.get(state)
        if column is None:
            if len(self._known) * len(self._changes) > KNOWN_TOTALS:
                self._known.clear()
            column = self._known[state] = self._fresh(node)
        return column

    def _fresh(self, node: int) -> Floats:
        kind = self._kinds[node]
        totals: Floats = self._base[kind].copy()
        for score, weight in self._scores:
            own = score.of(node)
            totals += own if weight == 1 else own * weight
        lacking = self._room.lacks(node)
        forbidden = self._forbidden[kind]
        if forbidden is not None:
            np.putmask(totals, forbidden, -1.0)
        if lacking is not None:
            np.putmask(totals, lacking, -1.0)
        return totals


class _Table:
    """Numbers by node and what a pod of each shape adds to them. `node[i]` has an axis for the shapes."""

    def __init__(self, rows: list[list[float]], changes: list[list[float]], width: int) -> None:
        self.rows = np.array(rows, np.float64).reshape(len(rows), width)
        self.changes = np.array(changes, np.float64).reshape(len(changes), width)
        self.node: list[Floats] = []

    def look_at(self, rows: Floats) -> None:
        """From now on the numbers are kept in `rows`."""
        self.node = list(rows[:, :, None])


class _Room:
    """NodeResourcesFit as a filter, and the number of pods."""

    def __init__(self, cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        requested = {resource for pod in shapes for resource, amount in pod.requests.items() if amount > 0}
        names = sorted(name for name in requested if not is_ignored(name, profile))
        wanted = [[float(pod.requests.get(name, 0)) for name in names] + [1.0] for pod in shapes]
        free: list[list[float]] = []
        for node, taken, pods in zip(cluster.nodes, cluster.requested, cluster.pods, strict=True):
            row: list[float] = [node.allocatable.get(name, 0) - taken.get(name, 0) for name in names]
            free.append([*row, node.allocatable.get("pods", 0) - len(pods)])
        changes = [[-amount for amount in row] for row in wanted]
        self.table = _Table(free, changes, len(names) + 1)
        if "NodeResourcesFit" not in profile.filters:
            self.table.rows[:] = np.inf
        self._demands = [_Demand([row[k] for row in wanted]) for k in range(len(names) + 1)]

    def lacks(self, node: int) -> Bools | None:
        """The shapes for which something is lacking; None if all fit."""
        lacking: Bools | None = None
        for demand, free in zip(self._demands, self.table.node[node][:, 0].tolist(), strict=True):
            over = demand.beyond(free)
            if over is not None:
                lacking = over if lacking is None else lacking | over
        return lacking


class _Demand:
    """What all shapes want of one resource. What is not requested is not looked at, however little is left."""

    def __init__(self, wanted: list[float]) -> None:
        self._steps = sorted({amount for amount in wanted if amount > 0})
        rank = {amount: position for position, amount in enumerate(self._steps)}
        self._ranks = np.array([rank.get(amount, -1) for amount in wanted], np.int64)
        self._over: dict[int, Bools] = {}

    def beyond(self, free: float) -> Bools | None:
        """The shapes that want more than `free`, None if there are none."""
        step = bisect.bisect_right(self._steps, free)
        if step == len(self._steps):
            return None
        over = self._over.get(step)
        if over is None:
            over = self._over[step] = self._ranks >= step
        return over


class _Resources:
    """The resources of one score: wanted by shape, used and there by node, and which of them count where.

    `factor` times the amounts are kept. `masks` has 1 where a resource counts, by kind of node: it is there,
    and a scalar one is requested.
    """

    def __init__(
        self,
        cluster: ClusterState,
        wanted: list[list[float]],
        used: list[list[float]],
        names: list[str],
        factor: int = 1,
    ) -> None:
        width = len(names)
        self.table = _Table(used, wanted, width)
        self.table.rows *= factor
        self.table.changes *= factor
        self.wanted = self.table.changes.T.copy()
        there = [[node.allocatable.get(name, 0) for name in names] for node in cluster.nodes]
        capacity = np.array(there, np.float64).reshape(len(there), width)
        self.capacity = list(np.maximum(capacity, 1.0)[:, :, None].copy())
        counts = [[row[k] > 0 or not is_scalar(name) for row in wanted] for k, name in enumerate(names)]
        asked = np.array(counts, bool).reshape(width, len(wanted))
        kinds: dict[tuple[bool, ...], int] = {}
        self.kinds = [kinds.setdefault(tuple(row), len(kinds)) for row in (capacity > 0).tolist()]
        self.masks = [(asked & np.array(kind, bool)[:, None]).astype(np.float64) for kind in kinds]


class _Fit:
    """NodeResourcesFit as a score."""

    def __init__(self, cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        self._strategy = profile.strategy
        counted = [(name, weight) for name, weight in profile.resources if is_counted(name)]
        names = [name for name, _ in counted]
        self._weights = np.array([weight for _, weight in counted], np.float64)
        wanted = [[float(_scoring(pod, name)) for name in names] for pod in shapes]
        used = [
            [float(_scored(cluster, index, name)) for name in names] for index in range(len(cluster.nodes))
        ]
        self._resources = _Resources(cluster, wanted, used, names, factor=MAX_NODE_SCORE)
        self.table = self._resources.table
        masks = self._resources.masks
        self._masks = [None if mask.all() else mask for mask in masks]
        self._divisors = [np.maximum(self._weights @ mask, 1.0) for mask in masks]
        curve = [shape_score(profile.shape, u) if profile.shape else 0 for u in range(MAX_NODE_SCORE + 1)]
        self._curve = np.array(curve, np.float64)

    def of(self, node: int) -> Floats:
        resources = self._resources
        kind = resources.kinds[node]
        mask = self._masks[kind]
        shares = resources.wanted + self.table.node[node]
        capacity = resources.capacity[node]
        if self._strategy == "LeastAllocated":
            np.subtract(capacity * MAX_NODE_SCORE, shares, out=shares)
        shares /= capacity
        np.floor(shares, out=shares)
        if self._strategy == "LeastAllocated":
            np.maximum(shares, 0.0, out=shares)
        else:
            np.minimum(shares, 100.0, out=shares)
        if self._strategy == "RequestedToCapacityRatio":
            shares = self._curve[shares.astype(np.intp)]
        if mask is not None:
            shares *= mask
        average: Floats = self._weights @ shares
        if self._strategy == "RequestedToCapacityRatio":
            return half_up_ratio(average, self._weights @ (shares > 0))
        average /= self._divisors[kind]
        return np.floor(average, out=average)


def half_up_ratio(total: Floats, weights: Floats) -> Floats:
    """`total` by `weights`, halves rounded up; 0 by 0 is 0. See arithmetic.weighted_half_up."""
    return np.floor((2 * total + weights) / np.maximum(2 * weights, 1.0))


class _Balance:
    """NodeResourcesBalancedAllocation."""

    def __init__(self, cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        names = [name for name in profile.balanced_resources if is_counted(name)]
        self._is_gain = profile.minor >= 36
        wanted = [[float(pod.requests.get(name, 0)) for name in names] for pod in shapes]
        used = [[float(taken.get(name, 0)) for name in names] for taken in cluster.requested]
        self._resources = _Resources(cluster, wanted, used, names)
        self.table = self._resources.table
        scored = [profile.minor < 33 or any(row) for row in wanted]
        self._scored = None if all(scored) else np.array(scored, np.float64)
        self._pairs = [len(mask) == 2 and bool(mask.all()) for mask in self._resources.masks]

    def of(self, node: int) -> Floats:
        resources = self._resources
        kind = resources.kinds[node]
        used, capacity = self.table.node[node], resources.capacity[node]
        fractions = resources.wanted + used
        fractions /= capacity
        np.minimum(fractions, 1.0, out=fractions)
        without: float | Floats
        if self._pairs[kind]:
            score = _balance_of_pairs(fractions)
            without = balance((used / capacity)[:, 0].tolist()) if self._is_gain else 0
        else:
            mask = resources.masks[kind]
            score = _balance(fractions, mask)
            before = np.broadcast_to(np.minimum(used / capacity, 1.0), mask.shape)
            without = _balance(before, mask) if self._is_gain else 0
        if self._is_gain:
            # 50 + (50 + with - without) // 2
            score += 150.0 - without
            score /= 2.0
            np.floor(score, out=score)
        if self._scored is not None:
            score *= self._scored
        return score


def _balance_of_pairs(fractions: Floats) -> Floats:
    """arithmetic.balance of two fractions, for every shape."""
    score = fractions[0] - fractions[1]
    score /= 2.0
    np.abs(score, out=score)
    np.subtract(1.0, score, out=score)
    score *= MAX_NODE_SCORE
    whole: Floats = np.trunc(score, out=score)
    return whole


def _balance(fractions: Floats, mask: Floats) -> Floats:
    """arithmetic.balance of the fractions that count, for every shape; the others add nothing to the sums."""
    counted = fractions * mask
    count = mask.sum(axis=0)
    divisor = np.maximum(count, 1.0)
    total = np.zeros(mask.shape[1])
    for row in counted:
        total = total + row
    mean = total / divisor
    squares = np.zeros(mask.shape[1])
    for row, included in zip(counted, mask, strict=True):
        squares = squares + (row - mean) * (row - mean) * included
    several = np.sqrt(squares / divisor)
    greatest = np.where(mask > 0, counted, 0.0).max(axis=0, initial=0.0)
    least = np.where(mask > 0, counted, 1.0).min(axis=0, initial=1.0)
    deviation = np.where(count > 2, several, np.where(count == 2, (greatest - least) / 2, 0.0))
    return np.trunc((1.0 - deviation) * MAX_NODE_SCORE)


def _scoring(pod: PodShape, name: str) -> int:
    return (pod.scoring_requests if name in DEFAULT_REQUESTS else pod.requests).get(name, 0)


def _scored(cluster: ClusterState, index: int, name: str) -> int:
    return (cluster.scoring if name in DEFAULT_REQUESTS else cluster.requested)[index].get(name, 0)
