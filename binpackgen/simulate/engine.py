"""Many scheduling cycles in a row: fast exact paths, and the reference where they do not fit.

    run = simulator(state, profile, shapes)
    node = run.place(3)                      a pod of shapes[3]: where it went, None if nowhere
    run.release(3, node)
    nodes = run.place_all(order)             many at once: an array of nodes, -1 for nowhere
    nodes = run.play(order, events)          arrivals and departures in one go

    arrays = ClusterArrays(state)            where many profiles are tried on one cluster, this is made once
    run = simulator(arrays, profile, shapes)

The fast paths rest on two facts: a node's score depends on its own state and the pod's shape alone, and a
placement changes one node. So they keep the totals of every shape on every node and renew one column a
placement. What depends on labels, taints and images is constant per class of node; what is normalized over the
feasible nodes changes only where a class begins or ceases to be feasible for a shape. Spreading and affinity
between pods break the first fact, and a sample of the nodes needs the order of the search: these take the
reference path. Of the fast paths the one in machine code is taken where numba is installed, and numpy elsewhere.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np

from .arrays import ClusterArrays, Indexes, Ints, Tables, bonus, preorder_ranks
from .columns import Columns, Totals
from .cycle import HEAP_SINCE, decide, nodes_to_find, rejected_by
from .model import ClusterState, PodShape, SchedulerProfile

#: Amounts are doubles on the fast paths. Up to here a hundred times an amount is exact, and no quotient that is
#: rounded down can reach the next whole number by the rounding of the division.
LARGEST_AMOUNT = 2**45
#: Machine code keeps every total twice, in 2 or 4 bytes each, and the matrix once: beyond this many, the matrix.
MOST_TOTALS = 2**26
#: Equal totals of which each is looked up in the feasible nodes faster than these are numbered.
FEW = 128
#: Machine code keeps totals in 32 bits at most.
LARGEST_TOTAL = 2**31 - 1


class Simulator(Protocol):
    """Cycles of pods of known shapes on one cluster. Shapes and nodes are indexes.

    What takes many pods at once does the same as one call a pod, in the order given; it is there for speed.
    """

    def top(self, shape: int) -> tuple[int, ...]:
        """The nodes of the highest total, empty if none is feasible; nothing is placed."""
        ...

    def feasible(self, shape: int) -> Ints:
        """The nodes that are feasible now, in order; nothing is placed."""
        ...

    def place(self, shape: int) -> int | None:
        """Run one cycle and bind the pod; None if no node is feasible."""
        ...

    def bind(self, shape: int, node: int) -> None:
        """Put a pod on a node without asking."""
        ...

    def release(self, shape: int, node: int) -> None:
        """Take a pod of this shape away from a node."""
        ...

    def place_all(self, shapes: Indexes) -> Ints:
        """Place pods one after the other: the node of each, -1 where none was feasible."""
        ...

    def bind_all(self, shapes: Indexes, nodes: Indexes) -> None:
        """Put each pod on its node without asking; pods with node -1 are skipped."""
        ...

    def release_all(self, shapes: Indexes, nodes: Indexes) -> None:
        """Take each pod away from its node; pods with node -1 are skipped."""
        ...

    def play(self, shapes: Indexes, events: Indexes) -> Ints:
        """Place pods as they come and go: the node of each pod, -1 where none was feasible or it did not come.

        `shapes` has one entry a pod, `events` what happens, in order: p says that pod p comes, ~p (which is
        -p - 1) that it leaves. Who found no node leaves nothing behind.
        """
        ...

    def copy(self) -> Self:
        """The same state, to go on by itself; the source of chance is shared."""
        ...

    def reset(self) -> None:
        """Back to the cluster that the run started from; the source of chance goes on."""
        ...


def simulator(
    cluster: ClusterState | ClusterArrays,
    profile: SchedulerProfile,
    shapes: Sequence[PodShape],
    chance: random.Random | None = None,
) -> Simulator:
    """The fastest exact simulator; it starts from `cluster` and leaves it as it is.

    `chance` settles equal totals in minors before 1.35; without it the first of the nodes is taken. Arrays of a
    cluster are for many runs; the cluster must not change from when they are made to the last of them.
    """
    arrays = ClusterArrays(cluster) if isinstance(cluster, ClusterState) else cluster
    if needs_reference(arrays, profile, shapes):
        return ReferenceSimulator(arrays.cluster, profile, shapes, chance)
    tables = Tables(arrays, profile, shapes)
    if tables.largest_total <= LARGEST_TOTAL and len(shapes) * len(arrays.nodes) <= MOST_TOTALS:
        try:
            from .compiled import CompiledSimulator
        except ImportError:
            pass
        else:
            return CompiledSimulator(tables, chance)
    return MatrixSimulator(tables, chance)


def needs_reference(
    cluster: ClusterState | ClusterArrays, profile: SchedulerProfile, shapes: Sequence[PodShape]
) -> str | None:
    """Why the fast paths do not fit, None if they do."""
    count = len(cluster.nodes)
    if not profile.weights:
        return "no scores"
    if nodes_to_find(count, profile.percentage) < count:
        return "a sample of the nodes"
    arrays = ClusterArrays(cluster) if isinstance(cluster, ClusterState) else cluster
    requests = max((amount for pod in shapes for amount in pod.requests.values()), default=0)
    if max(requests, arrays.largest) > LARGEST_AMOUNT:
        return "an amount beyond 2^45"
    if arrays.has_pod_terms or any(pod.has_pod_terms for pod in shapes):
        return "affinity between pods"
    if any(pod.spread or (pod.owner_selector and profile.default_spread) for pod in shapes):
        spreads = profile.weights.get("PodTopologySpread") or "PodTopologySpread" in profile.filters
        return "topology spread" if spreads else None
    return None


class _OneByOne:
    """What takes many pods at once, pod by pod."""

    def place(self, shape: int) -> int | None:
        """See Simulator."""
        raise NotImplementedError

    def bind(self, shape: int, node: int) -> None:
        """See Simulator."""
        raise NotImplementedError

    def release(self, shape: int, node: int) -> None:
        """See Simulator."""
        raise NotImplementedError

    def place_all(self, shapes: Indexes) -> Ints:
        """See Simulator."""
        place = self.place
        found = [place(shape) for shape in _listed(shapes)]
        return np.array([-1 if node is None else node for node in found], np.int64)

    def bind_all(self, shapes: Indexes, nodes: Indexes) -> None:
        """See Simulator."""
        for shape, node in zip(_listed(shapes), _listed(nodes), strict=True):
            if node >= 0:
                self.bind(shape, node)

    def release_all(self, shapes: Indexes, nodes: Indexes) -> None:
        """See Simulator."""
        for shape, node in zip(_listed(shapes), _listed(nodes), strict=True):
            if node >= 0:
                self.release(shape, node)

    def play(self, shapes: Indexes, events: Indexes) -> Ints:
        """See Simulator."""
        pods, place, release = _listed(shapes), self.place, self.release
        found: list[int | None] = [None] * len(pods)
        for event in _listed(events):
            if event >= 0:
                found[event] = place(pods[event])
            elif (node := found[~event]) is not None:
                release(pods[~event], node)
        return np.array([-1 if node is None else node for node in found], np.int64)


def _listed(values: Indexes) -> Sequence[int]:
    # numpy's own integers are slow in plain Python
    return values.tolist() if isinstance(values, np.ndarray) else values


class ReferenceSimulator(_OneByOne):
    """Every cycle in plain Python."""

    def __init__(
        self,
        cluster: ClusterState,
        profile: SchedulerProfile,
        shapes: Sequence[PodShape],
        chance: random.Random | None = None,
    ) -> None:
        self._origin = cluster
        self.cluster = cluster.copy()
        self.profile = profile
        self.shapes = tuple(shapes)
        self.chance = chance
        self.start = 0

    def top(self, shape: int) -> tuple[int, ...]:
        """See Simulator."""
        return decide(self.cluster, self.shapes[shape], self.profile, self.start).top

    def feasible(self, shape: int) -> Ints:
        """See Simulator."""
        rejected = rejected_by(self.cluster, self.shapes[shape], self.profile)
        return np.array([node for node, plugin in enumerate(rejected) if plugin is None], np.int64)

    def place(self, shape: int) -> int | None:
        """See Simulator."""
        decision = decide(self.cluster, self.shapes[shape], self.profile, self.start, self.chance)
        self.start = decision.next_start
        node = decision.top[0] if decision.node is None and decision.top else decision.node
        if node is not None:
            self.bind(shape, node)
        return node

    def bind(self, shape: int, node: int) -> None:
        """See Simulator."""
        self.cluster.bind(self.shapes[shape], node)

    def release(self, shape: int, node: int) -> None:
        """See Simulator."""
        self.cluster.release(self.shapes[shape], node)

    def copy(self) -> Self:
        """See Simulator."""
        other = copy.copy(self)
        other.cluster = self.cluster.copy()
        return other

    def reset(self) -> None:
        """See Simulator."""
        self.cluster = self._origin.copy()
        self.start = 0


class MatrixSimulator(_OneByOne):
    """A matrix of totals, shapes by nodes; negative where a node is not feasible.

    `tables` belong to a case that the fast paths take.
    """

    def __init__(self, tables: Tables, chance: random.Random | None = None) -> None:
        self._tables = tables
        self._by_heap = tables.minor >= HEAP_SINCE
        self._chance = None if self._by_heap else chance
        self._rank = preorder_ranks(len(tables.start)) if self._by_heap else None
        self._class_of = tables.classes.tolist()
        self.reset()

    def reset(self) -> None:
        """See Simulator."""
        tables = self._tables
        self._columns = Columns(tables)
        first = np.unique(tables.alike, return_index=True)[1]
        looks = np.empty((len(tables.changes), len(first)), self._columns.narrow)
        for look, node in enumerate(first.tolist()):
            looks[:, look] = self._columns.of(node)
        self._keep(looks.take(tables.alike, axis=1))
        if not tables.any_bonus:
            return
        classes = len(tables.base)
        members = [np.bincount(tables.classes[row >= 0], minlength=classes) for row in self._totals]
        self._members = np.array(members, np.int64).reshape(len(members), classes)
        self._bonus = np.zeros_like(self._members)
        for shape in range(len(members)):
            self._renew_bonus(shape)

    def copy(self) -> Self:
        """See Simulator."""
        other = copy.copy(self)
        other._columns = self._columns.copy()
        other._keep(self._totals.copy())
        if self._tables.any_bonus:
            other._members, other._bonus = self._members.copy(), self._bonus.copy()
        return other

    def _keep(self, totals: Totals) -> None:
        self._totals = totals
        self._by_shape, self._by_node = list(totals), list(totals.T)

    def top(self, shape: int) -> tuple[int, ...]:
        """See Simulator."""
        totals = self._by_shape[shape]
        highest = totals.max(initial=-1)
        return tuple(np.flatnonzero(totals == highest).tolist()) if highest >= 0 else ()

    def feasible(self, shape: int) -> Ints:
        """See Simulator."""
        return np.flatnonzero(self._by_shape[shape] >= 0)

    def place(self, shape: int) -> int | None:
        """See Simulator."""
        node = self._choose(self._by_shape[shape])
        if node is not None:
            self._renew(node, self._columns.add(shape, node))
        return node

    def bind(self, shape: int, node: int) -> None:
        """See Simulator."""
        self._renew(node, self._columns.add(shape, node))

    def release(self, shape: int, node: int) -> None:
        """See Simulator."""
        self._renew(node, self._columns.remove(shape, node))

    def _choose(self, totals: Totals) -> int | None:
        if not len(totals):
            return None
        first = int(totals.argmax())
        highest = totals.item(first)
        if highest < 0:
            return None
        if self._rank is None:
            if not self._chance:
                return first
            equal = (totals == highest).nonzero()[0]
            return first if len(equal) == 1 else int(self._chance.choice(equal))
        if first == 0:
            return first
        equal = (totals == highest).nonzero()[0]
        if len(equal) == 1:
            return first
        # the position of a node among the feasible ones is its place in the heap
        feasible = totals >= 0
        if len(equal) < FEW:
            positions = feasible.nonzero()[0].searchsorted(equal)
        else:
            positions = feasible.cumsum()[equal] - 1
        winner: int = equal.item(self._rank.take(positions).argmin())
        return winner

    def _renew(self, node: int, column: Totals) -> None:
        if self._tables.any_bonus:
            kind = self._class_of[node]
            changed = (column >= 0) != (self._by_node[node] >= 0)
            if changed.any():
                self._recount(changed.nonzero()[0].tolist(), node, kind, column)
            column = column + self._bonus[:, kind]
        self._by_node[node][:] = column

    def _recount(self, shapes: list[int], node: int, kind: int, column: Totals) -> None:
        for shape in shapes:
            joins = column[shape] >= 0
            self._members[shape, kind] += 1 if joins else -1
            # only the first node of a class and the last one can move a maximum
            if self._members[shape, kind] == (1 if joins else 0):
                self._renew_bonus(shape)

    def _renew_bonus(self, shape: int) -> None:
        tables, before = self._tables, self._bonus[shape]
        weights = (tables.taint_weight, tables.affinity_weight)
        feasible = self._members[shape] > 0
        after = bonus(tables.taints[:, shape], tables.affinity[:, shape], weights, feasible)
        if (after != before).any():
            self._totals[shape] += (after - before)[tables.classes].astype(self._totals.dtype)
            self._bonus[shape] = after
