"""The fast path in machine code: the same decisions as the reference, for about a microsecond a pod.

Needs numba. What is kept and when it is computed is told in `compiled_cycles`.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..scheduler.plugins import FIT, NEWEST_MINOR
from . import compiled_cycles as cycles
from .arrays import ClusterArrays, Indexes, Ints, Tables
from .compiled_cycles import BLOCK, Machine, Numbers, Settings, State, Totals
from .cycle import HEAP_SINCE
from .model import ClusterState, NodeClass, PodShape, SchedulerProfile, requests_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Random words that are drawn at once.
WORDS = 1024

_STRATEGIES = {
    "MostAllocated": cycles.MOST,
    "LeastAllocated": cycles.LEAST,
    "RequestedToCapacityRatio": cycles.RATIO,
}


class CompiledSimulator:
    """See engine.Simulator. `tables` belong to a case that the fast paths take."""

    def __init__(self, tables: Tables, chance: random.Random | None = None) -> None:
        self._tables = tables
        self._chance = chance if tables.minor < HEAP_SINCE else None
        self._shapes, self._nodes = len(tables.changes), len(tables.start)
        weights = tables.fit_weights
        numbers = Numbers(
            classes=tables.classes,
            patterns=tables.patterns,
            alike=tables.alike,
            capacity=tables.capacity,
            base=tables.base.astype(np.float64),
            taints=tables.taints,
            affinity=tables.affinity,
            needs=_turned(tables.needs),
            changes=_turned(tables.changes),
            fit_weights=_turned(weights),
            fit_divisors=np.maximum(weights.sum(axis=2), 1.0),
            balanced=_turned(tables.balanced),
            balance_weights=tables.balance_weights.astype(np.float64),
            pairs=tables.balanced.all(axis=(1, 2)) & (tables.balanced.shape[2] == 2),
            curve=tables.curve,
        )
        ties = (
            cycles.BY_HEAP if tables.minor >= HEAP_SINCE else cycles.BY_CHANCE if chance else cycles.BY_INDEX
        )
        self._settings = Settings(
            strategy=_STRATEGIES[tables.strategy],
            fit_weight=tables.fit_weight,
            balance_weight=tables.balance_weight,
            balance_is_gain=tables.balance_is_gain,
            taint_weight=tables.taint_weight,
            affinity_weight=tables.affinity_weight,
            any_bonus=tables.any_bonus,
            ties=ties,
        )
        self._numbers = numbers
        self._state = _start(tables)
        self._machine = Machine(self._settings, numbers, self._state)
        self._looks = np.unique(tables.alike, return_index=True)[1]
        cycles.start(self._machine, self._looks)

    def top(self, shape: int) -> tuple[int, ...]:
        """See Simulator."""
        totals = self._totals(shape)
        highest = totals.max(initial=-1)
        return tuple(np.flatnonzero(totals == highest).tolist()) if highest >= 0 else ()

    def feasible(self, shape: int) -> Ints:
        """See Simulator."""
        return np.flatnonzero(self._totals(shape) >= 0)

    def place(self, shape: int) -> int | None:
        """See Simulator."""
        if self._chance:
            node = int(self.place_all([shape])[0])
        else:
            node = cycles.place(self._machine, _checked(shape, self._shapes))
        return node if node >= 0 else None

    def bind(self, shape: int, node: int) -> None:
        """See Simulator."""
        cycles.change(self._machine, _checked(shape, self._shapes), _checked(node, self._nodes), 1)

    def release(self, shape: int, node: int) -> None:
        """See Simulator."""
        cycles.change(self._machine, _checked(shape, self._shapes), _checked(node, self._nodes), -1)

    def place_all(self, shapes: Indexes) -> Ints:
        """See Simulator."""
        return self._play(shapes, np.arange(len(shapes), dtype=np.int64))

    def bind_all(self, shapes: Indexes, nodes: Indexes) -> None:
        """See Simulator."""
        self._change_all(shapes, nodes, 1)

    def release_all(self, shapes: Indexes, nodes: Indexes) -> None:
        """See Simulator."""
        self._change_all(shapes, nodes, -1)

    def play(self, shapes: Indexes, events: Indexes) -> Ints:
        """See Simulator."""
        return self._play(shapes, _indexes(events, -len(shapes), len(shapes)))

    def copy(self) -> Self:
        """See Simulator."""
        other = copy.copy(self)
        other._state = State._make(part.copy() for part in self._state)
        other._machine = Machine(self._settings, self._numbers, other._state)
        return other

    def reset(self) -> None:
        """See Simulator."""
        self._state.amounts[:] = self._tables.start
        cycles.start(self._machine, self._looks)

    def _totals(self, shape: int) -> Totals:
        cycles.catch_up(self._machine, _checked(shape, self._shapes))
        totals: Totals = self._state.totals[shape, : self._nodes]
        return totals

    def _change_all(self, shapes: Indexes, nodes: Indexes, sign: int) -> None:
        pods, places = _indexes(shapes, 0, self._shapes), _indexes(nodes, -1, self._nodes)
        if len(pods) != len(places):
            raise ValueError(f"{len(pods)} shapes and {len(places)} nodes")
        cycles.change_all(self._machine, pods, places, sign)

    def _play(self, shapes: Indexes, events: Ints) -> Ints:
        pods = _indexes(shapes, 0, self._shapes)
        nodes = np.full(len(pods), -1, np.int64)
        position, count = 0, WORDS if self._chance else 0
        while True:
            words, given_back = _words(self._chance, count)
            position, used = cycles.play(self._machine, pods, events, nodes, position, words)
            given_back(used)
            if position == len(events):
                return nodes
            # one draw may have needed more words than there were
            count = count * 2 if used == 0 else WORDS


def prepare() -> None:
    """Compile all of it, for both widths of totals: most of a minute the first time; later it is in numba's cache."""
    amounts = {"cpu": 1000, "memory": 2**20}
    arrays = ClusterArrays(ClusterState(NodeClass("any", 2, {**amounts, "pods": 2}).nodes()))
    requests, scoring = requests_of([amounts])
    for weight in (1, 1000):
        profile = SchedulerProfile(NEWEST_MINOR, weights={FIT: weight})
        run = CompiledSimulator(Tables(arrays, profile, [PodShape("any", requests, scoring)]))
        run.place(0)
        run.bind(0, 0)
        run.release_all([0], [0])
        run.place_all([0])
        run.top(0)


def _start(tables: Tables) -> State:
    """The state before the first cycle."""
    shapes, nodes, classes = len(tables.changes), len(tables.start), len(tables.base)
    blocks, looks = -(-nodes // BLOCK), int(tables.alike.max(initial=-1)) + 1
    narrow = np.int16 if tables.largest_total < 2**15 else np.int32
    return State(
        amounts=tables.start.copy(),
        columns=np.empty((nodes, shapes), narrow),
        starts=np.empty((shapes, looks), narrow),
        totals=np.full((shapes, blocks * BLOCK), -1, narrow),
        best=np.empty((shapes, blocks), narrow),
        room=np.empty((shapes, blocks), np.int32),
        members=np.empty((shapes, classes), np.int32),
        bonus=np.empty((shapes, classes), np.int32),
        highest=np.empty((shapes, 2), np.int64),
        seen=np.empty(shapes, np.int64),
        links=np.empty((nodes, 4), np.int64),
        clock=np.empty(2, np.int64),
        nodes=np.empty(nodes, np.int64),
        found=np.empty(nodes, narrow),
        total=np.empty(shapes),
        score=np.empty(shapes),
        weights=np.empty(shapes),
        changes=np.empty(classes, np.int32),
    )


def _turned(table: NDArray[Any]) -> NDArray[Any]:
    """A table with the shapes as the last axis, which compiled loops go along."""
    return np.ascontiguousarray(table.swapaxes(-2, -1))


def _words(chance: random.Random | None, count: int) -> tuple[NDArray[np.uint32], Callable[[int], None]]:
    """The next random words, and a function that gives back all but the first ones."""
    if not chance or not count:
        return np.empty(0, np.uint32), lambda _: None
    before = chance.getstate()

    def keep(used: int) -> None:
        chance.setstate(before)
        if used:
            chance.getrandbits(32 * used)

    # getrandbits takes words from the generator and puts the first one last
    return np.frombuffer(chance.getrandbits(32 * count).to_bytes(4 * count, "little"), "<u4"), keep


def _indexes(values: Indexes, low: int, end: int) -> Ints:
    """`values` as an array for compiled code, which does not look whether an index exists."""
    indexes = np.ascontiguousarray(values, np.int64)
    if len(indexes) and not low <= indexes.min() <= indexes.max() < end:
        raise IndexError(f"an index is not in {low}..{end - 1}")
    return indexes


def _checked(index: int, end: int) -> int:
    if not 0 <= index < end:
        raise IndexError(f"{index} is not in 0..{end - 1}")
    return index
