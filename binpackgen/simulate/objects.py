"""Kubernetes objects into the model: nodes, and pods with what owns them.

Every field that could change a decision and is not modeled is refused by name; of a pod's fields only those
known to be harmless are passed over. What the API server would reject is not looked for here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BinpackgenError
from ..quantity import Quantity
from .cycle import scheduler_order
from .matching import Requirement, Selector, Taint, Toleration, equals, matches
from .model import (
    DEFAULT_REQUESTS,
    ClusterState,
    Node,
    PodShape,
    PodTerm,
    PreferredNodes,
    PreferredPods,
    SpreadConstraint,
    UnmodeledError,
)

Object = Mapping[str, Any]

_POD_FIELDS = frozenset({"containers", "initContainers", "nodeName", "nodeSelector", "resources", "affinity", "overhead", "schedulerName", "tolerations", "topologySpreadConstraints", "volumes"})  # fmt: skip
_HARMLESS_POD_FIELDS = frozenset({"activeDeadlineSeconds", "automountServiceAccountToken", "dnsConfig", "dnsPolicy", "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC", "hostPID", "hostUsers", "hostname", "imagePullSecrets", "os", "preemptionPolicy", "priority", "priorityClassName", "readinessGates", "restartPolicy", "runtimeClassName", "securityContext", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds"})  # fmt: skip
#: Volumes that no scheduler plugin looks at.
_HARMLESS_VOLUMES = frozenset({"configMap", "downwardAPI", "emptyDir", "hostPath", "nfs", "projected", "secret"})  # fmt: skip
#: Kinds whose selectors default spreading merges, beside Services.
_OWNERS = ("ReplicationController", "ReplicaSet", "StatefulSet")


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod that waits, and the profile that its schedulerName asks for."""

    shape: PodShape
    scheduler: str


@dataclass(frozen=True, slots=True)
class ReadCluster:
    """Nodes with the pods bound to them, and the pods that wait, in the order given."""

    state: ClusterState
    pending: tuple[PendingPod, ...]


def read_cluster(objects: Iterable[Object]) -> ReadCluster:
    """Nodes, pods, Services and controllers; Lists are opened, other kinds passed over.

    Raises UnmodeledError for features that are not modeled, BinpackgenError for pods bound to no known node.
    """
    items = list(_flat(objects))
    state = ClusterState(scheduler_order(read_node(item) for item in items if item["kind"] == "Node"))
    owners = [item for item in items if item["kind"] in ("Service", *_OWNERS)]
    pending: list[PendingPod] = []
    for item in items:
        if item["kind"] in ("DeviceClass", "ResourceSlice", "ResourceClaim"):
            raise UnmodeledError(_name(item), [item["kind"]])
        if item["kind"] != "Pod" or item.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            continue
        shape = read_pod(item, owners)
        node = item["spec"].get("nodeName")
        if not node:
            pending.append(PendingPod(shape, item["spec"].get("schedulerName", "default-scheduler")))
        elif node in state.index:
            state.bind(shape, state.index[node])
        else:
            raise BinpackgenError(f"{_name(item)} runs on node {node}, which is not among the nodes")
    return ReadCluster(state, tuple(pending))


def read_node(item: Object) -> Node:
    """A core/v1 Node."""
    spec, status = item.get("spec", {}), item.get("status", {})
    return Node(
        name=item["metadata"]["name"],
        allocatable=_amounts(status.get("allocatable", {})),
        labels=item["metadata"].get("labels", {}),
        taints=tuple(Taint(t["key"], t.get("value", ""), t["effect"]) for t in spec.get("taints") or ()),
        images={
            name: image.get("sizeBytes", 0)
            for image in status.get("images") or ()
            for name in image.get("names") or ()
        },
        unschedulable=spec.get("unschedulable", False),
    )


def read_pod(item: Object, owners: Iterable[Object] = ()) -> PodShape:
    """A core/v1 Pod; `owners` are the Services and controllers of its cluster.

    Raises UnmodeledError.
    """
    metadata, spec = item["metadata"], item["spec"]
    refused = [*_unmodeled(spec, item.get("status") or {})]
    affinity = spec.get("affinity") or {}
    nodes, pods = affinity.get("nodeAffinity") or {}, affinity.get("podAffinity") or {}
    anti = affinity.get("podAntiAffinity") or {}
    required = nodes.get("requiredDuringSchedulingIgnoredDuringExecution")
    labels, namespace = metadata.get("labels") or {}, metadata.get("namespace") or "default"
    reader = _PodReader(labels, namespace, refused, is_bound=bool(spec.get("nodeName")))
    requests, scoring = _requests(spec)
    shape = PodShape(
        name=metadata.get("name") or metadata.get("generateName", ""),
        namespace=namespace,
        labels=labels,
        requests=requests,
        scoring_requests=scoring,
        node_selector=equals(spec.get("nodeSelector") or {}),
        required_nodes=None if required is None else reader.node_terms(required["nodeSelectorTerms"]),
        preferred_nodes=reader.preferred_nodes(nodes.get("preferredDuringSchedulingIgnoredDuringExecution")),
        tolerations=tuple(reader.toleration(toleration) for toleration in spec.get("tolerations") or ()),
        spread=tuple(reader.spread(one) for one in spec.get("topologySpreadConstraints") or ()),
        owner_selector=_owner_selector(metadata, labels, namespace, owners) or None,
        required_pods=reader.pod_terms(pods.get("requiredDuringSchedulingIgnoredDuringExecution")),
        required_anti=reader.pod_terms(anti.get("requiredDuringSchedulingIgnoredDuringExecution")),
        preferred_pods=(
            *reader.preferred_pods(pods.get("preferredDuringSchedulingIgnoredDuringExecution"), 1),
            *reader.preferred_pods(anti.get("preferredDuringSchedulingIgnoredDuringExecution"), -1),
        ),
        images=tuple(_image_name(container.get("image", "")) for container in _containers(spec)),
        terminating="deletionTimestamp" in metadata,
    )
    if refused:
        raise UnmodeledError(_name(item), refused)
    return shape


class _PodReader:
    """Reads the terms of one pod and collects what is not modeled."""

    def __init__(
        self, labels: Mapping[str, str], namespace: str, refused: list[str], *, is_bound: bool
    ) -> None:
        self.labels = labels
        self.namespace = namespace
        self.refused = refused
        self.is_bound = is_bound

    def node_terms(self, terms: Iterable[Object]) -> tuple[Selector, ...]:
        selectors = (self.node_term(term) for term in terms)
        return tuple(selector for selector in selectors if selector)

    def node_term(self, term: Object) -> Selector:
        """Empty for a term that says nothing, which matches no node."""
        if term.get("matchFields") and not self.is_bound:
            self.refused.append("node affinity by matchFields")
        return _requirements(term.get("matchExpressions") or ())

    def preferred_nodes(self, terms: Iterable[Object] | None) -> tuple[PreferredNodes, ...]:
        read = (
            PreferredNodes(term.get("weight", 0), self.node_term(term["preference"])) for term in terms or ()
        )
        return tuple(term for term in read if term.weight and term.selector)

    def toleration(self, toleration: Object) -> Toleration:
        operator = toleration.get("operator") or "Equal"
        return Toleration(
            toleration.get("key", ""), operator, toleration.get("value", ""), toleration.get("effect", "")
        )

    def pod_terms(self, terms: Iterable[Object] | None) -> tuple[PodTerm, ...]:
        return tuple(self.pod_term(term) for term in terms or ())

    def preferred_pods(self, terms: Iterable[Object] | None, sign: int) -> Iterator[PreferredPods]:
        for term in terms or ():
            yield PreferredPods(sign * term["weight"], self.pod_term(term["podAffinityTerm"]))

    def pod_term(self, term: Object) -> PodTerm:
        selector = label_selector(term.get("labelSelector"))
        if selector is not None:
            # the API server merges these keys into the selector; a second time changes nothing
            selector += tuple(self._own(term.get("matchLabelKeys"), "In"))
            selector += tuple(self._own(term.get("mismatchLabelKeys"), "NotIn"))
        chosen = term.get("namespaceSelector")
        if chosen:
            self.refused.append("pod affinity by namespaceSelector")
        namespaces: frozenset[str] | None = frozenset(term.get("namespaces") or ())
        if chosen == {}:
            namespaces = None
        elif not namespaces:
            namespaces = frozenset({self.namespace})
        return PodTerm(term["topologyKey"], selector, namespaces)

    def spread(self, constraint: Object) -> SpreadConstraint:
        selector = label_selector(constraint.get("labelSelector"))
        if selector is not None:
            selector += tuple(self._own(constraint.get("matchLabelKeys"), "In"))
        return SpreadConstraint(
            topology_key=constraint["topologyKey"],
            max_skew=constraint["maxSkew"],
            selector=selector,
            hard=constraint["whenUnsatisfiable"] == "DoNotSchedule",
            min_domains=constraint.get("minDomains") or 1,
            honors_node_affinity=constraint.get("nodeAffinityPolicy") != "Ignore",
            honors_taints=constraint.get("nodeTaintsPolicy") == "Honor",
        )

    def _own(self, keys: Iterable[str] | None, operator: str) -> Iterator[Requirement]:
        for key in keys or ():
            if key in self.labels:
                yield Requirement(key, operator, (self.labels[key],))


def label_selector(selector: Object | None) -> Selector | None:
    """A meta/v1 LabelSelector; None, which matches nothing, for an absent one."""
    if selector is None:
        return None
    return equals(selector.get("matchLabels") or {}) + _requirements(selector.get("matchExpressions") or ())


def _requirements(expressions: Iterable[Object]) -> Selector:
    return tuple(Requirement(e["key"], e["operator"], tuple(e.get("values") or ())) for e in expressions)


def _unmodeled(spec: Object, status: Object) -> Iterator[str]:
    if spec.get("resources"):
        yield "spec.resources"
    yield from _resized(spec, status)
    if spec.get("nodeName"):
        # where a bound pod may run, and with which ports, volumes and claims, decides nothing for the pods
        # that the model takes
        return
    if status.get("nominatedNodeName"):
        yield "status.nominatedNodeName"
    for name, value in spec.items():
        if value and name not in _POD_FIELDS and name not in _HARMLESS_POD_FIELDS:
            yield f"spec.{name}"
    for volume in spec.get("volumes") or ():
        for kind in sorted(volume.keys() - _HARMLESS_VOLUMES - {"name"}):
            yield f"volumes of kind {kind}"
    for container in _containers(spec):
        if any(port.get("hostPort") for port in container.get("ports") or ()):
            yield "hostPort"
        if (container.get("resources") or {}).get("claims"):
            yield "resources.claims"


def _resized(spec: Object, status: Object) -> Iterator[str]:
    """A pod whose status holds more than its spec counts with the greater."""
    stated = {container.get("name"): _container_request(container, {}) for container in _containers(spec)}
    for one in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        own = stated.get(one["name"], {})
        for held in (one.get("allocatedResources"), (one.get("resources") or {}).get("requests")):
            for resource, quantity in (held or {}).items():
                if own.get(resource, Quantity("0")) < Quantity.from_manifest(quantity):
                    yield f"a resize in place of {resource}"
    conditions: Iterable[Object] = status.get("conditions") or ()
    if any(c["type"] == "PodResizePending" and c.get("reason") == "Infeasible" for c in conditions):
        yield "a resize in place that is infeasible"


def _containers(spec: Object) -> tuple[Object, ...]:
    return (*(spec.get("initContainers") or ()), *spec["containers"])


def _requests(spec: Object) -> tuple[dict[str, int], dict[str, int]]:
    """Real and scoring requests: k8s.io/component-helpers v0.37.2, resource/helpers.go (PodRequests)."""
    real = _pod_request(spec, {})
    scoring = _pod_request(spec, {"cpu": Quantity("100m"), "memory": Quantity("200Mi")})
    return (
        {resource: _amount(resource, quantity) for resource, quantity in real.items()},
        {resource: _amount(resource, scoring.get(resource, Quantity("0"))) for resource in DEFAULT_REQUESTS},
    )


def _pod_request(spec: Object, missing: Mapping[str, Quantity]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for container in spec["containers"]:
        _add(total, _container_request(container, missing))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        request = _container_request(container, missing)
        if container.get("restartPolicy") == "Always":
            _add(total, request)
            _add(sidecars, request)
            request = dict(sidecars)
        else:
            _add(request, sidecars)
        _raise(peak, request)
    _raise(total, peak)
    _add(total, {resource: Quantity.from_manifest(q) for resource, q in (spec.get("overhead") or {}).items()})
    return total


def _container_request(container: Object, missing: Mapping[str, Quantity]) -> dict[str, Quantity]:
    resources = container.get("resources") or {}
    # the API server copies limits to requests that are not stated
    stated = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {**missing, **{resource: Quantity.from_manifest(q) for resource, q in stated.items()}}


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for resource, quantity in more.items():
        total[resource] = total[resource] + quantity if resource in total else quantity


def _raise(total: dict[str, Quantity], least: Mapping[str, Quantity]) -> None:
    for resource, quantity in least.items():
        if resource not in total or total[resource] < quantity:
            total[resource] = quantity


def _amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    return {resource: _amount(resource, Quantity.from_manifest(q)) for resource, q in quantities.items()}


def _amount(resource: str, quantity: Quantity) -> int:
    return quantity.milli_value() if resource == "cpu" else quantity.value()


def _owner_selector(
    metadata: Object, labels: Mapping[str, str], namespace: str, owners: Iterable[Object]
) -> Selector:
    """Source: framework/plugins/helper/spread.go (DefaultSelector) in kubernetes v1.37.2."""
    merged: dict[str, str] = {}
    extra: Selector = ()
    references: Iterable[Object] = metadata.get("ownerReferences") or ()
    controller: Object = next((reference for reference in references if reference.get("controller")), {})
    for owner in owners:
        if (owner["metadata"].get("namespace") or "default") != namespace:
            continue
        selector = owner["spec"].get("selector")
        if owner["kind"] == "Service":
            if selector and matches(equals(selector), labels):
                merged.update(selector)
        elif (owner["kind"], owner["metadata"]["name"]) == (controller.get("kind"), controller.get("name")):
            if owner["kind"] == "ReplicationController":
                merged.update(selector or {})
            else:
                extra = label_selector(selector) or ()
    return equals(merged) + extra


def _image_name(name: str) -> str:
    """Source: imagelocality/image_locality.go (normalizedImageName)."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _flat(objects: Iterable[Object]) -> Iterator[Object]:
    for item in objects:
        if item["kind"].endswith("List") and "items" in item:
            yield from _flat({"kind": item["kind"].removesuffix("List"), **one} for one in item["items"])
        else:
            yield item


def _name(item: Object) -> str:
    metadata = item["metadata"]
    return f"{item['kind']} {metadata.get('namespace') or 'default'}/{metadata.get('name', '')}"
