"""Queues as Kueue 0.17 has them: flavors, cluster queues with quotas, cohorts.

    queues = read_queues(document.body for document in compilation.outputs if isinstance(document, Document))

Read from the objects that users apply (`kubectl get resourceflavors,cohorts,clusterqueues,localqueues -o json` does
as well). Submissions are taken to come from namespaces that their queue takes. Fair sharing, admission checks,
topologies, several resource groups in one queue and stopped queues are refused by name; not in the model, because no
object of a tree turns them on, are waitForPodsReady and partial admission.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import BinpackgenError
from ...quantity import Quantity
from ..matching import Labels, Requirement, Selector, Taint, Toleration, matches, tolerated
from ..model import PodShape, UnmodeledError
from .quota import Quota

Object = Mapping[str, Any]

#: Taints of a flavor that a workload must tolerate to get it.
_HARD = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Flavor:
    """A kind of node. Pods that are admitted to it get its labels as node selector, and its tolerations."""

    name: str
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """A queue. `flavors` are tried in their order; each has a quota for every resource that is covered.

    `within` and `reclaim` are preemption.withinClusterQueue and reclaimWithinCohort; `borrow_within` allows preemption
    while borrowing, of priorities up to `borrow_threshold` (None: any lower one). `next_when_borrowing`,
    `next_when_preempting` and `prefers_preemption` are its flavorFungibility.
    """

    name: str
    flavors: tuple[tuple[str, Mapping[str, Quota]], ...]
    cohort: str | None = None
    is_strict: bool = False
    within: str = "Never"
    reclaim: str = "Never"
    borrow_within: bool = False
    borrow_threshold: int | None = None
    next_when_borrowing: bool = False
    next_when_preempting: bool = True
    prefers_preemption: bool = False


@dataclass(frozen=True, slots=True)
class Cohort:
    """A cohort with a parent or with quotas of its own, by flavor and resource."""

    name: str
    parent: str | None = None
    quotas: Mapping[tuple[str, str], Quota] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueModel:
    """All queues. `local` gives the cluster queue of a local queue, by namespace and name."""

    flavors: Mapping[str, Flavor]
    queues: tuple[ClusterQueue, ...]
    cohorts: tuple[Cohort, ...] = ()
    local: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for queue in self.queues:
            for name, _ in queue.flavors:
                if name not in self.flavors:
                    raise BinpackgenError(f"ClusterQueue {queue.name} has flavor {name}, which is not there")

    def eligible(self, queue: ClusterQueue, shape: PodShape) -> tuple[int, ...]:
        """The flavors of a queue that pods of a shape can get, as positions in its list.

        Only labels that flavors of the queue have are looked at: flavorassigner.go (flavorSelector).
        """
        known = {key for name, _ in queue.flavors for key in self.flavors[name].labels}
        selector = _only(shape.node_selector, known)
        terms = [_only(term, known) for term in shape.required_nodes or ()]
        if not all(terms):
            # a term without a known label matches any flavor, and one of the terms is enough
            terms = []
        found = []
        for position, (name, _) in enumerate(queue.flavors):
            flavor = self.flavors[name]
            tolerations = (*shape.tolerations, *flavor.tolerations)
            if any(taint.effect in _HARD and not tolerated(taint, tolerations) for taint in flavor.taints):
                continue
            if matches(selector, flavor.labels) and (
                not terms or any(matches(t, flavor.labels) for t in terms)
            ):
                found.append(position)
        return tuple(found)


def _only(selector: Selector, keys: set[str]) -> Selector:
    return tuple(requirement for requirement in selector if requirement.key in keys)


def read_queues(objects: Iterable[Object], *, fair_sharing: bool = False) -> QueueModel:
    """The queues among `objects`; Lists are opened, other kinds passed over.

    `fair_sharing` says whether Kueue's controller runs with it, which no object tells. Raises UnmodeledError, and
    BinpackgenError where a queue names a flavor that is not there.
    """
    refused: list[str] = ["fair sharing between queues"] if fair_sharing else []
    flavors: dict[str, Flavor] = {}
    queues: list[ClusterQueue] = []
    cohorts: list[Cohort] = []
    local: dict[tuple[str, str], str] = {}
    for item in _flat(objects):
        name, spec = item["metadata"]["name"], item.get("spec") or {}
        what = f"{item['kind']} {name}"
        if item["kind"] == "ResourceFlavor":
            if spec.get("topologyName"):
                refused.append(f"{what} topologyName")
            flavors[name] = _flavor(name, spec)
        elif item["kind"] == "ClusterQueue":
            refused += [f"{what} {key}" for key in _unmodeled_queue(spec)]
            queues.append(_cluster_queue(name, spec))
        elif item["kind"] == "Cohort":
            cohorts.append(Cohort(name, spec.get("parentName"), _cohort_quotas(spec)))
        elif item["kind"] == "LocalQueue":
            if (spec.get("stopPolicy") or "None") != "None":
                refused.append(f"{what} stopPolicy")
            local[item["metadata"].get("namespace", "default"), name] = spec["clusterQueue"]
    if refused:
        raise UnmodeledError("queues", refused)
    return QueueModel(flavors, tuple(queues), tuple(cohorts), local)


def _flat(objects: Iterable[Object]) -> Iterator[Object]:
    for item in objects:
        if not isinstance(item, Mapping) or not isinstance(item.get("kind"), str):
            continue
        if item["kind"].endswith("List") and "items" in item:
            yield from _flat({"kind": item["kind"].removesuffix("List"), **one} for one in item["items"])
        elif str(item.get("apiVersion", "")).startswith("kueue.x-k8s.io/"):
            yield item


def _flavor(name: str, spec: Object) -> Flavor:
    return Flavor(
        name,
        spec.get("nodeLabels") or {},
        tuple(Taint(t["key"], t.get("value", ""), t["effect"]) for t in spec.get("nodeTaints") or ()),
        tuple(
            Toleration(
                t.get("key", ""), t.get("operator") or "Equal", t.get("value", ""), t.get("effect", "")
            )
            for t in spec.get("tolerations") or ()
        ),
    )


def _unmodeled_queue(spec: Object) -> Iterator[str]:
    if len(spec.get("resourceGroups") or ()) > 1:
        yield "several resourceGroups"
    if (spec.get("stopPolicy") or "None") != "None":
        yield "stopPolicy"
    for key in ("admissionChecksStrategy", "admissionScope"):
        if spec.get(key):
            yield key


def _cluster_queue(name: str, spec: Object) -> ClusterQueue:
    groups = spec.get("resourceGroups") or ()
    flavors: Iterable[Object] = groups[0]["flavors"] if groups else ()
    preemption, fungibility = spec.get("preemption") or {}, spec.get("flavorFungibility") or {}
    borrow = preemption.get("borrowWithinCohort") or {}
    return ClusterQueue(
        name=name,
        flavors=tuple((flavor["name"], dict(_quotas(flavor))) for flavor in flavors),
        cohort=spec.get("cohortName"),
        is_strict=spec.get("queueingStrategy") == "StrictFIFO",
        within=preemption.get("withinClusterQueue") or "Never",
        reclaim=preemption.get("reclaimWithinCohort") or "Never",
        borrow_within=borrow.get("policy", "Never") != "Never",
        borrow_threshold=borrow.get("maxPriorityThreshold"),
        next_when_borrowing=fungibility.get("whenCanBorrow") == "TryNextFlavor",
        next_when_preempting=fungibility.get("whenCanPreempt") != "MayStopSearch",
        prefers_preemption=fungibility.get("preference") == "PreemptionOverBorrowing",
    )


def _cohort_quotas(spec: Object) -> dict[tuple[str, str], Quota]:
    return {
        (flavor["name"], resource): quota
        for group in spec.get("resourceGroups") or ()
        for flavor in group["flavors"]
        for resource, quota in _quotas(flavor)
    }


def _quotas(flavor: Object) -> Iterator[tuple[str, Quota]]:
    for entry in flavor["resources"]:
        resource = entry["name"]
        yield (
            resource,
            Quota(
                _amount(resource, entry["nominalQuota"]) or 0,
                _amount(resource, entry.get("borrowingLimit")),
                _amount(resource, entry.get("lendingLimit")),
            ),
        )


def _amount(resource: str, value: str | float | None) -> int | None:
    if value is None:
        return None
    quantity = Quantity.from_manifest(value)
    return quantity.milli_value() if resource == "cpu" else quantity.value()


def pinned(shape: PodShape, flavor: Flavor) -> PodShape:
    """`shape` as it is after admission to `flavor`."""
    selector = (*shape.node_selector, *(Requirement(k, "In", (v,)) for k, v in sorted(flavor.labels.items())))
    return replace(
        shape,
        node_selector=tuple(dict.fromkeys(selector)),
        tolerations=tuple(dict.fromkeys((*shape.tolerations, *flavor.tolerations))),
    )
