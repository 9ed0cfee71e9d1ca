"""Nodes, pods, the scheduler's configuration, and what runs where: the inputs of a scheduling cycle.

Amounts are whole numbers by resource name: cpu in millicores, memory and ephemeral-storage in bytes, devices
and pods in pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import BinpackgenError
from ..scheduler.arithmetic import Shape
from .matching import Labels, Selector, Taint, Toleration, matches

Amounts = Mapping[str, int]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

#: What a container without a request counts as in scoring: pkg/scheduler/util/pod_resources.go in v1.37.2.
DEFAULT_REQUESTS: Amounts = {"cpu": 100, "memory": 200 * 1024 * 1024}

#: Score plugins that the model knows, and those that are 0 everywhere for the pods that it takes (no volumes
#: that are bound late, no resource claims).
MODELED_SCORES = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)
ZERO_SCORES = ("VolumeBinding", "DynamicResources")

#: Filter plugins that the model knows, in the scheduler's order.
MODELED_FILTERS = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
)


class UnmodeledError(BinpackgenError):
    """Something in the input would change the scheduler's decisions and is not modeled.

    `features` names each, as a path where there is one.
    """

    def __init__(self, subject: str, features: Iterable[str]) -> None:
        self.subject = subject
        self.features = tuple(features)
        super().__init__(f"{subject}: the simulation does not model {', '.join(self.features)}")


def is_scalar(resource: str) -> bool:
    """Whether a resource is left out of the scores of pods that do not request it.

    Source: pkg/scheduler/util/utils.go (IsScalarResourceName) in v1.37.2.
    """
    if resource.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return "/" in resource and not resource.startswith("requests.")


def is_counted(resource: str) -> bool:
    """Whether the scheduler keeps count of a resource on nodes; a bare name such as `gpu` counts nowhere."""
    return resource in ("cpu", "memory", "ephemeral-storage") or is_scalar(resource)


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the scheduler sees it. `images` maps every name of an image to its size in bytes."""

    name: str
    allocatable: Amounts
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    images: Mapping[str, int] = field(default_factory=dict)
    unschedulable: bool = False


@dataclass(frozen=True, slots=True)
class NodeClass:
    """`count` nodes that differ in name only."""

    name: str
    count: int
    allocatable: Amounts
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    images: Mapping[str, int] = field(default_factory=dict)

    def nodes(self) -> Iterator[Node]:
        """The nodes, named NAME-0, NAME-1, …, each with its hostname label."""
        for index in range(self.count):
            name = f"{self.name}-{index}"
            labels = {HOSTNAME: name, **self.labels}
            yield Node(name, self.allocatable, labels, self.taints, self.images)


@dataclass(frozen=True, slots=True)
class PreferredNodes:
    """A preferred node affinity term."""

    weight: int
    selector: Selector


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A pod affinity or anti-affinity term; `namespaces` None stands for all of them."""

    topology_key: str
    selector: Selector | None
    namespaces: frozenset[str] | None

    def matches(self, pod: PodShape) -> bool:
        """Whether the term means `pod`."""
        inside = self.namespaces is None or pod.namespace in self.namespaces
        return inside and matches(self.selector, pod.labels)


@dataclass(frozen=True, slots=True)
class PreferredPods:
    """A preferred pod affinity term; `weight` is negative for anti-affinity."""

    weight: int
    term: PodTerm


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A topology spread constraint: DoNotSchedule if `hard`, else ScheduleAnyway."""

    topology_key: str
    max_skew: int
    selector: Selector | None = None
    hard: bool = False
    min_domains: int = 1
    honors_node_affinity: bool = True
    honors_taints: bool = False


#: framework/plugins/podtopologyspread/plugin.go in v1.37.2.
SYSTEM_SPREAD = (SpreadConstraint(HOSTNAME, 3), SpreadConstraint(ZONE, 5))


@dataclass(frozen=True, slots=True)
class PodShape:
    """What the scheduler looks at in a pod; equal pods share one shape.

    `requests` are what filters and NodeResourcesBalancedAllocation count, `scoring_requests` what
    NodeResourcesFit scores: cpu and memory with the defaults of containers that declare none. `required_nodes`
    are the terms of required node affinity, one of which must match. `owner_selector` is what the Services and
    controllers that select the pod have in common with it, None without any; default spreading needs it.
    `images` has one entry a container and init container.
    """

    name: str
    requests: Amounts
    scoring_requests: Amounts
    namespace: str = "default"
    labels: Labels = field(default_factory=dict)
    node_selector: Selector = ()
    required_nodes: tuple[Selector, ...] | None = None
    preferred_nodes: tuple[PreferredNodes, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    owner_selector: Selector | None = None
    required_pods: tuple[PodTerm, ...] = ()
    required_anti: tuple[PodTerm, ...] = ()
    preferred_pods: tuple[PreferredPods, ...] = ()
    images: tuple[str, ...] = ()
    terminating: bool = False

    def accepts(self, node: Node) -> bool:
        """Whether the pod's node selector and required node affinity match the node."""
        if not matches(self.node_selector, node.labels):
            return False
        terms = self.required_nodes
        return terms is None or any(matches(term, node.labels) for term in terms)

    @property
    def has_pod_terms(self) -> bool:
        """Whether the pod has any affinity or anti-affinity to pods."""
        return bool(self.required_pods or self.required_anti or self.preferred_pods)


def requests_of(containers: Sequence[Amounts]) -> tuple[dict[str, int], dict[str, int]]:
    """`requests` and `scoring_requests` of a pod of these containers; a missing key is an undeclared request."""
    requests: dict[str, int] = {}
    scoring = dict.fromkeys(DEFAULT_REQUESTS, 0)
    for container in containers:
        for resource, amount in container.items():
            requests[resource] = requests.get(resource, 0) + amount
        for resource, default in DEFAULT_REQUESTS.items():
            scoring[resource] += container.get(resource, default)
    return requests, scoring


@dataclass(frozen=True, slots=True)
class SchedulerProfile:
    """One profile of kube-scheduler, with everything resolved that decisions depend on.

    `weights` holds the score plugins that are on, `filters` the filter plugins. `percentage` is
    percentageOfNodesToScore, 0 for adaptive. `default_spread` are the constraints of pods that state none;
    `system_spread` says that they are the built-in ones, which do not ask for every topology key.
    """

    minor: int
    name: str = "default-scheduler"
    strategy: str = "LeastAllocated"
    resources: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))
    shape: Shape = ()
    weights: Mapping[str, int] = field(
        default_factory=lambda: {
            "TaintToleration": 3,
            "NodeAffinity": 2,
            "NodeResourcesFit": 1,
            "PodTopologySpread": 2,
            "InterPodAffinity": 2,
            "NodeResourcesBalancedAllocation": 1,
            "ImageLocality": 1,
        }
    )
    filters: frozenset[str] = frozenset(MODELED_FILTERS)
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    balanced_resources: tuple[str, ...] = ("cpu", "memory")
    default_spread: tuple[SpreadConstraint, ...] = SYSTEM_SPREAD
    system_spread: bool = True
    hard_pod_affinity_weight: int = 1
    ignores_preferred_of_existing: bool = False
    added_nodes: tuple[Selector, ...] | None = None
    added_preferences: tuple[PreferredNodes, ...] = ()
    percentage: int = 0


class ClusterState:
    """Nodes in the scheduler's order, and the pods on each, with the sums that the scheduler keeps."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = tuple(nodes)
        self.pods: list[list[PodShape]] = [[] for _ in self.nodes]
        self.requested: list[dict[str, int]] = [{} for _ in self.nodes]
        self.scoring: list[dict[str, int]] = [dict.fromkeys(DEFAULT_REQUESTS, 0) for _ in self.nodes]
        self.index = {node.name: index for index, node in enumerate(self.nodes)}
        self.image_nodes: dict[str, int] = {}
        for node in self.nodes:
            for image in node.images:
                self.image_nodes[image] = self.image_nodes.get(image, 0) + 1

    def copy(self) -> ClusterState:
        """The same state, to be changed on its own."""
        other = ClusterState(self.nodes)
        for node, pods in enumerate(self.pods):
            for pod in pods:
                other.bind(pod, node)
        return other

    def bind(self, pod: PodShape, node: int) -> None:
        """Put `pod` on the node with this index, whether it fits or not."""
        self.pods[node].append(pod)
        self._count(pod, node, 1)

    def release(self, pod: PodShape, node: int) -> None:
        """Take one `pod` away from the node with this index. Raises ValueError if it has none."""
        self.pods[node].remove(pod)
        self._count(pod, node, -1)

    def _count(self, pod: PodShape, node: int, sign: int) -> None:
        for sums, amounts in ((self.requested, pod.requests), (self.scoring, pod.scoring_requests)):
            for resource, amount in amounts.items():
                sums[node][resource] = sums[node].get(resource, 0) + sign * amount
