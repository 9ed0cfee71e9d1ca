"""Which pools CPU-only pods prefer, so that they do not strand GPUs.

A resource that a pod does not ask for drops out of MostAllocated, so packing alone fills GPU nodes with
CPU-only pods. They go to CPU pools first, then to the pools with most cores per GPU, where a core is least
likely to be the one that a GPU job misses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from ..profile.models import Spec
from .model import PlannedJob, Pool, PoolPreference

#: Most classes that fit into the weights 1..100 of preferred terms with a distance of at least 1.
MAX_CLASSES = 100


def plan_preferences(
    spec: Spec, pools: Sequence[Pool], jobs: Sequence[PlannedJob]
) -> tuple[PoolPreference, ...]:
    """Classes of pools from most to least preferred; empty where there is nothing to choose."""
    if spec.packing.cpu_only_pods != "cpu-pools-first":
        return ()
    if not any(group.cpu_only for job in jobs for group in job.pod_groups):
        return ()
    ratios: dict[int | None, list[str]] = defaultdict(list)
    for pool in pools:
        ratios[millicores_per_device(pool)].append(pool.name)
    if len(ratios) < 2:
        return ()
    order = sorted(ratios, key=lambda ratio: (ratio is not None, -(ratio or 0)))
    classes = _at_most(MAX_CLASSES, [(ratio, ratios[ratio]) for ratio in order])
    last = len(classes) - 1
    return tuple(
        PoolPreference(tuple(names), 100 * (last - rank) // last, ratio)
        for rank, (ratio, names) in enumerate(classes)
    )


def millicores_per_device(pool: Pool) -> int | None:
    """Allocatable millicores per device of a node; None for pools without devices."""
    return pool.allocatable.cpu // pool.allocatable.device_count if pool.has_gpus else None


def smallest_gap(preferences: Sequence[PoolPreference]) -> int:
    """The least difference between the normalized scores of two classes; 0 without classes.

    NodeAffinity normalizes to 100 * raw // max over the feasible nodes with max <= 100, which never brings
    two integers closer together.
    """
    weights = [preference.weight for preference in preferences]
    return min((high - low for high, low in pairwise(weights)), default=0)


def _at_most(limit: int, classes: list[tuple[int | None, list[str]]]) -> list[tuple[int | None, list[str]]]:
    """Join neighbors until there are at most `limit` classes; each keeps its first ratio."""
    if len(classes) <= limit:
        return classes
    joined: list[tuple[int | None, list[str]]] = []
    for rank, (ratio, names) in enumerate(classes):
        bucket = rank * limit // len(classes)
        if bucket < len(joined):
            joined[bucket][1].extend(names)
        else:
            joined.append((ratio, list(names)))
    return joined
