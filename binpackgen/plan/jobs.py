"""Jobs: what their pods ask for, and which pools can hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ..profile.models import Job, PodShape, Spec
from .model import Amount, PlannedJob, PodGroup, Pool


def plan_jobs(spec: Spec, pools: Sequence[Pool]) -> tuple[PlannedJob, ...]:
    """Every job with defaults resolved and the pools that can hold each of its pods on an empty node."""
    by_type: dict[str, list[Pool]] = defaultdict(list)
    for pool in pools:
        by_type[pool.gpu_type].append(pool)
    namespaces = {queue.name: queue.namespaces[0] for queue in spec.queues}
    default_tier = next((tier.name for tier in spec.priority_tiers if tier.default), None)
    cpu_pools_only = spec.packing.cpu_only_pods == "cpu-pools-only"
    cache: dict[PodShape, tuple[Amount, tuple[str, ...]]] = {}

    def group(role: str, count: int, shape: PodShape) -> PodGroup:
        if shape not in cache:
            cache[shape] = _request_and_pools(shape, pools, by_type, cpu_pools_only)
        request, fitting = cache[shape]
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

    return tuple(plan(index, job) for index, job in enumerate(spec.jobs))


def _request_and_pools(
    shape: PodShape, pools: Sequence[Pool], by_type: dict[str, list[Pool]], cpu_pools_only: bool
) -> tuple[Amount, tuple[str, ...]]:
    cpu, memory = shape.cpu.milli_value(), shape.memory.value()
    if shape.gpu is None:
        request = Amount(cpu, memory)
        candidates = [pool for pool in pools if not (cpu_pools_only and pool.has_gpus)]
        return request, tuple(pool.name for pool in candidates if pool.room_for(request).holds(request))
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
