"""Jobs: what their pods ask for, and which pools can hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..profile.models import Job, PodShape, Spec
from .model import Amount, PlannedJob, PodGroup, Pool


def plan_jobs(spec: Spec, pools: Sequence[Pool]) -> tuple[tuple[PlannedJob, ...], tuple[str, ...]]:
    """Every job with defaults resolved and the pools that can hold each of its pods on an empty node.

    Beside them the names of the pools on which CPU-only pods may run.
    """
    by_type: dict[str, list[Pool]] = defaultdict(list)
    for pool in pools:
        by_type[pool.gpu_type].append(pool)
    namespaces = {queue.name: queue.namespaces[0] for queue in spec.queues}
    default_tier = next((tier.name for tier in spec.priority_tiers if tier.default), None)
    shapes = dict.fromkeys(shape for job in spec.jobs for shape in (job.each, job.master) if shape)
    known = {shape: _request_and_pools(shape, pools, by_type) for shape in shapes}
    open_pools = tuple(pool.name for pool in _cpu_only_pools(spec, pools, known.values()))

    def group(role: str, count: int, shape: PodShape) -> PodGroup:
        request, fitting = known[shape]
        if shape.gpu is None:
            fitting = tuple(name for name in fitting if name in open_pools)
        return PodGroup(role, count, request, fitting, shape.gpu.type if shape.gpu else None)

    def plan(index: int, job: Job) -> PlannedJob:
        groups = [group("worker", job.workers, job.each)]
        if job.template == "master-workers" or job.master is not None:
            groups.insert(0, group("master", 1, job.master or job.each))
        return PlannedJob(
            name=job.name,
            at=("spec", "jobs", index),
            source=job,
            namespace=job.namespace or namespaces.get(job.queue or "", "default"),
            tier=job.tier or default_tier,
            queue=job.queue,
            pod_groups=tuple(groups),
        )

    return tuple(plan(index, job) for index, job in enumerate(spec.jobs)), open_pools


def _cpu_only_pools(
    spec: Spec, pools: Sequence[Pool], asked: Iterable[tuple[Amount, Sequence[str]]]
) -> tuple[Pool, ...]:
    """The pools on which CPU-only pods may run; `asked` are requests of pods and the pools that can hold them.

    A pool has cores to spare if the smallest CPU-only pod fits beside GPUs that all work for the pods with most cores
    for each.
    """
    policy = spec.packing.cpu_only_pods
    if policy == "cpu-pools-only":
        return tuple(pool for pool in pools if not pool.has_gpus)
    if policy != "spare-cores":
        return tuple(pools)
    smallest: int | None = None
    needed: dict[str, int] = defaultdict(int)
    for request, names in asked:
        if not request.devices:
            smallest = request.cpu if smallest is None else min(smallest, request.cpu)
            continue
        for name in names:
            needed[name] = max(needed[name], -(-request.cpu // request.device_count))
    return tuple(
        pool
        for pool in pools
        if not pool.has_gpus or pool.room.cpu - needed[pool.name] * pool.room.device_count >= (smallest or 0)
    )


def _request_and_pools(
    shape: PodShape, pools: Sequence[Pool], by_type: dict[str, list[Pool]]
) -> tuple[Amount, tuple[str, ...]]:
    cpu, memory = shape.cpu.milli_value(), shape.memory.value()
    if shape.gpu is None:
        request = Amount(cpu, memory)
        return request, tuple(pool.name for pool in pools if pool.room_for(request).holds(request))
    candidates = by_type.get(shape.gpu.type, []) if shape.gpu.type else [p for p in pools if p.has_gpus]
    resource = shape.gpu.resource or _offered(candidates)
    request = Amount(cpu, memory, {resource: shape.gpu.count})
    return request, tuple(pool.name for pool in candidates if pool.room_for(request).holds(request))


def _offered(pools: Sequence[Pool]) -> str:
    """The resource that most nodes of `pools` offer; the first named wins a tie."""
    nodes: dict[str, int] = {}
    for pool in pools:
        for name in pool.allocatable.devices:
            nodes[name] = nodes.get(name, 0) + pool.nodes_max
    return max(nodes, key=lambda name: nodes[name], default="nvidia.com/gpu")
