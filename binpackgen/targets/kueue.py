"""Kueue objects of API version v1beta2 (Kueue 0.17 and newer): flavors, cohorts, cluster and local queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..document import Because, Document, Output
from ..plan.model import Amount, Flavor, FlavorQuota, Plan, PlannedCohort, PlannedQueue, PlannedTaint
from ..plan.pools import cpu_text, memory_text
from ..source import Path
from .metadata import metadata
from .taints import taint_object

API_VERSION = "kueue.x-k8s.io/v1beta2"


def compile(plan: Plan) -> Iterator[Output]:
    """The objects of the queues; nothing where the profile has none."""
    if not plan.queues:
        return
    if plan.spec.queueing.topology_levels:
        yield _topology(plan)
    used = {quota.flavor for queue in plan.queues for quota in queue.quotas}
    flavors = {flavor.name: flavor for flavor in plan.flavors if flavor.name in used}
    for flavor in flavors.values():
        yield _flavor(plan, flavor)
    for cohort in plan.cohorts:
        if cohort.parent is not None:
            yield _cohort(plan, cohort, cohort.parent)
    for queue in plan.queues:
        yield _cluster_queue(plan, queue, flavors)
    for queue in plan.queues:
        for index, namespace in enumerate(queue.source.namespaces):
            yield _local_queue(plan, queue, namespace, (*queue.at, "namespaces", index))


def _object(
    plan: Plan, kind: str, name: str, spec: dict[str, Any], namespace: str | None = None
) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": metadata(plan, name, namespace),
        "spec": spec,
    }


def _topology(plan: Plan) -> Document:
    at: Path = ("spec", "queueing", "topologyLevels")
    levels = plan.spec.queueing.topology_levels
    body = _object(plan, "Topology", plan.name, {"levels": [{"nodeLabel": level} for level in levels]})
    why = Because(
        "domains of nodes for topology-aware scheduling, widest first; they cannot be changed later", (at,)
    )
    trace: dict[Path, Because] = {
        ("spec", "levels", index): Because("a level of the topology, in the profile's order", ((*at, index),))
        for index in range(len(levels))
    }
    return Document("kueue/topologies.yaml", body, why, trace, wave=1)


def _flavor(plan: Plan, flavor: Flavor) -> Document:
    spec: dict[str, Any] = {"nodeLabels": dict(sorted(flavor.node_labels.items()))}
    trace: dict[Path, Because] = {
        ("spec", "nodeLabels"): Because(
            "Kueue pins the pods of an admitted job to these labels; a flavor is a kind of node and not a pool, "
            "so packing chooses among all its pools",
            (("spec", "nodeLabels", "gpuType"), *_gpu_types(plan, flavor)),
        )
    }
    common = [taint for taint in flavor.taints if taint.effect != "PreferNoSchedule"]
    if common:
        spec["nodeTaints"] = [taint_object(taint) for taint in common]
        trace["spec", "nodeTaints"] = Because(
            "taints of every pool of this kind; they do not taint nodes, they tell Kueue what a job must tolerate",
            _taint_paths(plan, flavor),
        )
    tolerated = [taint for taint in _all_taints(plan, flavor) if taint.effect != "PreferNoSchedule"]
    if tolerated:
        spec["tolerations"] = [_toleration(taint) for taint in tolerated]
        trace["spec", "tolerations"] = Because(
            "added to the pods of admitted jobs, so that jobs need not bring them: the taints of all pools of "
            "this kind",
            _taint_paths(plan, flavor),
        )
    if plan.spec.queueing.topology_levels:
        spec["topologyName"] = plan.name
        trace["spec", "topologyName"] = Because(
            "Kueue places the pods by topology; nodeLabels and tolerations cannot be changed from then on",
            (("spec", "queueing", "topologyLevels"),),
        )
    body = _object(plan, "ResourceFlavor", flavor.name, spec)
    why = Because(f"the kind of node of pools {', '.join(flavor.pools)}", _pool_paths(plan, flavor))
    return Document("kueue/resource-flavors.yaml", body, why, trace, wave=1)


def _cohort(plan: Plan, cohort: PlannedCohort, parent: str) -> Document:
    body = _object(plan, "Cohort", cohort.name, {"parentName": parent})
    why = Because(
        f"cohort {cohort.name} borrows from and lends to cohort {parent}; a cohort without a parent needs no object",
        (cohort.at,),
    )
    return Document("kueue/cohorts.yaml", body, why, wave=2)


def _cluster_queue(plan: Plan, queue: PlannedQueue, flavors: dict[str, Flavor]) -> Document:
    source, at = queue.source, queue.at
    spec: dict[str, Any] = {}
    trace: dict[Path, Because] = {}
    if queue.cohort is not None:
        spec["cohortName"] = queue.cohort
        trace["spec", "cohortName"] = (
            Because("queues of one cohort use what the others leave", ((*at, "cohort"),))
            if source.cohort is not None
            else Because("the cluster's name is the cohort of queues that name none", (("metadata", "name"),))
        )
    if source.strategy != "BestEffortFIFO":
        spec["queueingStrategy"] = source.strategy
        trace["spec", "queueingStrategy"] = Because(
            "a job that does not fit holds back those behind it", ((*at, "strategy"),)
        )
    spec["namespaceSelector"] = {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(set(source.namespaces))}
        ]
    }
    trace["spec", "namespaceSelector"] = Because(
        "only these namespaces may submit; without a selector none could", ((*at, "namespaces"),)
    )
    spec["resourceGroups"] = [
        {
            "coveredResources": list(plan.covered_resources),
            "flavors": [_flavor_quotas(plan, queue, quota) for quota in queue.quotas],
        }
    ]
    group: Path = ("spec", "resourceGroups", 0)
    trace[(*group, "coveredResources")] = Because(
        "every resource that jobs ask for, in one group, since cpu, memory and GPUs come from the same nodes; a "
        "job that asks for a resource that is not covered is never admitted",
        (("spec", "nodePools"),),
    )
    trace[(*group, "flavors")] = Because(
        "Kueue tries flavors in this order: nodes without GPUs, then by cores per GPU, most first; it goes on to "
        "the next one before it evicts, but borrows before it goes on",
        ((*at, "quota"),),
    )
    for index, quota in enumerate(queue.quotas):
        trace |= _quota_reasons(plan, queue, quota, flavors[quota.flavor], (*group, "flavors", index))
    preemption = _preemption(queue)
    if preemption:
        spec["preemption"] = preemption
        trace["spec", "preemption"] = Because(
            "which admitted workloads make room for a waiting one", ((*at, "preemption"),)
        )
    if source.weight != 1 or plan.spec.queueing.fair_sharing:
        spec["fairSharing"] = {"weight": str(source.weight)}
        trace["spec", "fairSharing"] = Because(
            "share of what is borrowed, where the controller runs with fair sharing",
            ((*at, "weight"), ("spec", "queueing", "fairSharing")),
        )
    body = _object(plan, "ClusterQueue", queue.name, spec)
    why = Because(f"queue {queue.name} with its quotas in numbers", (at,))
    return Document("kueue/cluster-queues.yaml", body, why, trace, wave=2)


def _flavor_quotas(plan: Plan, queue: PlannedQueue, quota: FlavorQuota) -> dict[str, Any]:
    resources: list[dict[str, Any]] = []
    for name in plan.covered_resources:
        entry = {"name": name, "nominalQuota": _text(quota.nominal, name)}
        if queue.cohort is not None:
            if not queue.source.borrows:
                entry["borrowingLimit"] = "0"
            if not queue.source.lends:
                entry["lendingLimit"] = "0"
        resources.append(entry)
    return {"name": quota.flavor, "resources": resources}


def _quota_reasons(
    plan: Plan, queue: PlannedQueue, quota: FlavorQuota, flavor: Flavor, at: Path
) -> Iterator[tuple[Path, Because]]:
    pools = [plan.pool(name) for name in flavor.pools]
    stated = _stated(queue, quota)
    for index, name in enumerate(plan.covered_resources):
        here: Path = (*at, "resources", index)
        whole = _text(flavor.room, name)
        parts = " + ".join(f"{pool.nodes_max} x {_text(pool.room, name)}" for pool in pools)
        yield (
            (*here, "nominalQuota"),
            Because(
                f"{stated} of {name}: the nodes of flavor {flavor.name} hold {whole} for jobs ({parts})"
                if whole != "0"
                else f"the nodes of flavor {flavor.name} offer no {name}; every flavor lists every resource",
                (quota.at, *(pool.at for pool in pools)),
            ),
        )
        if queue.cohort is not None:
            yield (
                (*here, "borrowingLimit"),
                Because("the queue may not use what others leave", ((*queue.at, "borrows"),)),
            )
            yield (
                (*here, "lendingLimit"),
                Because("others may not use what it leaves", ((*queue.at, "lends"),)),
            )


def _stated(queue: PlannedQueue, quota: FlavorQuota) -> str:
    """The quota as the profile states it: "75%", or "cpu 400, gpu 32"."""
    given = queue.source.quota[str(quota.at[-1])]
    values = {"cpu": given.cpu, "memory": given.memory, "gpu": given.gpu}
    texts = {name: str(value) for name, value in values.items() if value is not None}
    if len(texts) == len(values) and len(set(texts.values())) == 1:
        return texts["gpu"]
    return ", ".join(f"{name} {text}" for name, text in texts.items())


def _preemption(queue: PlannedQueue) -> dict[str, Any]:
    stated = queue.source.preemption
    preemption: dict[str, Any] = {}
    if queue.cohort is not None and stated.reclaim_within_cohort != "Never":
        preemption["reclaimWithinCohort"] = stated.reclaim_within_cohort
    if stated.within_cluster_queue != "Never":
        preemption["withinClusterQueue"] = stated.within_cluster_queue
    return preemption


def _local_queue(plan: Plan, queue: PlannedQueue, namespace: str, at: Path) -> Document:
    body = _object(plan, "LocalQueue", queue.name, {"clusterQueue": queue.name}, namespace)
    why = Because(
        f"jobs in namespace {namespace} submit to queue {queue.name} by the label kueue.x-k8s.io/queue-name",
        (at,),
    )
    return Document("kueue/local-queues.yaml", body, why, wave=3)


def _text(amount: Amount, resource: str) -> str:
    """How much of `resource` is in `amount`, as a canonical quantity."""
    if resource == "cpu":
        return cpu_text(amount.cpu)
    if resource == "memory":
        return memory_text(amount.memory)
    return str(amount.devices.get(resource, 0))


def _toleration(taint: PlannedTaint) -> dict[str, str]:
    key, *rest = taint_object(taint).items()
    return dict([key, ("operator", "Equal"), *rest])


def _all_taints(plan: Plan, flavor: Flavor) -> list[PlannedTaint]:
    return list(dict.fromkeys(taint for name in flavor.pools for taint in plan.pool(name).taints))


def _pool_paths(plan: Plan, flavor: Flavor) -> tuple[Path, ...]:
    return tuple(plan.pool(name).at for name in flavor.pools)


def _gpu_types(plan: Plan, flavor: Flavor) -> tuple[Path, ...]:
    return tuple((*path, "gpu", "type") for path in _pool_paths(plan, flavor))


def _taint_paths(plan: Plan, flavor: Flavor) -> tuple[Path, ...]:
    return tuple((*path, "taints") for path in _pool_paths(plan, flavor))
