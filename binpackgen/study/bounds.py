"""Lower and upper bounds by linear programs (HiGHS): what no scheduler can beat.

Pods are poured into pools like water, so that nothing but the totals of a pool must hold; any real placement is one
solution of these programs, which proves the bounds. `fewest` asks for whole nodes as well (a MILP); where the solver
stops before the best solution, its own dual bound is what counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import BinpackgenError
from ..simulate.model import ClusterState, PodShape
from ..simulate.workload.fitting import look, may_run
from .use import PODS, capacity, wants

#: Seconds that a MILP may take; its dual bound holds whenever it stops.
MILP_SECONDS = 10.0
#: The bound is rounded up to whole nodes; this much below a whole number is rounding error of the solver.
_ERROR = 1e-6


class NodeKind(NamedTuple):
    """Equal nodes: how many there may be, what each has room for, and the shapes that may run there (indexes)."""

    name: str
    most: float
    room: tuple[int, ...]
    takes: frozenset[int]


def node_kinds(
    cluster: ClusterState,
    shapes: Sequence[PodShape],
    resources: Sequence[str],
    names: Sequence[str] | None = None,
) -> list[NodeKind]:
    """The kinds of nodes of a cluster; `names` gives a name to each node, which keeps kinds apart."""
    rooms = capacity(cluster, [*resources, PODS])
    groups: dict[object, list[int]] = {}
    for index, node in enumerate(cluster.nodes):
        key = (names[index] if names else "", tuple(rooms[index].tolist()), look(node))
        groups.setdefault(key, []).append(index)
    found = []
    for members in groups.values():
        node = cluster.nodes[members[0]]
        room = tuple(rooms[members[0]].tolist())
        each = wants(shapes, [*resources, PODS])
        takes = frozenset(
            index
            for index, shape in enumerate(shapes)
            if may_run(shape, node) and all(each[index] <= np.array(room))
        )
        found.append(NodeKind(names[members[0]] if names else node.name, len(members), room, takes))
    return found


class Fewest(NamedTuple):
    """`bound`: no fewer nodes (or no less money) will do, infinity if none do. `counts` by kind are the solver's best."""

    bound: float
    counts: tuple[int, ...]


def fewest_nodes(
    kinds: Sequence[NodeKind],
    shapes: Sequence[PodShape],
    counts: Sequence[float],
    resources: Sequence[str],
    prices: Mapping[str, float] | None = None,
) -> Fewest:
    """Of all ways to hold these pods the one with fewest nodes, or least money where a node of a kind has a price."""
    program = _Program()
    total = [*resources, PODS]
    each = wants(shapes, total)
    node_columns = [
        program.column(1.0 if prices is None else prices.get(kind.name, 0.0), kind.most, whole=True)
        for kind in kinds
    ]
    flows: dict[tuple[int, int], int] = {}
    for shape, count in enumerate(counts):
        if count <= 0:
            continue
        members = [place for place, kind in enumerate(kinds) if shape in kind.takes]
        for place in members:
            flows[place, shape] = program.column(0.0, float(count))
        program.row(float(count), float(count), [(flows[place, shape], 1.0) for place in members])
    for place, kind in enumerate(kinds):
        inside = [(shape, column) for (where, shape), column in flows.items() if where == place]
        for resource in range(len(total)):
            entries = [
                (column, float(each[shape, resource])) for shape, column in inside if each[shape, resource]
            ]
            if entries:
                scale = max(1.0, float(kind.room[resource]))
                scaled = [(column, amount / scale) for column, amount in entries]
                program.row(-math.inf, 0.0, [*scaled, (node_columns[place], -kind.room[resource] / scale)])
        # a pod needs a node of its own for every whole copy of it that fits: tighter than the totals alone
        for shape, column in inside:
            copies = min(
                kind.room[resource] // int(each[shape, resource])
                for resource in range(len(total))
                if each[shape, resource]
            )
            program.row(-math.inf, 0.0, [(column, 1.0 / copies), (node_columns[place], -1.0)])
    bound = program.minimum()
    if math.isinf(bound):
        return Fewest(bound, ())
    chosen = tuple(math.ceil(value - _ERROR) for value in program.solution()[: len(kinds)])
    return Fewest(float(math.ceil(bound - _ERROR)) if prices is None else bound, chosen)


def most_allocated(
    kinds: Sequence[NodeKind],
    shapes: Sequence[PodShape],
    counts: Sequence[float],
    resources: Sequence[str],
    goal: str,
) -> float:
    """At most so much of the resource `goal` can pods among `counts` hold at a time."""
    program = _Program()
    total = [*resources, PODS]
    each = wants(shapes, total)
    amounts = each[:, total.index(goal)]
    # bytes are too large for the solver's costs
    scale_of_goal = float(max(1, amounts.max(initial=0)))
    flows: dict[tuple[int, int], int] = {}
    for shape, count in enumerate(counts):
        members = [place for place, kind in enumerate(kinds) if shape in kind.takes] if count > 0 else []
        for place in members:
            flows[place, shape] = program.column(-float(amounts[shape]) / scale_of_goal, float(count))
        if members:
            program.row(-math.inf, float(count), [(flows[place, shape], 1.0) for place in members])
    for place, kind in enumerate(kinds):
        inside = [(shape, column) for (where, shape), column in flows.items() if where == place]
        for resource in range(len(total)):
            entries = [
                (column, float(each[shape, resource])) for shape, column in inside if each[shape, resource]
            ]
            if entries:
                scale = max(1.0, float(kind.room[resource]))
                program.row(
                    -math.inf,
                    kind.most * kind.room[resource] / scale,
                    [(column, amount / scale) for column, amount in entries],
                )
    return -program.minimum() * scale_of_goal if flows else 0.0


def require_solver() -> None:
    """Raises BinpackgenError where the solver is not installed, before anything long begins."""
    _highspy()


@functools.cache
def _highspy() -> Any:
    """The package, after its greeting."""
    try:
        import highspy
    except ModuleNotFoundError as error:
        raise BinpackgenError(
            "the package highspy is not installed; run: pip install 'binpackgen[simulate]'"
        ) from error
    with _without_banner():
        highspy.Highs()  # type: ignore[no-untyped-call]
    return highspy


@contextlib.contextmanager
def _without_banner() -> Iterator[None]:
    """HiGHS greets on standard output, which belongs to the command's own answer, before it can be told not to."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
        ctypes.CDLL(None).fflush(None)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


class _Program:
    """A minimization, built column by column and row by row."""

    def __init__(self) -> None:
        self._kinds = _highspy()
        self._solver = self._kinds.Highs()
        self._solver.silent()
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("time_limit", MILP_SECONDS)
        self._columns = 0
        self._is_whole = False

    def column(self, cost: float, most: float, *, whole: bool = False) -> int:
        self._solver.addCol(cost, 0.0, self._kinds.kHighsInf if math.isinf(most) else float(most), 0, [], [])
        if whole:
            self._solver.changeColIntegrality(self._columns, self._kinds.HighsVarType.kInteger)
            self._is_whole = True
        self._columns += 1
        return self._columns - 1

    def row(self, least: float, most: float, entries: Sequence[tuple[int, float]]) -> None:
        infinity = self._kinds.kHighsInf
        columns = [column for column, _ in entries]
        values = [value for _, value in entries]
        self._solver.addRow(
            -infinity if least == -math.inf else least,
            infinity if most == math.inf else most,
            len(columns),
            np.array(columns, np.int32),
            np.array(values, np.float64),
        )

    def minimum(self) -> float:
        """A proven lower bound of the objective; infinity where nothing holds all rows."""
        self._solver.run()
        status = self._solver.getModelStatus()
        if status in (
            self._kinds.HighsModelStatus.kInfeasible,
            self._kinds.HighsModelStatus.kUnboundedOrInfeasible,
        ):
            return math.inf
        info = self._solver.getInfo()
        if self._is_whole:
            return float(info.mip_dual_bound)
        if status != self._kinds.HighsModelStatus.kOptimal:
            raise BinpackgenError(
                f"the solver stopped without a bound: {self._solver.modelStatusToString(status)}"
            )
        return float(info.objective_function_value)

    def solution(self) -> list[float]:
        """The columns of the best solution; none where the solver found none in its time."""
        return list(self._solver.getSolution().col_value)
