"""The filter plugins: one function each, which looks at the cluster once and answers node by node.

Sources: pkg/scheduler/framework/plugins/<plugin> in kubernetes v1.37.2. Names, ports, volumes, claims and
declared features of nodes are not here: the model takes no pod that uses them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

from .matching import Taint, matches, tolerated
from .model import (
    MODELED_FILTERS,
    ClusterState,
    Node,
    PodShape,
    PodTerm,
    SchedulerProfile,
    SpreadConstraint,
    is_scalar,
)

#: Whether the node with this index passes.
Passes = Callable[[int], bool]

#: The taint that stands for spec.unschedulable.
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def node_unschedulable(pod: PodShape, cluster: ClusterState, profile: SchedulerProfile) -> Passes:
    """Cordoned nodes take only pods that tolerate the cordon."""
    tolerates = tolerated(CORDON, pod.tolerations)
    return lambda index: tolerates or not cluster.nodes[index].unschedulable


def taint_toleration(pod: PodShape, cluster: ClusterState, profile: SchedulerProfile) -> Passes:
    """NoSchedule and NoExecute taints must be tolerated."""
    return lambda index: tolerates_node(pod, cluster.nodes[index])


def tolerates_node(pod: PodShape, node: Node) -> bool:
    """Whether the pod tolerates every NoSchedule and NoExecute taint of the node."""
    return all(
        tolerated(taint, pod.tolerations)
        for taint in node.taints
        if taint.effect in ("NoSchedule", "NoExecute")
    )


def node_affinity(pod: PodShape, cluster: ClusterState, profile: SchedulerProfile) -> Passes:
    """The pod's node selector and required node affinity, and the profile's added affinity."""
    return lambda index: accepts_node(pod, cluster.nodes[index], profile)


def accepts_node(pod: PodShape, node: Node, profile: SchedulerProfile) -> bool:
    """Whether labels allow the pod on the node."""
    added = profile.added_nodes
    return pod.accepts(node) and (added is None or any(matches(term, node.labels) for term in added))


def is_open(pod: PodShape, node: Node, profile: SchedulerProfile) -> bool:
    """Whether those of the filters that look at cordons, taints and labels let the pod on the node."""
    filters = profile.filters
    if "NodeUnschedulable" in filters and node.unschedulable and not tolerated(CORDON, pod.tolerations):
        return False
    if "TaintToleration" in filters and not tolerates_node(pod, node):
        return False
    return "NodeAffinity" not in filters or accepts_node(pod, node, profile)


def node_resources_fit(pod: PodShape, cluster: ClusterState, profile: SchedulerProfile) -> Passes:
    """Real requests must fit what is left; what the pod does not request is not looked at."""
    wanted = [
        (resource, amount)
        for resource, amount in pod.requests.items()
        if amount > 0 and not is_ignored(resource, profile)
    ]

    def passes(index: int) -> bool:
        allocatable, requested = cluster.nodes[index].allocatable, cluster.requested[index]
        if len(cluster.pods[index]) + 1 > allocatable.get("pods", 0):
            return False
        return all(
            amount <= allocatable.get(resource, 0) - requested.get(resource, 0) for resource, amount in wanted
        )

    return passes


def is_ignored(resource: str, profile: SchedulerProfile) -> bool:
    """Whether NodeResourcesFit's filter skips an extended resource by its arguments."""
    if not is_scalar(resource) or "kubernetes.io/" in resource or "/" not in resource:
        return False
    return resource in profile.ignored_resources or resource.partition("/")[0] in profile.ignored_groups


def pod_topology_spread(pod: PodShape, cluster: ClusterState, profile: SchedulerProfile) -> Passes:
    """DoNotSchedule constraints: no domain may be more than maxSkew ahead of the emptiest."""
    constraints = spread_constraints(pod, profile, hard=True)
    if not constraints:
        return lambda _: True
    counts: list[Counter[str]] = [Counter() for _ in constraints]
    for index, node in enumerate(cluster.nodes):
        if not has_keys(node, constraints):
            continue
        for constraint, count in zip(constraints, counts, strict=True):
            if is_included(pod, node, constraint):
                count[node.labels[constraint.topology_key]] += matching_pods(pod, cluster, index, constraint)
    least = [
        0 if len(count) < constraint.min_domains else min(count.values())
        for constraint, count in zip(constraints, counts, strict=True)
    ]
    itself = [int(matches(constraint.selector, pod.labels)) for constraint in constraints]

    def passes(index: int) -> bool:
        labels = cluster.nodes[index].labels
        for position, constraint in enumerate(constraints):
            domain = labels.get(constraint.topology_key)
            if domain is None:
                return False
            skew = counts[position][domain] + itself[position] - least[position]
            if skew > constraint.max_skew:
                return False
        return True

    return passes


def spread_constraints(
    pod: PodShape, profile: SchedulerProfile, *, hard: bool
) -> tuple[SpreadConstraint, ...]:
    """The constraints in force: the pod's own, or the profile's defaults for pods with an owner."""
    if pod.spread:
        return tuple(constraint for constraint in pod.spread if constraint.hard == hard)
    if not pod.owner_selector:
        return ()
    return tuple(
        SpreadConstraint(default.topology_key, default.max_skew, pod.owner_selector, default.hard)
        for default in profile.default_spread
        if default.hard == hard
    )


def has_keys(node: Node, constraints: tuple[SpreadConstraint, ...]) -> bool:
    """Whether the node has the topology keys of all constraints."""
    return all(constraint.topology_key in node.labels for constraint in constraints)


def is_included(pod: PodShape, node: Node, constraint: SpreadConstraint) -> bool:
    """Whether the constraint's policies count the pods on this node."""
    if constraint.honors_node_affinity and not pod.accepts(node):
        return False
    return not constraint.honors_taints or tolerates_node(pod, node)


def matching_pods(pod: PodShape, cluster: ClusterState, index: int, constraint: SpreadConstraint) -> int:
    """Pods on the node that the constraint counts; a selector without requirements counts none."""
    if not constraint.selector:
        return 0
    return sum(
        other.namespace == pod.namespace
        and not other.terminating
        and matches(constraint.selector, other.labels)
        for other in cluster.pods[index]
    )


def inter_pod_affinity(pod: PodShape, cluster: ClusterState, profile: SchedulerProfile) -> Passes:
    """Required affinity and anti-affinity, both of the pod and against it."""
    repelled: set[tuple[str, str]] = set()
    wanted: Counter[tuple[str, str]] = Counter()
    avoided: set[tuple[str, str]] = set()
    for index, node in enumerate(cluster.nodes):
        for other in cluster.pods[index]:
            repelled |= _domains(node, [term for term in other.required_anti if term.matches(pod)])
            avoided |= _domains(node, [term for term in pod.required_anti if term.matches(other)])
            if pod.required_pods and _means(pod.required_pods, other):
                wanted.update(_domains(node, pod.required_pods))
    # the first pod of a group that wants to be together may go anywhere
    first = bool(pod.required_pods) and not wanted and _means(pod.required_pods, pod)

    def passes(index: int) -> bool:
        labels = cluster.nodes[index].labels
        keys = [term.topology_key for term in pod.required_pods]
        if any(key not in labels for key in keys):
            return False
        if not first and any((key, labels[key]) not in wanted for key in keys):
            return False
        return not any(pair in avoided or pair in repelled for pair in labels.items())

    return passes


def _means(terms: tuple[PodTerm, ...], pod: PodShape) -> bool:
    return all(term.matches(pod) for term in terms)


def _domains(node: Node, terms: tuple[PodTerm, ...] | list[PodTerm]) -> set[tuple[str, str]]:
    keys = {term.topology_key for term in terms}
    return {(key, node.labels[key]) for key in keys if key in node.labels}


FILTERS: Mapping[str, Callable[[PodShape, ClusterState, SchedulerProfile], Passes]] = MappingProxyType(
    dict(
        zip(
            MODELED_FILTERS,
            (
                node_unschedulable,
                taint_toleration,
                node_affinity,
                node_resources_fit,
                pod_topology_spread,
                inter_pod_affinity,
            ),
            strict=True,
        )
    )
)
