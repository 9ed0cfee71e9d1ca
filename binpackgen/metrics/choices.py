"""What choice the scheduler had for a pod: the nodes that could take it, and how each packs.

A node's answer depends on its own state and on what the pod asks for alone, a placement changes one node, and
nodes come by the same states again and again. So each kind of pod keeps one byte a node (its NodeResourcesFit
score, or that it is not feasible) and a count of nodes by score, and looks only at what changed since its last
turn. Affinity between pods, hard topology spread and room kept for nominated pods are looked at node by node,
where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from ..plan.model import Cap
from ..scheduler.arithmetic import (
    MAX_NODE_SCORE,
    least_allocated_share,
    most_allocated_share,
    ratio_share,
    weighted_floor,
    weighted_half_up,
)
from ..simulate.filters import (
    CORDON,
    FILTERS,
    Passes,
    accepts_node,
    is_ignored,
    spread_constraints,
    tolerates_node,
)
from ..simulate.matching import tolerated
from ..simulate.model import HOSTNAME, ClusterState, Node, PodShape, SchedulerProfile, is_counted, is_scalar
from .nodes import PODS, SCORED, Kind, KnownNode, Nodes

#: The byte of a node that the pod can't go to.
INFEASIBLE = 255

#: Kinds of pods, and states of nodes for each, that are remembered; beyond, the memory starts anew.
KNOWN_TABLES = 1024
KNOWN_STATES = 65536

#: The filters that look at other pods.
_BETWEEN_PODS = ("PodTopologySpread", "InterPodAffinity")

Vector = list[int]


class Choice(NamedTuple):
    """The packing scores of a placement's nodes.

    `score` is the chosen node's, `best` and `worst` are those of all `feasible` nodes, the chosen one among them.
    """

    feasible: int
    score: int
    best: int
    worst: int


class Demand:
    """What a node must have for pods of one kind, and how it would score with one."""

    def __init__(self, shape: PodShape, profile: SchedulerProfile, cap: Cap | None, nodes: Nodes) -> None:
        self._shape = shape
        self._profile = profile
        wanted = {resource: amount for resource, amount in shape.requests.items() if amount > 0}
        self._wants = [(PODS, 1)]
        self._wants += [(nodes.place(name), n) for name, n in wanted.items() if not is_ignored(name, profile)]
        if "NodeResourcesFit" not in profile.filters:
            self._wants = []
        self._keeps: list[tuple[int, int, int]] = []
        self._devices: dict[str, int] = {}
        self._exempt = False
        if cap is not None:
            limits = {"cpu": cap.cpu, "memory": cap.memory}
            self._keeps = [
                (nodes.place(name), wanted.get(name, 0), least) for name, least in limits.items() if least
            ]
            self._exempt = cap.exempt_whole_node
            self._devices = {name: amount for name, amount in wanted.items() if is_extended(name)}
        self._scored: list[tuple[int, int, int]] = []
        for resource, weight in profile.resources:
            place = SCORED.get(resource)
            asked = (
                shape.requests.get(resource, 0) if place is None else shape.scoring_requests.get(resource, 0)
            )
            if is_counted(resource) and not (asked == 0 and is_scalar(resource)):
                self._scored.append((nodes.place(resource) if place is None else place, asked, weight))
        self._share = _share(profile)
        self._average = weighted_half_up if profile.strategy == "RequestedToCapacityRatio" else weighted_floor
        selectors = (shape.node_selector, *(shape.required_nodes or ()), *(profile.added_nodes or ()))
        labels = {requirement.key for selector in selectors for requirement in selector}
        self.labels = labels - {HOSTNAME}
        #: Whether nodes of one kind may differ for these pods.
        self.names_nodes = HOSTNAME in labels
        self._allowed: dict[int, bool] = {}

    def answer(self, known: KnownNode) -> int:
        """The node's score with the pod, INFEASIBLE if it can't take it."""
        kind = known.kind
        if kind is None or not self._allows(kind, known) or not self.fits(kind, known.used):
            return INFEASIBLE
        return self.score(kind, known.used)

    def score(self, kind: Kind, used: Vector) -> int:
        """NodeResourcesFit of a node with the pod on it, whether it fits or not."""
        offers, share = kind.offers, self._share
        return self._average(
            [
                (share(used[place] + asked, offers[place]), weight)
                for place, asked, weight in self._scored
                if offers[place]
            ]
        )

    def fits(self, kind: Kind, used: Vector) -> bool:
        """Whether the node has the room, and keeps the cap."""
        offers = kind.offers
        for place, amount in self._wants:
            if used[place] + amount > offers[place]:
                return False
        if self._keeps and not (self._exempt and takes_all_devices(self._devices, kind.node.allocatable)):
            for place, amount, least in self._keeps:
                if offers[place] and offers[place] - used[place] - amount < least:
                    return False
        return True

    def _allows(self, kind: Kind, known: KnownNode) -> bool:
        allowed = self._allowed.get(kind.number)
        if allowed is None:
            assert known.node is not None  # noqa: S101  (it is of a kind)
            allowed = self._permits(known.node)
            if not self.names_nodes:
                self._allowed[kind.number] = allowed
        return allowed

    def _permits(self, node: Node) -> bool:
        shape, filters = self._shape, self._profile.filters
        if node.unschedulable and "NodeUnschedulable" in filters and not tolerated(CORDON, shape.tolerations):
            return False
        if "TaintToleration" in filters and not tolerates_node(shape, node):
            return False
        return "NodeAffinity" not in filters or accepts_node(shape, node, self._profile)


class _Table:
    """The answers of all nodes to one demand: `scores` by slot, `counts` by score, `held` the scores that occur."""

    def __init__(self, demand: Demand) -> None:
        self.demand = demand
        self.scores = bytearray()
        self.counts = [0] * (MAX_NODE_SCORE + 1)
        self.held = 0
        self.total = 0
        self._stamp = 0
        self._known: dict[tuple[int, ...], int] = {}

    def renew(self, nodes: Nodes) -> None:
        """Look at the nodes that changed since the last time."""
        scores = self.scores
        if len(scores) < len(nodes.slots):
            scores.extend(bytes([INFEASIBLE]) * (len(nodes.slots) - len(scores)))
        for slot in nodes.since(self._stamp):
            known = nodes.slots[slot]
            answer = INFEASIBLE if known is None else self._answer(known)
            before = scores[slot]
            if answer != before:
                scores[slot] = answer
                self._count(before, -1)
                self._count(answer, 1)
        self._stamp = nodes.stamp

    def _answer(self, known: KnownNode) -> int:
        if known.kind is None:
            return INFEASIBLE
        if self.demand.names_nodes:
            return self.demand.answer(known)
        state = tuple(known.used)
        answer = self._known.get(state)
        if answer is None:
            if len(self._known) >= KNOWN_STATES:
                self._known.clear()
            answer = self._known[state] = self.demand.answer(known)
        return answer

    def _count(self, score: int, change: int) -> None:
        if score == INFEASIBLE:
            return
        self.total += change
        count = self.counts[score] = self.counts[score] + change
        if count == 0:
            self.held &= ~(1 << score)
        else:
            self.held |= 1 << score


class Choices:
    """The choices of all kinds of pods on `nodes`, under the packing profile and the scheduler's cap filter."""

    def __init__(self, nodes: Nodes, profile: SchedulerProfile, cap: Cap | None) -> None:
        self._nodes = nodes
        self._profile = profile
        self._cap = cap
        self._tables: dict[object, _Table] = {}
        self._cluster = ClusterState(())
        self._present: list[KnownNode] = []
        self._generation = -1

    def choice(
        self, shape: PodShape, chosen: KnownNode, reserved: Iterable[tuple[KnownNode, Vector]] = ()
    ) -> Choice | None:
        """The choice that a pod had which went to `chosen`; None where that node is not present.

        `reserved` are nodes with vectors that hold more than runs there: pods of no less priority are nominated
        to them, and the pod must fit beside these too. The chosen node counts as feasible whatever is known of it.
        """
        if chosen.kind is None:
            return None
        table = self._table(shape)
        table.renew(self._nodes)
        scores, slot = table.scores, chosen.slot
        full = {
            known.slot
            for known, used in reserved
            if scores[known.slot] != INFEASIBLE and known.kind and not table.demand.fits(known.kind, used)
        }
        passes = self._filters_between_pods(shape)
        score = scores[slot]
        if not full and not passes:
            feasible, held = table.total, table.held
        else:
            left = [
                known.slot
                for index, known in enumerate(self._present if passes else self._nodes.by_name.values())
                if scores[known.slot] != INFEASIBLE
                and known.slot not in full
                and all(passed(index) for passed in passes)
            ]
            feasible, held = len(left), 0
            for other in left:
                held |= 1 << scores[other]
            if slot not in left:
                score = INFEASIBLE
        if score == INFEASIBLE:
            score = table.demand.score(chosen.kind, chosen.used)
            feasible, held = feasible + 1, held | 1 << score
        return Choice(feasible, score, held.bit_length() - 1, (held & -held).bit_length() - 1)

    def _table(self, shape: PodShape) -> _Table:
        key = (
            frozenset(shape.requests.items()),
            frozenset(shape.scoring_requests.items()),
            shape.node_selector,
            shape.required_nodes,
            shape.tolerations,
        )
        table = self._tables.get(key)
        if table is None:
            if len(self._tables) >= KNOWN_TABLES:
                self._tables.clear()
            demand = Demand(shape, self._profile, self._cap, self._nodes)
            self._nodes.tell_apart(demand.labels)
            table = self._tables[key] = _Table(demand)
        return table

    def _filters_between_pods(self, shape: PodShape) -> list[Passes]:
        """The filters that other pods have a say in, if they have one; they take positions in `_present`."""
        looks_at_all = bool(
            shape.required_pods or shape.required_anti or spread_constraints(shape, self._profile, hard=True)
        )
        repelling = self._nodes.repelling
        if not looks_at_all and not any(
            term.matches(shape) for known, key in repelling for term in known.pods[key].shape.required_anti
        ):
            return []
        if self._generation != self._nodes.generation:
            self._generation = self._nodes.generation
            self._present = [known for known in self._nodes.by_name.values() if known.node is not None]
            self._cluster = ClusterState(known.node for known in self._present if known.node is not None)
        if looks_at_all:
            pods = [[held.shape for held in known.pods.values()] for known in self._present]
        else:
            pods = [
                [held.shape for held in known.pods.values() if held.shape.required_anti]
                for known in self._present
            ]
        self._cluster.pods = pods
        return [
            FILTERS[name](shape, self._cluster, self._profile)
            for name in _BETWEEN_PODS
            if name in self._profile.filters
        ]


def change_of(shape: PodShape, nodes: Nodes) -> tuple[tuple[int, int], ...]:
    """What a pod of this shape changes in the vector of its node."""
    changes = [(place, shape.scoring_requests.get(resource, 0)) for resource, place in SCORED.items()]
    changes += [(nodes.place(resource), amount) for resource, amount in shape.requests.items()]
    return tuple((place, amount) for place, amount in changes if amount)


def takes_all_devices(requested: Mapping[str, int], offered: Mapping[str, int]) -> bool:
    """Whether a pod leaves no device of a node to others; it may then use the headroom of an exempting cap."""
    devices = {name: count for name, count in offered.items() if count and is_extended(name)}
    return bool(devices) and all(requested.get(name, 0) >= count for name, count in devices.items())


def is_extended(resource: str) -> bool:
    """Source: pkg/apis/core/v1/helper/helpers.go (IsExtendedResourceName) in kubernetes v1.37.2."""
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def _share(profile: SchedulerProfile) -> Callable[[int, int], int]:
    if profile.strategy == "MostAllocated":
        return most_allocated_share
    if profile.strategy == "LeastAllocated":
        return least_allocated_share
    return partial(ratio_share, profile.shape)
