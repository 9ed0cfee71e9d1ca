"""Fragmentation: how much of what is free the profile's jobs can't use.

FGD (Weng et al., ATC'23) weighs what is free on a node by the tasks that can't use it; here the tasks are the pods
of the profile's jobs, and whole devices are counted. For the nodes of one GPU type and one resource:

    unusable = sum over nodes and sizes of  weight * (free - copies * request)
               / (sum of weights * free of all nodes)

`copies` is how many pods of the size the node takes as it is: the least of free / request, rounded down, over cpu,
memory, devices and the number of pods; none where the node is cordoned or has a taint that the plan gives its pool
not; a cap in filter form is kept. The sizes are the pod groups that ask for the resource and are meant for the
type, `weight` is their number of pods. Sizes that ask for devices are meant for their GPU type; the others for
the types of the pools that the plan lets them into.

Worked example: jobs of two pods with 4 GPUs and 16 cores, and of one pod with 1 GPU and 6 cores; a node with 7
GPUs and 20 cores free. One of the 4-GPU pods fits and leaves 3 GPUs; three of the 1-GPU pods fit (cores for a
fourth are lacking) and leave 4 GPUs. Unusable are (2*3 + 1*4) / (3*7) = 10/21 = 48 % of the free GPUs, and of the
cores (2*(20-16) + 1*(20-18)) / (3*20) = 10/60 = 17 %. FGD itself would not count what copies leave over.

Where nothing is free nothing is unusable: 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..plan.model import Cap, Plan
from ..simulate.matching import Taint
from .choices import KNOWN_STATES, takes_all_devices
from .nodes import PODS, Kind, Nodes


class Stock(NamedTuple):
    """One resource on the nodes of one GPU type: millicores, bytes or pieces.

    `unusable` is the share of `free` that the profile's jobs can't use, None where none of them asks for the
    resource there.
    """

    allocatable: int
    free: int
    unusable: float | None

    @property
    def free_share(self) -> float:
        """The plain rate, (allocatable - requested) / allocatable; 0 of nothing."""
        return self.free / self.allocatable if self.allocatable else 0.0


#: By resource name.
Fragmentation = Mapping[str, Stock]


class _Size(NamedTuple):
    weight: int
    request: tuple[tuple[int, int], ...]
    devices: Mapping[str, int]


class _Type(NamedTuple):
    """What is asked of the nodes of a GPU type. `weights` are the sums by resource, in the order of `resources`."""

    resources: tuple[tuple[str, int], ...]
    sizes: tuple[_Size, ...]
    weights: tuple[int, ...]


#: By resource: allocatable, free, and the sum of weight times unusable.
_Sums = tuple[tuple[int, int, int], ...]


class Sizes:
    """The fragmentation of `nodes`, kept up change by change. Nodes of no pool of the plan are left out."""

    def __init__(self, plan: Plan, nodes: Nodes, cap: Cap | None) -> None:
        self._nodes = nodes
        self._limits = (
            [
                (nodes.place(name), least)
                for name, least in (("cpu", cap.cpu), ("memory", cap.memory))
                if least
            ]
            if cap
            else []
        )
        self._exempt = cap is not None and cap.exempt_whole_node
        self._types = {
            name: _plan_type(plan, name, nodes) for name in sorted({p.gpu_type for p in plan.pools})
        }
        self._sums = {name: [[0, 0, 0] for _ in kind.resources] for name, kind in self._types.items()}
        self._given: dict[int, tuple[str, _Sums]] = {}
        self._known: dict[tuple[int, ...], tuple[str, _Sums]] = {}
        self._stamp = 0

    def now(self) -> dict[str, Fragmentation]:
        """The fragmentation by GPU type, "none" for nodes without GPUs; types without a node are left out."""
        for slot in self._nodes.since(self._stamp):
            self._renew(slot)
        self._stamp = self._nodes.stamp
        return {name: self._fragmentation(name) for name in self._types if self._sums[name][0][0]}

    def _fragmentation(self, name: str) -> Fragmentation:
        asked = self._types[name]
        stocks: dict[str, Stock] = {}
        for (resource, _), weight, sums in zip(asked.resources, asked.weights, self._sums[name], strict=True):
            allocatable, free, unusable = sums
            share = unusable / (weight * free) if weight and free else 0.0
            stocks[resource] = Stock(allocatable, free, share if weight else None)
        return stocks

    def _renew(self, slot: int) -> None:
        if slot in self._given:
            self._add(*self._given.pop(slot), sign=-1)
        known = self._nodes.slots[slot]
        if known is None or known.kind is None or known.kind.pool is None:
            return
        state = tuple(known.used)
        given = self._known.get(state)
        if given is None:
            if len(self._known) >= KNOWN_STATES:
                self._known.clear()
            name = known.kind.pool.gpu_type
            given = self._known[state] = name, self._of(known.kind, known.used, self._types[name])
        self._given[slot] = given
        self._add(*given, sign=1)

    def _add(self, name: str, sums: _Sums, *, sign: int) -> None:
        for total, part in zip(self._sums[name], sums, strict=True):
            for position, amount in enumerate(part):
                total[position] += sign * amount

    def _of(self, kind: Kind, used: list[int], asked: _Type) -> _Sums:
        free = [max(0, whole - taken) for whole, taken in zip(kind.offers, used, strict=True)]
        copies = [self._copies(size, kind, free) for size in asked.sizes]
        sums: list[tuple[int, int, int]] = []
        for _, place in asked.resources:
            unusable = 0
            for size, count in zip(asked.sizes, copies, strict=True):
                request = next((amount for where, amount in size.request if where == place), 0)
                if request:
                    unusable += size.weight * (free[place] - count * request)
            sums.append((kind.offers[place], free[place], unusable))
        return tuple(sums)

    def _copies(self, size: _Size, kind: Kind, free: list[int]) -> int:
        if not _is_open(kind):
            return 0
        copies = min(free[place] // amount for place, amount in ((PODS, 1), *size.request))
        if self._limits and not (self._exempt and takes_all_devices(size.devices, kind.node.allocatable)):
            request = dict(size.request)
            for place, least in self._limits:
                if not kind.offers[place]:
                    continue
                if free[place] < least:
                    return 0
                if request.get(place):
                    copies = min(copies, (free[place] - least) // request[place])
        return copies


def _is_open(kind: Kind) -> bool:
    """Whether the pool's jobs may go there: no cordon, and no taint beside those that the plan gives the pool."""
    planned = {Taint(*taint) for taint in kind.pool.taints} if kind.pool else set()
    closing = (taint for taint in kind.node.taints if taint.effect != "PreferNoSchedule")
    return not kind.node.unschedulable and all(taint in planned for taint in closing)


def _plan_type(plan: Plan, name: str, nodes: Nodes) -> _Type:
    pools = {pool.name for pool in plan.pools if pool.gpu_type == name}
    devices = sorted({device for pool in pools for device in plan.pool(pool).allocatable.devices})
    sizes: list[_Size] = []
    for job in plan.jobs:
        for group in job.pod_groups:
            is_meant = group.gpu_type == name if group.gpu_type else not pools.isdisjoint(group.pools)
            if is_meant:
                amounts = {"cpu": group.request.cpu, "memory": group.request.memory, **group.request.devices}
                request = tuple((nodes.place(resource), n) for resource, n in amounts.items() if n)
                sizes.append(_Size(group.count, request, group.request.devices))
    resources = tuple((resource, nodes.place(resource)) for resource in ("cpu", "memory", *devices))
    weights = tuple(
        sum(size.weight for size in sizes if any(where == place for where, _ in size.request))
        for _, place in resources
    )
    return _Type(resources, tuple(sizes), weights)
