"""What a node's own state makes of it for every pod shape: resources, whether they fit and how they score.

    columns = Columns(tables)
    columns.add(shape, node)         a pod more, and what comes of it
    columns.of(node)                 one total a shape, negative where a pod of it does not fit

The arithmetic of `filters` and `scores` on arrays of doubles; the balance of resources is a double there too,
and computed in the same order. Arrays of a few hundred numbers cost what their calls cost, so calls are counted.
"""

from __future__ import annotations

import bisect
import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..scheduler.arithmetic import MAX_NODE_SCORE, balance
from .arrays import Bools, Floats, Tables

#: Whole numbers, as narrow as they can be.
Totals = NDArray[Any]

#: Totals that are remembered for states that come again: 64 MiB or less.
KNOWN_TOTALS = 8 * 1024 * 1024


class Columns:
    """The totals of all shapes, node by node, without what is normalized over the feasible nodes.

    A node that a shape must not take has the total `forbidden`, so low that no bonus makes it feasible. Columns
    are shared: they must not be written to.
    """

    def __init__(self, tables: Tables) -> None:
        self.forbidden = -tables.largest_total - 1
        #: The narrowest type that holds every total: a search goes through all nodes of a shape.
        self.narrow = np.min_scalar_type(self.forbidden)
        rows, changes = tables.start.copy(), tables.changes.copy()
        if tables.strategy == "LeastAllocated":
            # what is left of resources instead of what is used
            capacity = tables.capacity[:, : tables.fit.stop - tables.fit.start]
            rows[:, tables.fit] = MAX_NODE_SCORE * capacity - rows[:, tables.fit]
            changes[:, tables.fit] *= -1.0
        self._models = tables.models.tolist()
        self._known: dict[tuple[int, bytes], Totals] = {}
        self._classes = tables.classes.tolist()
        base = np.maximum(tables.base, 0).astype(np.float64)
        self._base = [row if row.any() else None for row in base]
        never = tables.base < 0
        self._never = [row if row.any() else None for row in never]
        needs = tables.needs.T.tolist()
        self._demands = [_Demand(column) for column in needs]
        self._scores = _Scores(tables, changes)
        self._changes, self._first = list(changes), tables.fit.start
        self._keep(rows)

    def _keep(self, rows: Floats) -> None:
        self._rows, self._row_of, self._scored = rows, list(rows), list(rows[:, self._first :, None])

    def copy(self) -> Self:
        """The same state, to go on by itself."""
        other = copy.copy(self)
        other._keep(self._rows.copy())
        return other

    def add(self, shape: int, node: int) -> Totals:
        """Count a pod in."""
        row = self._row_of[node]
        row += self._changes[shape]
        return self.of(node)

    def remove(self, shape: int, node: int) -> Totals:
        """Count a pod out."""
        row = self._row_of[node]
        row -= self._changes[shape]
        return self.of(node)

    def of(self, node: int) -> Totals:
        """The node's totals, by shape."""
        # nodes of a kind come by the same states again and again
        state = (self._models[node], self._row_of[node].tobytes())
        column = self._known.get(state)
        if column is None:
            if len(self._known) * len(self._changes) > KNOWN_TOTALS:
                self._known.clear()
            column = self._known[state] = self._fresh(node)
        return column

    def _fresh(self, node: int) -> Totals:
        kind = self._classes[node]
        row = self._row_of[node].tolist()
        lacking = self._never[kind]
        for demand, free in zip(self._demands, row, strict=False):
            over = demand.beyond(free)
            if over is not None:
                lacking = over if lacking is None else lacking | over
        totals = self._scores.of(node, self._scored[node], row)
        base = self._base[kind]
        if base is not None:
            totals += base
        # none is negative, so that cutting the fraction off is rounding down
        column: Totals = totals.astype(self.narrow)
        if lacking is not None:
            np.putmask(column, lacking, self.forbidden)
        return column


class _Demand:
    """What all shapes need of one resource. What is not requested is not looked at, however little is left."""

    def __init__(self, needed: list[float]) -> None:
        self._steps = sorted({amount for amount in needed if amount > 0})
        rank = {amount: position for position, amount in enumerate(self._steps)}
        self._ranks = np.array([rank.get(amount, -1) for amount in needed], np.int64)
        self._over: dict[int, Bools] = {}

    def beyond(self, free: float) -> Bools | None:
        """The shapes that need more than `free`, None if there are none."""
        step = bisect.bisect_right(self._steps, free)
        if step == len(self._steps):
            return None
        over = self._over.get(step)
        if over is None:
            over = self._over[step] = self._ranks >= step
        return over


class _Scores:
    """NodeResourcesFit and NodeResourcesBalancedAllocation, weighted and added up; fractions are cut off later."""

    def __init__(self, tables: Tables, changes: Floats) -> None:
        fits = tables.fit.stop - tables.fit.start
        self._fits, self._fit_weight, self._balance_weight = fits, tables.fit_weight, tables.balance_weight
        self._is_gain, self._balance = tables.balance_is_gain, tables.balance
        self._wanted = changes[:, tables.fit.start :].T.copy()
        self._capacity = list(tables.capacity[:, :, None])
        self._capacities = tables.capacity[:, fits:].tolist()
        limits = [float(MAX_NODE_SCORE)] * fits + [1.0] * (len(self._wanted) - fits)
        self._limits = np.array(limits, np.float64)[:, None]
        #: Whether a share beyond its limits is only met where the pod does not fit.
        self._is_bounded = tables.is_bounded
        self._patterns = tables.patterns.tolist()
        weights = tables.fit_weights
        self._masks = [None if (mask > 0).all() else (mask.T > 0).astype(np.float64) for mask in weights]
        self._weights = weights.max(axis=(0, 1), initial=0.0)
        self._divisors = np.maximum(weights.sum(axis=2), 1.0)
        self._is_least = tables.strategy == "LeastAllocated"
        self._fit: Callable[[Floats, int], Floats] = self._share
        if tables.strategy == "RequestedToCapacityRatio":
            self._fit = self._ratio
            self._prepare_ratio(tables)
        self._balanced = [mask.T.astype(np.float64) for mask in tables.balanced]
        self._pairs = [len(mask) == 2 and bool(mask.all()) for mask in self._balanced]
        weighted = tables.balance_weights.astype(np.float64)
        self._balance_weights = None if (weighted == 1.0).all() else weighted

    def of(self, node: int, held: Floats, row: list[float]) -> Floats:
        """The scores of all shapes on a node with this row; `held` is what it has of the scored resources."""
        shares = self._wanted + held
        shares /= self._capacity[node]
        if not self._is_bounded:
            np.minimum(shares, self._limits, out=shares)
        pattern = self._patterns[node]
        if not self._fit_weight:
            return self._evenness(shares, pattern, node, row)
        total = self._fit(shares[: self._fits], pattern)
        if self._fit_weight == 1 and not self._balance_weight:
            return total
        np.floor(total, out=total)
        if self._fit_weight != 1:
            total *= self._fit_weight
        if self._balance_weight:
            total += self._evenness(shares[self._fits :], pattern, node, row)
        return total

    def _share(self, shares: Floats, pattern: int) -> Floats:
        """The score of MostAllocated and LeastAllocated."""
        np.floor(shares, out=shares)
        if self._is_least and not self._is_bounded:
            np.maximum(shares, 0.0, out=shares)
        mask = self._masks[pattern]
        if mask is not None:
            shares *= mask
        average: Floats = np.dot(self._weights, shares)
        average /= self._divisors[pattern]
        return average

    def _prepare_ratio(self, tables: Tables) -> None:
        """Of each use of each resource twice its weighted score and its weight, and twice its weight."""
        fits, width = self._fits, MAX_NODE_SCORE + 1
        self._parts = np.zeros((2, (fits + 1) * width))
        for part, weight in enumerate(self._weights.tolist()):
            here = slice(part * width, (part + 1) * width)
            self._parts[0, here] = weight * (2.0 * tables.curve + (tables.curve > 0))
            self._parts[1, here] = weight * 2.0 * (tables.curve > 0)
        # what does not count is looked up where there are zeros only
        place = np.arange(fits)[:, None] * width
        self._places = [np.where(mask.T > 0, place, fits * width) for mask in tables.fit_weights]
        # a pod that does not fit needs a place too
        self._is_bounded = False

    def _ratio(self, shares: Floats, pattern: int) -> Floats:
        """The score of RequestedToCapacityRatio."""
        places = shares.astype(np.intp)
        places += self._places[pattern]
        doubled, weights = np.add.reduce(self._parts.take(places, axis=1), axis=1)
        return half_up(doubled, weights)

    def _evenness(self, shares: Floats, pattern: int, node: int, row: list[float]) -> Floats:
        """The score of NodeResourcesBalancedAllocation; see arithmetic.balance."""
        if not self._balance_weight:
            return np.zeros(shares.shape[1])
        score: Floats
        if self._pairs[pattern]:
            score = shares[0] - shares[1]
            np.abs(score, out=score)
            # (1 - x / 2) * 100, in which the factors of two change no bit
            np.subtract(2.0, score, out=score)
            score *= MAX_NODE_SCORE / 2.0
        else:
            score = _balance(shares, self._balanced[pattern])
        np.floor(score, out=score)
        if self._is_gain:
            amounts, capacity = row[self._balance], self._capacities[node]
            used = [amount / there for amount, there in zip(amounts, capacity, strict=True)]
            before: float | Floats
            if self._pairs[pattern]:
                before = balance(used)
            else:
                mask = self._balanced[pattern]
                limited = np.minimum(np.array(used)[:, None], 1.0)
                before = np.floor(_balance(np.broadcast_to(limited, mask.shape), mask))
            # 50 + (50 + with - without) // 2
            score += 150.0 - before
            score *= 0.5
            np.floor(score, out=score)
        if self._balance_weights is not None:
            score *= self._balance_weights
        return score


def half_up(doubled: Floats, weights: Floats) -> Floats:
    """A weighted average with halves rounded up, see arithmetic.weighted_half_up; 0 of nothing.

    From twice the sum and the sum of the weights, and twice the sum of the weights. The fraction is cut off later.
    """
    np.maximum(weights, 1.0, out=weights)
    doubled /= weights
    return doubled


def _balance(shares: Floats, mask: Floats) -> Floats:
    """arithmetic.balance, not yet rounded, of the shares that count; the others add nothing to the sums."""
    counted = shares * mask
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
    deviation: Floats = np.where(count > 2, several, np.where(count == 2, (greatest - least) / 2, 0.0))
    unrounded: Floats = (1.0 - deviation) * MAX_NODE_SCORE
    return unrounded
