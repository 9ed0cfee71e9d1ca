"""Which pools pods prefer, so that they leave the rest to those who have no choice.

CPU-only pods: a resource that a pod does not ask for drops out of MostAllocated, so packing alone fills GPU nodes
with them. They go to CPU pools first, then to the pools with most cores per GPU, where a core is least likely to
be the one that a GPU job misses.

Pods with fewer GPUs than the largest that can run beside them: packing alone leaves holes on all kinds of nodes as
jobs come and go. They go first to the pools that cannot hold the largest, then to those with the smallest nodes, so
that whole nodes stay in the pools that can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from types import MappingProxyType

from ..profile.models import Spec
from .model import DeviceKey, PlannedJob, Pool, PoolPreference, Preferences, SizeOrder
from .pools import cpu_text, memory_text

#: Most classes that fit into the weights 1..100 of preferred terms with a distance of at least 1.
MAX_CLASSES = 100


def plan_preferences(spec: Spec, pools: Sequence[Pool], jobs: Sequence[PlannedJob]) -> Preferences:
    """Classes of pools from most to least preferred; empty where there is nothing to choose."""
    return Preferences(
        _of_cpu_only_pods(spec, pools, jobs), MappingProxyType(dict(_of_smaller_pods(pools, jobs)))
    )


def _of_cpu_only_pods(
    spec: Spec, pools: Sequence[Pool], jobs: Sequence[PlannedJob]
) -> tuple[PoolPreference, ...]:
    if spec.packing.cpu_only_pods not in ("cpu-pools-first", "spare-cores"):
        return ()
    if not any(group.cpu_only for job in jobs for group in job.pod_groups):
        return ()
    ratios: dict[int | None, list[str]] = defaultdict(list)
    for pool in pools:
        ratios[millicores_per_device(pool)].append(pool.name)
    order = sorted(ratios, key=lambda ratio: (ratio is not None, -(ratio or 0)))
    return _weighted(
        ("no GPUs to strand" if ratio is None else f"{cpu_text(ratio)} cores for each GPU", ratios[ratio])
        for ratio in order
    )


def _of_smaller_pods(
    pools: Sequence[Pool], jobs: Sequence[PlannedJob]
) -> Iterator[tuple[DeviceKey, SizeOrder]]:
    sizes: dict[DeviceKey, set[int]] = defaultdict(set)
    most: dict[tuple[str, str], int] = defaultdict(int)
    for job in jobs:
        for group in job.pod_groups:
            key = group.device_key
            if key is not None:
                sizes[key].add(group.request.device_count)
                for name in group.pools:
                    most[name, key.resource] = max(most[name, key.resource], group.request.device_count)
    for key, asked in sizes.items():
        candidates = [
            pool
            for pool in pools
            if key.resource in pool.allocatable.devices and key.gpu_type in (None, pool.gpu_type)
        ]
        largest = max((most[pool.name, key.resource] for pool in candidates), default=0)
        if min(asked) < largest:
            holders = {pool.name for pool in candidates if most[pool.name, key.resource] == largest}
            classes = _by_size(candidates, holders, largest)
            if classes:
                yield key, SizeOrder(largest, classes)


def _by_size(
    candidates: Sequence[Pool], holders: Collection[str], largest: int
) -> tuple[PoolPreference, ...]:
    """First the pools where nobody so large can run, then the others, smallest nodes first."""
    nodes: dict[tuple[int, int] | None, list[str]] = defaultdict(list)
    for pool in candidates:
        size = (pool.allocatable.cpu, pool.allocatable.memory) if pool.name in holders else None
        nodes[size].append(pool.name)
    return _weighted(
        (
            f"{cpu_text(size[0])} cores and {memory_text(size[1])} on a node"
            if size
            else f"no pods with {largest} GPUs to leave room for",
            nodes[size],
        )
        for size in sorted(nodes, key=lambda size: size or (0, 0))
    )


def _weighted(classes: Iterable[tuple[str, list[str]]]) -> tuple[PoolPreference, ...]:
    joined = _at_most(MAX_CLASSES, list(classes))
    if len(joined) < 2:
        return ()
    last = len(joined) - 1
    return tuple(
        PoolPreference(tuple(names), 100 * (last - rank) // last, why)
        for rank, (why, names) in enumerate(joined)
    )


def millicores_per_device(pool: Pool) -> int | None:
    """Allocatable millicores per device of a node; None for pools without devices."""
    return pool.allocatable.cpu // pool.allocatable.device_count if pool.has_gpus else None


def smallest_gap(preferences: Preferences) -> int:
    """The least difference between the normalized scores of two classes; 0 without classes.

    NodeAffinity normalizes to 100 * raw // max over the feasible nodes with max <= 100, which never brings
    two integers closer together.
    """
    return min(
        (high.weight - low.weight for classes in preferences.orders() for high, low in pairwise(classes)),
        default=0,
    )


def _at_most(limit: int, classes: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Join neighbors until there are at most `limit` classes; each keeps its first reason."""
    if len(classes) <= limit:
        return classes
    joined: list[tuple[str, list[str]]] = []
    for rank, (why, names) in enumerate(classes):
        bucket = rank * limit // len(classes)
        if bucket < len(joined):
            joined[bucket][1].extend(names)
        else:
            joined.append((why, list(names)))
    return joined
