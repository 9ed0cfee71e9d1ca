"""The plan: every decision of the compiler as frozen data, each with the profile path it follows from.

Units: cpu in millicores, memory in bytes, devices as whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ..profile.load import LoadedProfile
from ..profile.models import Job, NodePool, PriorityTier, Queue, Spec
from ..source import Path, Span


class Amount(NamedTuple):
    """An amount of node resources; `devices` maps extended resource names to counts."""

    cpu: int
    memory: int
    devices: Mapping[str, int] = MappingProxyType({})

    def times(self, count: int) -> Amount:
        """This amount `count` times."""
        return Amount(
            self.cpu * count,
            self.memory * count,
            {name: number * count for name, number in self.devices.items()},
        )

    def plus(self, other: Amount) -> Amount:
        """The sum with `other`."""
        devices = dict(self.devices)
        for name, number in other.devices.items():
            devices[name] = devices.get(name, 0) + number
        return Amount(self.cpu + other.cpu, self.memory + other.memory, devices)

    def less(self, other: Amount) -> Amount:
        """What is left after `other` is taken away; never below zero."""
        devices = {name: max(0, n - other.devices.get(name, 0)) for name, n in self.devices.items()}
        return Amount(max(0, self.cpu - other.cpu), max(0, self.memory - other.memory), devices)

    def holds(self, other: Amount) -> bool:
        """Whether `other` fits into this amount."""
        return (
            other.cpu <= self.cpu
            and other.memory <= self.memory
            and all(number <= self.devices.get(name, 0) for name, number in other.devices.items())
        )

    @property
    def device_count(self) -> int:
        """Devices of all kinds together."""
        return sum(self.devices.values())


class PlannedTaint(NamedTuple):
    key: str
    value: str
    effect: str


class Pool(NamedTuple):
    """A node pool with what the kubelet offers and what jobs can have.

    `capacity` less `reserved` (kubelet reserves, eviction threshold, and a cap in reserve form) is
    `allocatable`, which the scheduler sees; less `overhead` (DaemonSets) and a cap in filter form it is
    `room`, which jobs can have on an empty node. `whole_room` is what a pod can have that takes all devices:
    more than `room` where the cap exempts it.
    """

    name: str
    at: Path
    source: NodePool
    gpu_type: str
    nodes_min: int
    nodes_max: int
    capacity: Amount
    kube_reserved: Amount
    system_reserved: Amount
    eviction_memory: int
    allocatable: Amount
    overhead: Amount
    room: Amount
    whole_room: Amount
    labels: Mapping[str, str]
    taints: tuple[PlannedTaint, ...]

    def room_for(self, request: Amount) -> Amount:
        """What a pod of `request` can have on an empty node."""
        offered = self.allocatable.devices
        takes_all = offered and all(request.devices.get(name, 0) >= count for name, count in offered.items())
        return self.whole_room if takes_all else self.room

    @property
    def has_gpus(self) -> bool:
        """Whether the pool's nodes offer devices."""
        return bool(self.allocatable.devices)


class DeviceKey(NamedTuple):
    """The devices that a pod competes for: a resource, on nodes of one GPU type or (None) of any."""

    resource: str
    gpu_type: str | None


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods of one job that are equal: `count` pods of `request`, at most `count` at a time."""

    role: str
    count: int
    request: Amount
    pools: tuple[str, ...]
    gpu_type: str | None

    @property
    def cpu_only(self) -> bool:
        """Whether the pods ask for no device."""
        return not self.request.devices

    @property
    def device_key(self) -> DeviceKey | None:
        """The devices that the pods compete for, None if they ask for none."""
        resource = next(iter(self.request.devices), None)
        return DeviceKey(resource, self.gpu_type) if resource else None


class PlannedJob(NamedTuple):
    """A job with its defaults resolved. `pod_groups` has one entry, or master and workers."""

    name: str
    at: Path
    source: Job
    namespace: str
    tier: str | None
    queue: str | None
    pod_groups: tuple[PodGroup, ...]


class ScorerWeight(NamedTuple):
    """A score plugin of the packing profile that is on, with its weight and the reason."""

    plugin: str
    weight: int
    reason: str


class SwitchedOff(NamedTuple):
    """A default score plugin that the packing profile switches off: why, and what that costs."""

    plugin: str
    default_weight: int
    reason: str
    cost: str


class Margin(NamedTuple):
    """By how many points one step of packing outvotes all other scorers on one pool for one kind of pod.

    `step` is the least difference of the NodeResourcesFit score (0..100) that one step makes, after integer
    rounding: one more device in use, or one more smallest job. `step_any_state` is the same when everything
    else about the two nodes may differ in the worst way (cpu and memory full on the emptier one); only for
    pods with devices. `rivals` is the most that the other scorers can add up to within the pool.
    """

    pool: str
    job: str
    role: str
    device: str | None
    step: int
    step_any_state: int | None
    weight: int
    rivals: int

    @property
    def points(self) -> int:
        """Score points left after the rivals have had their say; dominance is > 0."""
        return self.weight * self.step - self.rivals

    @property
    def points_any_state(self) -> int | None:
        """The same against a node that is ahead in cpu and memory."""
        return None if self.step_any_state is None else self.weight * self.step_any_state - self.rivals


class PoolPreference(NamedTuple):
    """Pools that pods like equally, with the weight (1..100) of their preferred term, and why they stand there.

    `weight` 0 stands for the pools that come last: they need no term.
    """

    pools: tuple[str, ...]
    weight: int
    why: str


class SizeOrder(NamedTuple):
    """The pools that pods with fewer than `largest` devices prefer, best first."""

    largest: int
    classes: tuple[PoolPreference, ...]


class Preferences(NamedTuple):
    """The pools that pods prefer, best first: CPU-only pods, and those with fewer devices than the largest ones."""

    cpu_only: tuple[PoolPreference, ...] = ()
    smaller: Mapping[DeviceKey, SizeOrder] = MappingProxyType({})

    def of(self, group: PodGroup) -> tuple[PoolPreference, ...]:
        """Those of the pods of `group`; empty if they have none."""
        if group.device_key is None:
            return self.cpu_only
        order = self.smaller.get(group.device_key)
        return order.classes if order and group.request.device_count < order.largest else ()

    def orders(self) -> tuple[tuple[PoolPreference, ...], ...]:
        """All of them."""
        return (self.cpu_only, *(order.classes for order in self.smaller.values()))

    @property
    def any(self) -> bool:
        """Whether any pods prefer pools."""
        return bool(self.cpu_only or self.smaller)


class Scheduler(NamedTuple):
    """The packing profile of kube-scheduler, and the margins that it reaches.

    `no_margin` says why there are none; it is empty where there are.
    """

    name: str
    strategy: str
    shape: tuple[tuple[int, int], ...]
    resource_weights: tuple[tuple[str, int], ...]
    resource_reason: str
    scorers: tuple[ScorerWeight, ...]
    switched_off: tuple[SwitchedOff, ...]
    percentage_of_nodes_to_score: int | None
    margins: tuple[Margin, ...]
    preferences: Preferences
    serving_name: str | None
    no_margin: str

    def weight_of(self, plugin: str) -> int:
        """Weight of a score plugin, 0 where it is off."""
        return next((s.weight for s in self.scorers if s.plugin == plugin), 0)

    def gpu_weight(self) -> int | None:
        """Weight of the GPU resources inside NodeResourcesFit."""
        return next((w for name, w in self.resource_weights if name not in ("cpu", "memory")), None)

    @property
    def worst(self) -> Margin | None:
        """The smallest margin."""
        return min(self.margins, key=lambda m: m.points, default=None)


class Flavor(NamedTuple):
    """A kind of node for queueing: the pools of one GPU type, or all CPU pools.

    `room` is what all nodes together (at their most) hold for jobs.
    """

    name: str
    gpu_type: str
    pools: tuple[str, ...]
    node_labels: Mapping[str, str]
    taints: tuple[PlannedTaint, ...]
    room: Amount
    millicores_per_device: int | None


class FlavorQuota(NamedTuple):
    flavor: str
    nominal: Amount
    at: Path


class TierLimit(NamedTuple):
    """Most that pods of one tier may request in a namespace of the queue."""

    tier: str
    limit: Amount
    at: Path


class PlannedQueue(NamedTuple):
    name: str
    at: Path
    source: Queue
    cohort: str | None
    quotas: tuple[FlavorQuota, ...]
    tier_limits: tuple[TierLimit, ...]


class PlannedCohort(NamedTuple):
    name: str
    parent: str | None
    at: Path


class Tier(NamedTuple):
    name: str
    at: Path
    source: PriorityTier


class Cap(NamedTuple):
    """Headroom that stays free on every node, in one of three forms."""

    cpu: int
    memory: int
    form: str
    exempt_whole_node: bool
    at: Path


class Plan(NamedTuple):
    """Everything that the targets need; nothing in it is a guess."""

    loaded: LoadedProfile
    name: str
    minor: int
    version: str
    control_plane: str
    pools: tuple[Pool, ...]
    pools_by_name: Mapping[str, Pool]
    cpu_only_pools: tuple[str, ...]
    """Pools on which pods without GPUs may run, whether or not they fit."""
    tiers: tuple[Tier, ...]
    jobs: tuple[PlannedJob, ...]
    scheduler: Scheduler
    flavors: tuple[Flavor, ...]
    queues: tuple[PlannedQueue, ...]
    cohorts: tuple[PlannedCohort, ...]
    covered_resources: tuple[str, ...]
    cap: Cap | None

    @property
    def spec(self) -> Spec:
        """The profile as it was stated."""
        return self.loaded.profile.spec

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the profile came from, lowest layer first."""
        return self.loaded.files

    def span(self, path: Path) -> Span:
        """Where the profile states the value at `path`."""
        return self.loaded.span(path)

    def pool(self, name: str) -> Pool:
        """The pool of that name."""
        return self.pools_by_name[name]

    def cohort_root(self, queue: PlannedQueue) -> str | None:
        """The cohort at the top of a queue's cohorts; those below it have no quota or limit of their own."""
        parents = {cohort.name: cohort.parent for cohort in self.cohorts}
        root = queue.cohort
        while root is not None and parents.get(root):
            root = parents[root]
        return root

    @property
    def default_tier(self) -> str | None:
        """The tier of pods that name none."""
        return next((tier.name for tier in self.tiers if tier.source.default), None)

    @property
    def nodes_max(self) -> int:
        """Most nodes that the pools can have together."""
        return sum(pool.nodes_max for pool in self.pools)
