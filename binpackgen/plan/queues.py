"""Queues: flavors from pools, quotas from shares, limits per tier."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..profile.models import PoolQuota, Queue, Spec
from ..profile.types import Share
from ..quantity import Quantity
from .model import Amount, Flavor, FlavorQuota, PlannedCohort, PlannedQueue, Pool, TierLimit
from .pools import NO_GPU
from .preferences import millicores_per_device

#: Name of the flavor (and quota key) of all pools without GPUs.
CPU_FLAVOR = "cpu"


def plan_flavors(spec: Spec, pools: Sequence[Pool]) -> tuple[Flavor, ...]:
    """One flavor per kind of node: CPU pools first, then GPU types by cores per GPU, most first.

    A flavor is a GPU type and not a pool, since Kueue pins an admitted job to its flavor's nodes, and packing
    should choose among all pools of the type. Kueue tries flavors in this order.
    """
    by_type: dict[str, list[Pool]] = defaultdict(list)
    for pool in pools:
        by_type[pool.gpu_type].append(pool)
    flavors = [_flavor(spec, gpu_type, members) for gpu_type, members in by_type.items()]
    return tuple(
        sorted(
            flavors,
            key=lambda flavor: (
                flavor.millicores_per_device is not None,
                -(flavor.millicores_per_device or 0),
                flavor.name,
            ),
        )
    )


def flavor_name(gpu_type: str) -> str:
    """The DNS name of a GPU type's flavor: V100M32 is v100m32."""
    if gpu_type == NO_GPU:
        return CPU_FLAVOR
    return re.sub(r"[^a-z0-9.]+", "-", gpu_type.lower()).strip("-.")


def _flavor(spec: Spec, gpu_type: str, members: list[Pool]) -> Flavor:
    room = Amount(0, 0)
    for pool in members:
        room = room.plus(pool.room.times(pool.nodes_max))
    shared = set(members[0].taints)
    for pool in members[1:]:
        shared &= set(pool.taints)
    ratios = [ratio for pool in members if (ratio := millicores_per_device(pool)) is not None]
    return Flavor(
        name=flavor_name(gpu_type),
        gpu_type=gpu_type,
        pools=tuple(pool.name for pool in members),
        node_labels={spec.node_labels.gpu_type: gpu_type},
        taints=tuple(taint for taint in members[0].taints if taint in shared),
        room=room,
        millicores_per_device=max(ratios, default=None),
    )


def quota_keys(flavors: Sequence[Flavor]) -> dict[str, Flavor]:
    """What a quota may name: a flavor, its GPU type, or the only pool of a flavor."""
    keys: dict[str, Flavor] = {}
    for flavor in flavors:
        if len(flavor.pools) == 1:
            keys[flavor.pools[0]] = flavor
    for flavor in flavors:
        keys[flavor.gpu_type] = flavor
        keys[flavor.name] = flavor
    return keys


def plan_queues(
    spec: Spec, cluster: str, flavors: Sequence[Flavor]
) -> tuple[tuple[PlannedQueue, ...], tuple[PlannedCohort, ...]]:
    """Every queue with its quotas in numbers, and the cohorts that they form."""
    keys = quota_keys(flavors)
    order = {flavor.name: rank for rank, flavor in enumerate(flavors)}
    queues = tuple(_queue(index, queue, cluster, keys, order) for index, queue in enumerate(spec.queues))
    named = {
        cohort.name: ("spec", "queueing", "cohorts", i) for i, cohort in enumerate(spec.queueing.cohorts)
    }
    cohorts = tuple(
        PlannedCohort(cohort.name, cohort.parent, named[cohort.name]) for cohort in spec.queueing.cohorts
    )
    return queues, cohorts


def _queue(
    index: int, queue: Queue, cluster: str, keys: Mapping[str, Flavor], order: Mapping[str, int]
) -> PlannedQueue:
    at = ("spec", "queues", index)
    quotas = [
        FlavorQuota(keys[key].name, in_numbers(quota, keys[key].room), (*at, "quota", key))
        for key, quota in queue.quota.items()
        if key in keys
    ]
    quotas.sort(key=lambda quota: order[quota.flavor])
    total = Amount(0, 0)
    for quota in quotas:
        total = total.plus(quota.nominal)
    limits = tuple(
        TierLimit(tier, in_numbers(limit, total), (*at, "tierLimits", tier))
        for tier, limit in queue.tier_limits.items()
    )
    alone = not queue.borrows and not queue.lends and queue.cohort is None
    return PlannedQueue(
        name=queue.name,
        at=at,
        source=queue,
        cohort=None if alone else queue.cohort or cluster,
        quotas=tuple(quotas),
        tier_limits=limits,
    )


def in_numbers(quota: PoolQuota, whole: Amount) -> Amount:
    """A quota of `whole` in numbers, rounded down to whole devices, millicores and Mi.

    What is left out follows the share of what is given: of gpu, else of cpu, else of memory.
    """
    devices = whole.device_count
    given = [
        _ratio(quota.gpu, devices),
        _ratio(quota.cpu, whole.cpu, milli=True),
        _ratio(quota.memory, whole.memory),
    ]
    follow = next((ratio for ratio in given if ratio is not None), (0, 1))
    gpu, cpu, memory = (ratio or follow for ratio in given)
    return Amount(
        cpu=whole.cpu * cpu[0] // cpu[1],
        memory=whole.memory * memory[0] // memory[1] >> 20 << 20,
        devices={name: count * gpu[0] // gpu[1] for name, count in whole.devices.items()},
    )


def _ratio(value: Quantity | Share | int | None, whole: int, milli: bool = False) -> tuple[int, int] | None:
    """`value` as a fraction of `whole`."""
    if value is None:
        return None
    if isinstance(value, Share):
        return value.percent, 100
    if isinstance(value, Quantity):
        number = value.milli_value() if milli else value.value()
    else:
        number = value
    return (number, whole) if whole else (0, 1)
