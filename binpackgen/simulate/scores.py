"""The score plugins: one function each, from a pod and the feasible nodes to scores 0..100.

A function answers one score a node, normalized, or None where the plugin sits this pod out (PreScore skips).
Sources: pkg/scheduler/framework/plugins/<plugin> in kubernetes v1.37.2; what differs in older minors is said at
the function. Go's int64 division truncates; all operands here are >= 0, so `//` is equal. Its math.Log differs
from C's in the last bit for some arguments, which never changed a rounded spread score in 1.8 million tried.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..scheduler.arithmetic import (
    MAX_NODE_SCORE,
    balance,
    balance_gain,
    least_allocated_share,
    most_allocated_share,
    ratio_share,
    weighted_floor,
    weighted_half_up,
)
from .filters import has_keys, is_included, matching_pods, spread_constraints
from .matching import matches, tolerated
from .model import (
    HOSTNAME,
    MODELED_SCORES,
    ClusterState,
    Node,
    PodShape,
    PreferredPods,
    SchedulerProfile,
    is_counted,
    is_scalar,
)

MIB = 1024 * 1024
#: imagelocality/image_locality.go: sums of image sizes that score 0 and, for each image, 100.
SMALLEST_IMAGES = 23 * MIB
LARGEST_IMAGE = 1000 * MIB


@dataclass(frozen=True, slots=True)
class Cycle:
    """What a scheduling cycle scores: `feasible` are node indexes in the order in which they were found."""

    pod: PodShape
    cluster: ClusterState
    profile: SchedulerProfile
    feasible: Sequence[int]

    def nodes(self) -> list[Node]:
        """The feasible nodes."""
        return [self.cluster.nodes[index] for index in self.feasible]


def node_resources_fit(cycle: Cycle) -> list[int]:
    """How full (or free) the node gets, by the profile's strategy and resource weights."""
    return [_fit(cycle, index) for index in cycle.feasible]


def _fit(cycle: Cycle, index: int) -> int:
    pod, profile = cycle.pod, cycle.profile
    allocatable = cycle.cluster.nodes[index].allocatable
    requested, scoring = cycle.cluster.requested[index], cycle.cluster.scoring[index]
    used: list[tuple[int, int, int]] = []
    for resource, weight in profile.resources:
        defaulted = resource in scoring
        wanted = (pod.scoring_requests if defaulted else pod.requests).get(resource, 0)
        capacity = counted_capacity(resource, wanted, allocatable)
        if capacity:
            already = (scoring if defaulted else requested).get(resource, 0)
            used.append((already + wanted, capacity, weight))
    if profile.strategy == "MostAllocated":
        return weighted_floor((most_allocated_share(r, a), w) for r, a, w in used)
    if profile.strategy == "LeastAllocated":
        return weighted_floor((least_allocated_share(r, a), w) for r, a, w in used)
    return weighted_half_up((ratio_share(profile.shape, r, a), w) for r, a, w in used)


def counted_capacity(resource: str, wanted: int, allocatable: Mapping[str, int]) -> int:
    """Allocatable amount of a resource that enters a score; 0 where the resource is left out.

    Left out are scalar resources that the pod does not request, and those that the node does not have.
    Source: noderesources/resource_allocation.go.
    """
    if not is_counted(resource) or (wanted == 0 and is_scalar(resource)):
        return 0
    return allocatable.get(resource, 0)


def balanced_allocation(cycle: Cycle) -> list[int] | None:
    """How evenly the node's resources are used.

    1.36 and later score the change that the pod makes, older minors the state with the pod. 1.31 and 1.32 also
    score pods that request none of the resources.
    """
    pod, profile = cycle.pod, cycle.profile
    if profile.minor >= 33 and not any(pod.requests.get(name, 0) for name in profile.balanced_resources):
        return None
    return [_balanced(cycle, index) for index in cycle.feasible]


def _balanced(cycle: Cycle, index: int) -> int:
    allocatable, requested = cycle.cluster.nodes[index].allocatable, cycle.cluster.requested[index]
    before: list[float] = []
    after: list[float] = []
    for resource in cycle.profile.balanced_resources:
        wanted = cycle.pod.requests.get(resource, 0)
        capacity = counted_capacity(resource, wanted, allocatable)
        if capacity:
            already = requested.get(resource, 0)
            before.append(already / capacity)
            after.append((already + wanted) / capacity)
    if cycle.profile.minor < 36:
        return balance(after)
    return balance_gain(balance(after), balance(before))


def taint_toleration(cycle: Cycle) -> list[int]:
    """Fewest PreferNoSchedule taints that the pod does not tolerate."""
    return reversed_ratio([untolerated_preferences(cycle.pod, node) for node in cycle.nodes()])


def untolerated_preferences(pod: PodShape, node: Node) -> int:
    """PreferNoSchedule taints of the node that the pod does not tolerate."""
    return sum(
        taint.effect == "PreferNoSchedule" and not tolerated(taint, pod.tolerations) for taint in node.taints
    )


def node_affinity(cycle: Cycle) -> list[int] | None:
    """Sum of the weights of the preferred node affinity terms that match."""
    if not cycle.pod.preferred_nodes and not cycle.profile.added_preferences:
        return None
    return ratio([preferred_weight(cycle.pod, node, cycle.profile) for node in cycle.nodes()])


def preferred_weight(pod: PodShape, node: Node, profile: SchedulerProfile) -> int:
    """Sum of the weights of the preferred node affinity terms that match the node."""
    terms = (*profile.added_preferences, *pod.preferred_nodes)
    return sum(term.weight for term in terms if matches(term.selector, node.labels))


def pod_topology_spread(cycle: Cycle) -> list[int] | None:
    """ScheduleAnyway constraints: nodes in domains with few matching pods."""
    pod, cluster, profile = cycle.pod, cycle.cluster, cycle.profile
    constraints = spread_constraints(pod, profile, hard=False)
    if not constraints:
        return None
    asks_for_keys = bool(pod.spread) or not profile.system_spread
    scored = [i for i in cycle.feasible if not asks_for_keys or has_keys(cluster.nodes[i], constraints)]
    raw = dict.fromkeys(scored, 0.0)
    for constraint in constraints:
        key = constraint.topology_key
        if key == HOSTNAME:
            count = {i: matching_pods(pod, cluster, i, constraint) for i in scored}
            size = len(scored)
        else:
            domains = {cluster.nodes[i].labels.get(key, "") for i in scored}
            in_domain: Counter[str] = Counter()
            for i, node in enumerate(cluster.nodes):
                domain = node.labels.get(key, "")
                if domain not in domains or (asks_for_keys and not has_keys(node, constraints)):
                    continue
                if is_included(pod, node, constraint):
                    in_domain[domain] += matching_pods(pod, cluster, i, constraint)
            count = {i: in_domain[cluster.nodes[i].labels.get(key, "")] for i in scored}
            size = len(domains)
        weight = math.log(size + 2)
        for i in scored:
            if key in cluster.nodes[i].labels:
                raw[i] += count[i] * weight + (constraint.max_skew - 1)
    rounded = {i: _half_up(value) for i, value in raw.items()}
    highest, lowest = max(rounded.values(), default=0), min(rounded.values(), default=0)
    return [_spread(rounded.get(i), highest, lowest) for i in cycle.feasible]


def _spread(raw: int | None, highest: int, lowest: int) -> int:
    if raw is None:
        return 0
    return MAX_NODE_SCORE if highest == 0 else MAX_NODE_SCORE * (highest + lowest - raw) // highest


def _half_up(value: float) -> int:
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)


def inter_pod_affinity(cycle: Cycle) -> list[int] | None:
    """Preferred affinity and anti-affinity of the pod and of the pods that run, and their required affinity."""
    pod, cluster, profile = cycle.pod, cycle.cluster, cycle.profile
    if profile.ignores_preferred_of_existing and not pod.preferred_pods:
        return None
    weights: Counter[tuple[str, str]] = Counter()
    for index, node in enumerate(cluster.nodes):
        for other in cluster.pods[index]:
            for preferred, target in _preferences(pod, other, profile):
                term = preferred.term
                if term.topology_key in node.labels and term.matches(target):
                    weights[term.topology_key, node.labels[term.topology_key]] += preferred.weight
    raw = [sum(weights[pair] for pair in node.labels.items() if pair in weights) for node in cycle.nodes()]
    lowest, span = min(raw), max(raw) - min(raw)
    # the order of the floating-point operations matters: 29 of 100 gives 28
    return [int(100.0 * ((value - lowest) / span)) if span else 0 for value in raw]


def _preferences(
    pod: PodShape, other: PodShape, profile: SchedulerProfile
) -> list[tuple[PreferredPods, PodShape]]:
    """The terms between an incoming pod and one that runs, each with the pod that it speaks of."""
    terms = [(preferred, other) for preferred in pod.preferred_pods]
    terms += [(preferred, pod) for preferred in other.preferred_pods]
    if profile.hard_pod_affinity_weight:
        terms += [
            (PreferredPods(profile.hard_pod_affinity_weight, term), pod) for term in other.required_pods
        ]
    return terms


def image_locality(cycle: Cycle) -> list[int]:
    """Nodes that hold the pod's images, large ones and rare ones above all."""
    return [image_score(cycle.pod, node, cycle.cluster) for node in cycle.nodes()]


def image_score(pod: PodShape, node: Node, cluster: ClusterState) -> int:
    """ImageLocality of one node."""
    held = sum(
        int(node.images[image] * (cluster.image_nodes[image] / len(cluster.nodes)))
        for image in pod.images
        if image in node.images
    )
    largest = LARGEST_IMAGE * len(pod.images)
    if held < SMALLEST_IMAGES:
        return 0
    return MAX_NODE_SCORE * (min(held, largest) - SMALLEST_IMAGES) // (largest - SMALLEST_IMAGES)


def ratio(raw: Sequence[int]) -> list[int]:
    """Scores in proportion to the highest, which gets 100; all 0 if that is 0."""
    highest = max(raw, default=0)
    return [MAX_NODE_SCORE * value // highest if highest else 0 for value in raw]


def reversed_ratio(raw: Sequence[int]) -> list[int]:
    """The same upside down: the highest gets 0, and all get 100 if it is 0."""
    return [MAX_NODE_SCORE - score for score in ratio(raw)]


SCORES: Mapping[str, Callable[[Cycle], list[int] | None]] = MappingProxyType(
    dict(
        zip(
            MODELED_SCORES,
            (
                taint_toleration,
                node_affinity,
                node_resources_fit,
                pod_topology_spread,
                inter_pod_affinity,
                balanced_allocation,
                image_locality,
            ),
            strict=True,
        )
    )
)
