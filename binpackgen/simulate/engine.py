"""Many scheduling cycles in a row: a fast exact path with numpy, and the reference where it does not fit.

    run = simulator(state, profile, shapes)
    node = run.place(3)                      a pod of shapes[3]: where it went, None if nowhere
    run.release(3, node)

The fast path rests on two facts: a node's score depends on its own state and the pod's shape alone, and a
placement changes one node. So it keeps the totals of every shape on every node and renews one column a
placement. What depends on labels, taints and images is constant per class of node; what is normalized over the
feasible nodes changes only where a class begins or ceases to be feasible for a shape. Spreading and affinity
between pods break the first fact, and a sample of the nodes needs the order of the search: these take the
reference path.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..scheduler.arithmetic import MAX_NODE_SCORE
from .columns import Columns, Floats, Ints
from .cycle import HEAP_SINCE, decide, nodes_to_find
from .filters import CORDON, accepts_node, tolerates_node
from .matching import tolerated
from .model import ClusterState, Node, PodShape, SchedulerProfile
from .scores import image_score, preferred_weight, ratio, reversed_ratio, untolerated_preferences

#: Amounts are doubles on the fast path. Up to here a hundred times an amount is exact, and no quotient that is
#: rounded down can reach the next whole number by the rounding of the division.
LARGEST_AMOUNT = 2**45


class Simulator(Protocol):
    """Cycles of pods of known shapes on one cluster. Shapes and nodes are indexes."""

    def top(self, shape: int) -> tuple[int, ...]:
        """The nodes of the highest total, empty if none is feasible; nothing is placed."""
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


def simulator(
    cluster: ClusterState,
    profile: SchedulerProfile,
    shapes: Sequence[PodShape],
    chance: random.Random | None = None,
) -> Simulator:
    """The fastest exact simulator; it starts from `cluster` and leaves it as it is.

    `chance` settles equal totals in minors before 1.35; without it the first of the nodes is taken.
    """
    if needs_reference(cluster, profile, shapes):
        return ReferenceSimulator(cluster, profile, shapes, chance)
    return MatrixSimulator(cluster, profile, shapes, chance)


def needs_reference(
    cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]
) -> str | None:
    """Why the fast path does not fit, None if it does."""
    count = len(cluster.nodes)
    if not profile.weights:
        return "no scores"
    if nodes_to_find(count, profile.percentage) < count:
        return "a sample of the nodes"
    placed = [pod for pods in cluster.pods for pod in pods]
    amounts = [*(node.allocatable for node in cluster.nodes), *(pod.requests for pod in (*shapes, *placed))]
    if any(amount > LARGEST_AMOUNT for resources in amounts for amount in resources.values()):
        return "an amount beyond 2^45"
    if any(pod.has_pod_terms for pod in (*shapes, *placed)):
        return "affinity between pods"
    if any(pod.spread or (pod.owner_selector and profile.default_spread) for pod in shapes):
        spreads = profile.weights.get("PodTopologySpread") or "PodTopologySpread" in profile.filters
        return "topology spread" if spreads else None
    return None


class ReferenceSimulator:
    """Every cycle in plain Python."""

    def __init__(
        self,
        cluster: ClusterState,
        profile: SchedulerProfile,
        shapes: Sequence[PodShape],
        chance: random.Random | None = None,
    ) -> None:
        self.cluster = cluster.copy()
        self.profile = profile
        self.shapes = tuple(shapes)
        self.chance = chance
        self.start = 0

    def top(self, shape: int) -> tuple[int, ...]:
        """See Simulator."""
        return decide(self.cluster, self.shapes[shape], self.profile, self.start).top

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


class MatrixSimulator:
    """A matrix of totals, shapes by nodes; -1 stands for a node that is not feasible."""

    def __init__(
        self,
        cluster: ClusterState,
        profile: SchedulerProfile,
        shapes: Sequence[PodShape],
        chance: random.Random | None = None,
    ) -> None:
        reason = needs_reference(cluster, profile, shapes)
        if reason:
            raise ValueError(f"the fast path does not fit: {reason}")
        self.profile = profile
        self.shapes = tuple(shapes)
        self.chance = chance
        classes = _Classes(cluster, profile, self.shapes)
        self._classes = classes
        self._columns = Columns(cluster, profile, self.shapes, classes.of, classes.base)
        self._rank = _preorder_ranks(len(cluster.nodes))
        largest = MAX_NODE_SCORE * sum(profile.weights.values())
        size = (len(self.shapes), len(cluster.nodes))
        # the narrowest type that holds every total: the search goes through all nodes of a shape
        self._totals = np.full(size, -1, np.min_scalar_type(-largest - 1))
        for node in range(len(cluster.nodes)):
            self._totals[:, node] = self._columns.of(node)
        self._feasible = classes.count_feasible(self._totals >= 0)
        self._bonus = np.zeros_like(self._feasible)
        if classes.any_bonus:
            for shape in range(len(self.shapes)):
                self._renew_bonus(shape)

    def top(self, shape: int) -> tuple[int, ...]:
        """See Simulator."""
        totals = self._totals[shape]
        highest = totals.max(initial=-1)
        return tuple(np.flatnonzero(totals == highest).tolist()) if highest >= 0 else ()

    def place(self, shape: int) -> int | None:
        """See Simulator."""
        node = self._choose(shape)
        if node is not None:
            self.bind(shape, node)
        return node

    def bind(self, shape: int, node: int) -> None:
        """See Simulator."""
        self._columns.add(shape, node)
        self._renew(node)

    def release(self, shape: int, node: int) -> None:
        """See Simulator."""
        self._columns.remove(shape, node)
        self._renew(node)

    def _choose(self, shape: int) -> int | None:
        totals = self._totals[shape]
        if not len(totals):
            return None
        first = int(totals.argmax())
        highest = totals.item(first)
        if highest < 0:
            return None
        by_heap = self.profile.minor >= HEAP_SINCE
        if (first == 0 and by_heap) or not (by_heap or self.chance):
            return first
        equal = (totals == highest).nonzero()[0]
        if len(equal) == 1:
            return first
        if not by_heap and self.chance:
            drawn: int = self.chance.choice(equal.tolist())
            return drawn
        positions = (totals >= 0).nonzero()[0].searchsorted(equal)
        return int(equal[self._rank[positions].argmin()])

    def _renew(self, node: int) -> None:
        column = self._columns.of(node)
        if self._classes.any_bonus:
            kind = self._classes.of[node]
            changed = (column >= 0) != (self._totals[:, node] >= 0)
            if changed.any():
                self._recount(changed.nonzero()[0].tolist(), node, kind, column)
            column = np.where(column >= 0, column + self._bonus[:, kind], -1)
        self._totals[:, node] = column

    def _recount(self, shapes: list[int], node: int, kind: int, column: Floats) -> None:
        for shape in shapes:
            joins = column[shape] >= 0
            self._feasible[shape, kind] += 1 if joins else -1
            # only the first node of a class and the last one can move a maximum
            if self._feasible[shape, kind] == (1 if joins else 0):
                self._totals[shape, node] = -1
                self._renew_bonus(shape)

    def _renew_bonus(self, shape: int) -> None:
        before, totals = self._bonus[shape], self._totals[shape]
        bonus = self._classes.bonus(shape, self._feasible[shape] > 0)
        if (bonus != before).any():
            totals[:] = np.where(totals >= 0, totals + (bonus - before)[self._classes.of], -1)
            self._bonus[shape] = bonus


class _Classes:
    """Nodes that look the same to every shape but for what runs on them: `of` each node, an index."""

    def __init__(self, cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        keys = frozenset(_label_keys(profile, shapes))
        known: dict[object, int] = {}
        members: list[Node] = []
        of = []
        for node in cluster.nodes:
            labels = frozenset((key, value) for key, value in node.labels.items() if key in keys)
            look = (labels, node.taints, frozenset(node.images.items()), node.unschedulable)
            of.append(known.setdefault(look, len(known)))
            if len(known) > len(members):
                members.append(node)
        self.of = np.array(of, np.int64)
        self._members = members
        allowed = self._matrix(shapes, lambda pod, node: int(_is_allowed(pod, node, profile)))
        images = self._matrix(shapes, lambda pod, node: image_score(pod, node, cluster))
        #: By class and shape: what neither placements nor other nodes change; -1 where the node is forbidden.
        self.base = np.where(allowed > 0, images * profile.weights.get("ImageLocality", 0), -1).T
        self._taints = self._matrix(shapes, untolerated_preferences)
        self._affinity = self._matrix(shapes, lambda pod, node: preferred_weight(pod, node, profile))
        self._weights = (profile.weights.get("TaintToleration", 0), profile.weights.get("NodeAffinity", 0))
        #: Whether the normalized plugins can tell feasible nodes apart at all.
        self.any_bonus = bool(self._taints.any() or self._affinity.any())

    def _matrix(self, shapes: Sequence[PodShape], value: Callable[[PodShape, Node], int]) -> Ints:
        rows = [[value(pod, node) for node in self._members] for pod in shapes]
        return np.array(rows, np.int64).reshape(len(shapes), len(self._members))

    def count_feasible(self, feasible: NDArray[np.bool_]) -> Ints:
        """Feasible nodes of each class, by shape."""
        counts = [np.bincount(self.of[row], minlength=len(self._members)) for row in feasible]
        return np.array(counts, np.int64).reshape(len(counts), len(self._members))

    def bonus(self, shape: int, feasible: NDArray[np.bool_]) -> Ints:
        """Weighted normalized scores of the classes with a feasible node; 0 for the others."""
        bonus = np.zeros(len(self._members), np.int64)
        some = feasible.nonzero()[0]
        taints = reversed_ratio(self._taints[shape, some].tolist())
        affinity = ratio(self._affinity[shape, some].tolist())
        bonus[some] = self._weights[0] * np.array(taints, np.int64) + self._weights[1] * np.array(
            affinity, np.int64
        )
        return bonus


def _label_keys(profile: SchedulerProfile, shapes: Sequence[PodShape]) -> Iterator[str]:
    for pod in shapes:
        selectors = (
            pod.node_selector,
            *(pod.required_nodes or ()),
            *(profile.added_nodes or ()),
            *(term.selector for term in (*pod.preferred_nodes, *profile.added_preferences)),
        )
        for selector in selectors:
            yield from (requirement.key for requirement in selector)


def _is_allowed(pod: PodShape, node: Node, profile: SchedulerProfile) -> bool:
    """The filters that look at labels and taints."""
    filters = profile.filters
    if "NodeUnschedulable" in filters and node.unschedulable and not tolerated(CORDON, pod.tolerations):
        return False
    if "TaintToleration" in filters and not tolerates_node(pod, node):
        return False
    return "NodeAffinity" not in filters or accepts_node(pod, node, profile)


def _preorder_ranks(count: int) -> Ints:
    """Rank in pre-order of each position of a binary heap; of equal totals the first in pre-order wins.

    A parent gives way only to a greater child, and the right child only counts if it is greater than the left.
    """
    deepest = count.bit_length()
    keys = []
    for position in range(1, count + 1):
        depth = position.bit_length()
        # the path from the root, left-justified; a parent comes before its leftmost descendants
        keys.append((position << (deepest - depth), depth))
    ranks = np.empty(count, np.int64)
    ranks[sorted(range(count), key=keys.__getitem__)] = np.arange(count)
    return ranks
