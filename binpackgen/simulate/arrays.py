"""A cluster, a profile and pod shapes as arrays: what the two fast paths of the engine calculate with.

    arrays = ClusterArrays(state)              once a cluster
    tables = Tables(arrays, profile, shapes)   once a profile; cheap, so that many profiles can be tried

Amounts are doubles, which hold all integers that occur (see engine.LARGEST_AMOUNT).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..scheduler.arithmetic import MAX_NODE_SCORE, shape_score
from .filters import is_ignored, is_open
from .matching import Selector
from .model import (
    DEFAULT_REQUESTS,
    Amounts,
    ClusterState,
    Node,
    PodShape,
    SchedulerProfile,
    is_counted,
    is_scalar,
)
from .scores import image_score, preferred_weight, untolerated_preferences

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: Indexes that a caller gives: a list or an array.
Indexes = Sequence[int] | Ints


class ClusterArrays:
    """The nodes of a cluster and what runs on them now, resource by resource.

    `models` numbers what nodes have, `alike` what they have and what is in use on them: nodes with the same
    number are equal in it.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster
        self.nodes = cluster.nodes
        self.allocatable = _by_resource([node.allocatable for node in self.nodes])
        self.requested = _by_resource(cluster.requested)
        self.scoring = _by_resource(cluster.scoring)
        self.pods: Floats = np.array([len(pods) for pods in cluster.pods], np.float64)
        placed = {id(pod): pod for pods in cluster.pods for pod in pods}.values()
        amounts = [amount for pod in placed for amount in pod.requests.values()]
        amounts += [int(row.max(initial=0)) for row in self.allocatable.values()]
        #: The largest amount of a node or of a pod that runs.
        self.largest = max(amounts, default=0)
        #: Whether a pod that runs has terms on other pods.
        self.has_pod_terms = any(pod.has_pod_terms for pod in placed)
        self.models = _numbered(self.table(self.allocatable, sorted(self.allocatable)))
        use = [
            self.table(amounts, sorted(amounts))
            for amounts in (self.allocatable, self.requested, self.scoring)
        ]
        self.alike = _numbered(np.concatenate([*use, self.pods[:, None]], axis=1))
        self._classes: dict[frozenset[str], tuple[Ints, list[Node]]] = {}

    def table(self, amounts: Mapping[str, Floats], names: Sequence[str]) -> Floats:
        """The columns `names` of amounts by node."""
        table = np.zeros((len(self.nodes), len(names)))
        for column, name in enumerate(names):
            if name in amounts:
                table[:, column] = amounts[name]
        return table

    def classes(self, keys: frozenset[str]) -> tuple[Ints, list[Node]]:
        """The class of each node, and a node of each: nodes that look the same where only these labels count."""
        if keys not in self._classes:
            self._classes[keys] = self._divide(sorted(keys))
        return self._classes[keys]

    def _divide(self, keys: list[str]) -> tuple[Ints, list[Node]]:
        known: dict[Hashable, int] = {}
        members: list[Node] = []
        of = []
        for node in self.nodes:
            labels = tuple([node.labels.get(key) for key in keys])
            images = frozenset(node.images.items()) if node.images else None
            of.append(known.setdefault((labels, node.taints, images, node.unschedulable), len(known)))
            if len(known) > len(members):
                members.append(node)
        return np.array(of, np.int64), members


class Tables:
    """The numbers that totals depend on, by node, class of nodes, pod shape and resource.

    What is kept of a node is one row of `start`, and a pod of shape s on it adds `changes[s]`. A row consists of
    `room` (free amounts of the filtered resources, and of pods), `fit` (100 times the used amounts of the
    resources that NodeResourcesFit scores) and `balance` (used amounts of the resources that are balanced).
    """

    def __init__(self, arrays: ClusterArrays, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        self.minor = profile.minor
        self._read_labels(arrays, profile, shapes)
        self._read_amounts(arrays, profile, shapes)

    def _read_labels(
        self, arrays: ClusterArrays, profile: SchedulerProfile, shapes: Sequence[PodShape]
    ) -> None:
        self.classes, members = arrays.classes(_label_keys(profile, shapes))
        allowed = _by_class(
            shapes,
            members,
            lambda pod: (pod.node_selector, pod.required_nodes, pod.tolerations),
            lambda pod, node: int(is_open(pod, node, profile)),
        )
        images = _by_class(
            shapes,
            members,
            lambda pod: (pod.images,),
            lambda pod, node: image_score(pod, node, arrays.cluster),
        )
        #: By class and shape: what neither placements nor other nodes change; -1 where the node is forbidden.
        self.base = np.where(allowed > 0, images * profile.weights.get("ImageLocality", 0), -1)
        #: By class and shape: PreferNoSchedule taints, and weights of preferred terms.
        self.taints = _by_class(shapes, members, lambda pod: (pod.tolerations,), untolerated_preferences)
        self.affinity = _by_class(
            shapes,
            members,
            lambda pod: (pod.preferred_nodes,),
            lambda pod, node: preferred_weight(pod, node, profile),
        )
        self.taint_weight = profile.weights.get("TaintToleration", 0)
        self.affinity_weight = profile.weights.get("NodeAffinity", 0)
        #: Whether the normalized plugins can tell feasible nodes apart at all.
        self.any_bonus = bool(self.taint_weight and self.taints.any()) or bool(
            self.affinity_weight and self.affinity.any()
        )

    def _read_amounts(
        self, arrays: ClusterArrays, profile: SchedulerProfile, shapes: Sequence[PodShape]
    ) -> None:
        self.strategy = profile.strategy
        self.fit_weight = profile.weights.get("NodeResourcesFit", 0)
        self.balance_weight = profile.weights.get("NodeResourcesBalancedAllocation", 0)
        #: Since 1.36 the balance is that of the change which the pod makes.
        self.balance_is_gain = profile.minor >= 36
        fit = [(name, weight) for name, weight in profile.resources if self.fit_weight and is_counted(name)]
        balanced = [name for name in profile.balanced_resources if self.balance_weight and is_counted(name)]
        scored = [name for name, _ in fit]
        requested = {name for pod in shapes for name, amount in pod.requests.items() if amount > 0}
        filtered = sorted(name for name in requested if not is_ignored(name, profile))
        self.room = slice(0, len(filtered) + 1)
        self.fit = slice(self.room.stop, self.room.stop + len(fit))
        self.balance = slice(self.fit.stop, self.fit.stop + len(balanced))

        wanted = _wanted(shapes, filtered, scoring=False)
        room = np.append(wanted, np.ones((len(shapes), 1)), axis=1)
        for_fit = _wanted(shapes, scored, scoring=True)
        for_balance = _wanted(shapes, balanced, scoring=False)
        self.changes = np.concatenate([-room, MAX_NODE_SCORE * for_fit, for_balance], axis=1)
        #: What must be free for a pod; what it does not request is not looked at, however little is left.
        self.needs = np.where(room > 0, room, -np.inf)
        if "NodeResourcesFit" not in profile.filters:
            self.needs[:] = -np.inf

        free = arrays.table(arrays.allocatable, [*filtered, "pods"])
        free -= np.append(arrays.table(arrays.requested, filtered), arrays.pods[:, None], axis=1)
        # what scores count as used of cpu and memory has the defaults of containers without requests in it
        used = {**arrays.requested, **arrays.scoring}
        for_score = MAX_NODE_SCORE * arrays.table(used, scored)
        balanced_use = arrays.table(arrays.requested, balanced)
        self.start = np.concatenate([free, for_score, balanced_use], axis=1)

        names = [*scored, *balanced]
        capacity = arrays.table(arrays.allocatable, names)
        #: By node and scored or balanced resource; 1 where the node has none.
        self.capacity = np.maximum(capacity, 1.0)
        #: Which of them nodes have: the pattern of each node, an index.
        bits = (capacity > 0) @ (1 << np.arange(len(names)))
        _, first, self.patterns = np.unique(bits, return_index=True, return_inverse=True)
        # a resource counts where the node has it and, if it is a scalar one, where the pod requests it
        scalar = np.array([is_scalar(name) for name in names], bool)
        asked = (np.append(for_fit, for_balance, axis=1) > 0) | ~scalar
        counts = (capacity[first] > 0)[:, None, :] & asked
        weights = np.array([weight for _, weight in fit], np.float64)
        #: By pattern, shape and resource: the weight in NodeResourcesFit, 0 where it does not count.
        self.fit_weights: Floats = np.ascontiguousarray(counts[:, :, : len(fit)] * weights)
        #: By pattern, shape and resource: whether it counts in the balance.
        self.balanced: Bools = np.ascontiguousarray(counts[:, :, len(fit) :])
        needed = np.array([name in filtered for name in names], bool) & (
            "NodeResourcesFit" in profile.filters
        )
        requests = _wanted(shapes, names, scoring=False)
        plain = needed & (requests > 0) & (requests == np.append(for_fit, for_balance, axis=1))
        #: Whether a pod only fits where no resource that counts is used beyond the capacity, as scores see it too.
        self.is_bounded = bool((plain | ~counts.any(axis=0)).all()) and np.array_equal(
            for_score, MAX_NODE_SCORE * arrays.table(arrays.requested, scored)
        )
        scores_all = profile.minor < 33
        #: By shape: the weight of the balance, 0 for pods that request nothing of it.
        self.balance_weights = np.where((for_balance > 0).any(axis=1) | scores_all, self.balance_weight, 0)
        curve = [shape_score(profile.shape, u) if profile.shape else 0 for u in range(MAX_NODE_SCORE + 1)]
        #: The score of each use in percent.
        self.curve: Floats = np.array(curve, np.float64)
        #: Nodes with the same number are equal for all shapes at the start, or with the same pods on them.
        self.alike = _paired(arrays.alike, self.classes)
        self.models = _paired(arrays.models, self.classes)

    @property
    def largest_total(self) -> int:
        """No total is greater."""
        scores = (self.fit_weight, self.balance_weight, self.taint_weight, self.affinity_weight)
        return int(self.base.max(initial=0)) + MAX_NODE_SCORE * sum(scores)


def bonus(taints: Ints, affinity: Ints, weights: tuple[int, int], feasible: Bools) -> Ints:
    """Weighted scores of TaintToleration and NodeAffinity by class, normalized over the feasible classes.

    What comes out for a class that is not feasible means nothing, but is no more than a feasible one can have.
    """
    total = np.full(len(taints), weights[0] * MAX_NODE_SCORE, np.int64)
    for raw, weight, sign in ((taints, weights[0], -1), (affinity, weights[1], 1)):
        highest = int(raw[feasible].max(initial=0))
        if highest:
            total += sign * weight * (MAX_NODE_SCORE * np.minimum(raw, highest) // highest)
    return total


def preorder_ranks(count: int) -> Ints:
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


def _by_resource(rows: Sequence[Amounts]) -> dict[str, Floats]:
    names = sorted({name for row in rows for name in row})
    return {name: np.array([row.get(name, 0) for row in rows], np.float64) for name in names}


def _numbered(rows: Floats) -> Ints:
    """Equal rows get equal numbers."""
    known: dict[bytes, int] = {}
    numbers = [known.setdefault(row.tobytes(), len(known)) for row in np.ascontiguousarray(rows)]
    return np.array(numbers, np.int64)


def _paired(first: Ints, second: Ints) -> Ints:
    """Numbers 0, 1, … for the pairs that occur."""
    pairs = first * (int(second.max(initial=0)) + 1) + second
    numbers: Ints = np.unique(pairs, return_inverse=True)[1]
    return numbers


def _wanted(shapes: Sequence[PodShape], names: Sequence[str], *, scoring: bool) -> Floats:
    """Requests by shape and resource, with the defaults of containers without requests if for `scoring`."""
    table = np.empty((len(shapes), len(names)))
    for column, name in enumerate(names):
        if scoring and name in DEFAULT_REQUESTS:
            table[:, column] = [pod.scoring_requests.get(name, 0) for pod in shapes]
        else:
            table[:, column] = [pod.requests.get(name, 0) for pod in shapes]
    return table


def _by_class(
    shapes: Sequence[PodShape],
    members: Sequence[Node],
    parts: Callable[[PodShape], tuple[object, ...]],
    value: Callable[[PodShape, Node], int],
) -> Ints:
    """`value` by class and shape; it depends on these `parts` of a shape alone, which many shapes share."""
    known: dict[Hashable, list[int]] = {}
    same: dict[Hashable, list[int]] = {}
    columns = []
    for pod in shapes:
        read = parts(pod)
        # to hash a long list of terms takes longer than to see that it is the very same
        identity = tuple(map(id, read))
        column = same.get(identity)
        if column is None:
            column = known.get(read)
            if column is None:
                column = known[read] = [value(pod, node) for node in members]
            same[identity] = column
        columns.append(column)
    return np.array(columns, np.int64).reshape(len(shapes), len(members)).T.copy()


def _label_keys(profile: SchedulerProfile, shapes: Sequence[PodShape]) -> frozenset[str]:
    selectors: dict[int, Sequence[Selector]] = {}
    for pod in shapes:
        selectors[id(pod.node_selector)] = (pod.node_selector,)
        selectors[id(pod.required_nodes)] = pod.required_nodes or ()
        if id(pod.preferred_nodes) not in selectors:
            selectors[id(pod.preferred_nodes)] = [term.selector for term in pod.preferred_nodes]
    added = (*(profile.added_nodes or ()), *(term.selector for term in profile.added_preferences))
    every = (*added, *(selector for several in selectors.values() for selector in several))
    return frozenset(requirement.key for selector in every for requirement in selector)
