"""What a pod's place in the cluster follows from: the values that job templates put into their pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...document import Because
from ...plan.model import Plan, PlannedJob, PlannedTaint, PodGroup, Pool, PoolPreference
from ...plan.platforms import PLATFORMS
from ...plan.pools import NO_GPU, cpu_text, memory_text
from ...source import Path
from ..metadata import PROFILE
from ..taints import taint_object

NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
HOSTNAME = "kubernetes.io/hostname"
THREADS = "OMP_NUM_THREADS"
HIDE_GPUS = "NVIDIA_VISIBLE_DEVICES"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"

#: Names of a JobSet's replicated Jobs by the role of their pods.
REPLICATED_JOBS = {"master": "master", "worker": "workers"}

#: Name of the scheduler that pods get which name none.
DEFAULT_SCHEDULER = "default-scheduler"


class PodValues(NamedTuple):
    """What a template can say about the pods of one role, as plain data, and why.

    `reasons` has paths inside a pod template (metadata and spec).
    """

    role: str
    values: Mapping[str, Any]
    reasons: Mapping[Path, Because]


def pod_values(plan: Plan, job: PlannedJob, group: PodGroup) -> PodValues:
    """The values for the pods of `group`; what is absent is None."""
    shape = _shape_path(job, group)
    reasons: dict[Path, Because] = {}
    spec: Path = ("spec",)
    container: Path = ("spec", "containers", 0)
    values: dict[str, Any] = {
        "role": group.role,
        "labels": {COMPONENT: group.role, NAME: job.name, PROFILE: plan.name},
        "gpus": group.request.device_count,
        "priority_class": job.tier,
    }
    values["scheduler_name"], reasons[*spec, "schedulerName"] = _scheduler_name(plan)
    if job.tier is not None:
        stated = job.source.tier is not None
        reasons[*spec, "priorityClassName"] = Because(
            f"tier {job.tier}" if stated else f"the profile's default tier, {job.tier}",
            ((*job.at, "tier"),) if stated else _tier_paths(plan, job.tier),
        )
    values["node_selector"] = _node_selector(plan, group)
    if values["node_selector"]:
        reasons[*spec, "nodeSelector"] = (
            Because(f"the pods stay on nodes with GPU type {group.gpu_type}", ((*shape, "gpu", "type"),))
            if group.gpu_type
            else Because("CPU-only pods stay off GPU pools", (("spec", "packing", "cpuOnlyPods"),))
        )
    affinity = _Affinity()
    _keep_to_spare_cores(plan, group, affinity)
    _prefer_pools(plan, group, affinity)
    _stay_on_one_type(plan, job, group, affinity)
    _stay_off_workers(plan, job, group, affinity)
    values["affinity"] = affinity.body or None
    reasons |= {(*spec, "affinity", *path): because for path, because in affinity.reasons.items()}
    values["tolerations"], because = _tolerations(plan, group)
    if because is not None:
        reasons[*spec, "tolerations"] = because

    request = {"cpu": cpu_text(group.request.cpu), "memory": memory_text(group.request.memory)}
    request |= {name: str(count) for name, count in sorted(group.request.devices.items())}
    values["request"] = request
    for name, amount in request.items():
        key = name if name in ("cpu", "memory") else "gpu"
        reasons[*container, "resources", "requests", name] = Because(
            f"{amount} for each pod, as the profile states", ((*shape, key),)
        )
        reasons[*container, "resources", "limits", name] = Because(
            "limits equal requests, so the pod is Guaranteed and never outgrows what packing counted",
            ((*shape, key),),
        )
    values["env"] = _environment(plan, group)
    values["shared_memory"] = _shared_memory(job, group)
    return PodValues(group.role, values, reasons)


def environment_because(job: PlannedJob, group: PodGroup, name: str) -> Because:
    """Why a variable of `env` has its value."""
    if name == HIDE_GPUS:
        return Because(
            "a pod that asks for no GPU sees none, also where a node's runtime shows all to images that want all",
            (("spec", "packing", "cpuOnlyPods"),),
        )
    gpus = group.request.device_count
    cores = f"{cpu_text(group.request.cpu)} cores"
    each = f" over {gpus} processes, one for each GPU" if gpus > 1 else ""
    return Because(f"{cores}{each}, rounded down to whole threads", ((*_shape_path(job, group), "cpu"),))


def shared_memory_because(job: PlannedJob, group: PodGroup) -> Because:
    """Why /dev/shm has the size it has."""
    if job.source.shared_memory is not None:
        return Because(
            "size of /dev/shm; its use counts against the pod's memory", ((*job.at, "sharedMemory"),)
        )
    return Because(
        "a quarter of the pod's memory, since data loaders outgrow the runtime's 64Mi; its use counts against "
        "the pod's memory",
        ((*_shape_path(job, group), "memory"),),
    )


def _shape_path(job: PlannedJob, group: PodGroup) -> Path:
    """Where the profile states what pods of `group` ask for."""
    return (*job.at, "master" if group.role == "master" and job.source.master is not None else "each")


@dataclass
class _Affinity:
    """An affinity under construction, with the reasons for its terms."""

    body: dict[str, Any] = field(default_factory=dict)
    reasons: dict[Path, Because] = field(default_factory=dict)

    def add(self, kind: str, strength: str, term: dict[str, Any], because: Because) -> None:
        key = f"{strength}DuringSchedulingIgnoredDuringExecution"
        terms = self.body.setdefault(kind, {}).setdefault(key, [])
        self.reasons[kind, key, len(terms)] = because
        terms.append(term)

    def require_nodes(self, expressions: list[dict[str, Any]], because: Because) -> None:
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        self.body.setdefault("nodeAffinity", {})[key] = {
            "nodeSelectorTerms": [{"matchExpressions": expressions}]
        }
        self.reasons["nodeAffinity", key, "nodeSelectorTerms", 0] = because


def _scheduler_name(plan: Plan) -> tuple[str | None, Because]:
    path = (("spec", "packing", "schedulerName"),)
    if not PLATFORMS[plan.control_plane].own_scheduler_name:
        return None, Because(f"{plan.control_plane} has one scheduler and takes no name", path)
    if plan.scheduler.name == DEFAULT_SCHEDULER:
        return None, Because("packing is a profile of the default scheduler", path)
    return plan.scheduler.name, Because(
        f"pods opt in to packing by naming the scheduler profile {plan.scheduler.name}", path
    )


def _tier_paths(plan: Plan, name: str) -> tuple[Path, ...]:
    return tuple((*tier.at, "default") for tier in plan.tiers if tier.name == name)


def _node_selector(plan: Plan, group: PodGroup) -> dict[str, str] | None:
    if group.gpu_type is not None:
        return {plan.spec.node_labels.gpu_type: group.gpu_type}
    if group.cpu_only and plan.spec.packing.cpu_only_pods == "cpu-pools-only":
        return {plan.spec.node_labels.gpu_type: NO_GPU}
    return None


def _tolerations(plan: Plan, group: PodGroup) -> tuple[list[dict[str, str]] | None, Because | None]:
    """Tolerations of the taints that would keep the pods off pools that can hold them.

    PreferNoSchedule keeps nobody off; it stays the wish that it is.
    """
    found: dict[PlannedTaint, list[Pool]] = {}
    for name in group.pools:
        pool = plan.pool(name)
        for taint in pool.taints:
            if taint.effect != "PreferNoSchedule":
                found.setdefault(taint, []).append(pool)
    if not found:
        return None, None
    # without an operator a toleration means Equal, so it reads as the taint does
    tolerations = [taint_object(taint) for taint in found]
    pools = {pool.name: pool for members in found.values() for pool in members}
    return tolerations, Because(
        f"taints of the pools that can hold the pods: {', '.join(pools)}",
        tuple((*pool.at, "taints" if pool.source.taints is not None else "gpu") for pool in pools.values()),
    )


def _keep_to_spare_cores(plan: Plan, group: PodGroup, affinity: _Affinity) -> None:
    """CPU-only pods stay off pools whose GPUs need all cores, where the profile says so."""
    if not group.cpu_only or plan.spec.packing.cpu_only_pods != "spare-cores":
        return
    names = group.pools
    closed = [pool.name for pool in plan.pools if pool.name not in names]
    if not names or not closed:
        return
    labels = plan.spec.node_labels
    types = sorted({plan.pool(name).gpu_type for name in names})
    # Kueue chooses a flavor by GPU type and does not look at pools
    expressions: list[dict[str, Any]] = [{"key": labels.gpu_type, "operator": "In", "values": types}]
    if any(plan.pool(name).gpu_type in types for name in closed):
        expressions.append({"key": labels.pool, "operator": "In", "values": sorted(names)})
    affinity.require_nodes(
        expressions,
        Because(
            f"CPU-only pods run where cores are to spare while all GPUs work, or where there are none: {', '.join(names)}",
            (("spec", "packing", "cpuOnlyPods"), *(plan.pool(name).at for name in names)),
        ),
    )


def _prefer_pools(plan: Plan, group: PodGroup, affinity: _Affinity) -> None:
    """Pods say which pools they like best, so that they leave the others to those who need them."""
    if group.cpu_only:
        whither = "CPU-only pods go first where a core is least missed"
        packing: tuple[Path, ...] = (("spec", "packing", "cpuOnlyPods"),)
    else:
        whither = "smaller pods go first where no larger one is kept out"
        packing = ()
    for preference in plan.scheduler.preferences.of(group):
        if not preference.weight:
            continue
        affinity.add(
            "nodeAffinity",
            "preferred",
            {
                "weight": preference.weight,
                "preference": {"matchExpressions": [_pools_expression(plan, preference)]},
            },
            Because(
                f"{whither}: {', '.join(preference.pools)} ({preference.why}) with weight {preference.weight}",
                (*packing, *(plan.pool(name).at for name in preference.pools)),
            ),
        )


def _pools_expression(plan: Plan, preference: PoolPreference) -> dict[str, Any]:
    """The node expression for some pools: by GPU type where they are all pools of their types, else by name."""
    types = {plan.pool(name).gpu_type for name in preference.pools}
    if {pool.name for pool in plan.pools if pool.gpu_type in types} == set(preference.pools):
        return {"key": plan.spec.node_labels.gpu_type, "operator": "In", "values": sorted(types)}
    return {"key": plan.spec.node_labels.pool, "operator": "In", "values": sorted(preference.pools)}


def _stay_on_one_type(plan: Plan, job: PlannedJob, group: PodGroup, affinity: _Affinity) -> None:
    """Pods of a job that takes any GPU type all take the same; Kueue does so by itself, with its flavor."""
    types = sorted({plan.pool(name).gpu_type for name in group.pools})
    asking = [each for each in job.pod_groups if not each.cpu_only]
    if group.cpu_only or group.gpu_type or job.queue or len(types) < 2 or sum(g.count for g in asking) < 2:
        return
    labels = {NAME: job.name}
    if len(asking) < len(job.pod_groups):
        labels[COMPONENT] = group.role
    affinity.add(
        "podAffinity",
        "required",
        {
            "labelSelector": {"matchLabels": dict(sorted(labels.items()))},
            "topologyKey": plan.spec.node_labels.gpu_type,
        },
        Because(
            f"the job takes any of {', '.join(types)}, and all its pods take the same: the first pod decides",
            ((*job.at, "each", "gpu"),),
        ),
    )


def _stay_off_workers(plan: Plan, job: PlannedJob, group: PodGroup, affinity: _Affinity) -> None:
    """The master keeps off its workers' nodes. One side is enough: the scheduler reads required
    anti-affinity both ways (InterPodAffinity, pods that are there already have their say in Filter)."""
    if group.role != "master" or kueue_assigns_nodes(plan, job):
        return
    affinity.add(
        "podAntiAffinity",
        "required",
        {
            "labelSelector": {
                "matchLabels": {JOBSET_NAME: job.name, REPLICATED_JOB: REPLICATED_JOBS["worker"]}
            },
            "topologyKey": HOSTNAME,
        },
        Because("the master has a node without workers of its own JobSet", ((*job.at, "template"),)),
    )


def kueue_assigns_nodes(plan: Plan, job: PlannedJob) -> bool:
    """Whether Kueue's topology-aware scheduling, and not the scheduler, chooses the nodes of the job."""
    return job.queue is not None and HOSTNAME in plan.spec.queueing.topology_levels


def _environment(plan: Plan, group: PodGroup) -> dict[str, str]:
    """Variables that follow from what the pods ask for and where they may run."""
    threads = max(1, group.request.cpu // 1000 // max(1, group.request.device_count))
    variables = {THREADS: str(threads)}
    if group.cpu_only and any(plan.pool(name).has_gpus for name in group.pools):
        variables[HIDE_GPUS] = "void"
    return variables


def _shared_memory(job: PlannedJob, group: PodGroup) -> str | None:
    stated = job.source.shared_memory
    if stated is not None:
        return memory_text(stated.value())
    return memory_text(group.request.memory // 4 >> 20 << 20) if group.request.devices else None
