"""Work for queues: many small jobs of all queues, and jobs that use up what a queue may hold of a flavor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from binpackgen.metrics.changes import Change
from binpackgen.plan.model import Amount, Flavor, Plan, PlannedQueue
from binpackgen.targets.jobs.manifest import QUEUE
from binpackgen.targets.taints import taint_object

from .api import Object
from .nodes import MOST_PODS
from .workloads import SUBMISSION

#: Labels of the pods, too: whose they are and on which flavor.
QUEUE_LABEL, FLAVOR_LABEL = "binpackgen.dev/e2e-queue", "binpackgen.dev/e2e-flavor"

#: What a small pod asks for beside a device.
SMALL_CPU, SMALL_MEMORY = 100, 128 << 20
#: Parts of a node without devices that one pod takes.
CPU_PARTS = 4
#: Pods of a node that are left to others.
_OTHER_PODS = 10


class Piece(NamedTuple):
    """A job to be: `pods` pods of `request` each, in a queue, on a flavor."""

    queue: PlannedQueue
    flavor: Flavor
    request: Amount
    pods: int = 1

    @property
    def amount(self) -> Amount:
        """What all its pods request."""
        return self.request.times(self.pods)


class Use(NamedTuple):
    """How a queue can use up a flavor with equal jobs, alone and with what others of its cohort leave.

    `piece` is one job. `own` jobs fit into the queue's own quota, `reach` into that and all that it may borrow, and
    `most` of these on the nodes.
    """

    piece: Piece
    own: int
    most: int
    reach: int


class Loan(NamedTuple):
    """A queue that borrows from another, which can take back `back` jobs of the same size."""

    borrower: Use
    owner: Piece
    back: int


class Rivals(NamedTuple):
    """Two queues that both want all that their cohort has; `heavy` has at least the weight of `light`.

    `share` is the part of what both may borrow that is `heavy`'s by weight.
    """

    light: Use
    heavy: Use
    share: float

    @property
    def idle(self) -> int:
        """Jobs that fit into what is neither's own."""
        return self.light.most - self.light.own - self.heavy.own


def small_pieces(plan: Plan, total: int) -> tuple[Piece, ...]:
    """Up to `total` one-pod jobs that all fit at once, from all queues in turn.

    The jobs of a queue ask for one device each until its quotas have no more, and then for a little cpu.
    """
    left = {flavor.name: flavor.room for flavor in plan.flavors}
    pods = {
        flavor.name: sum(plan.pool(name).nodes_max for name in flavor.pools) * (MOST_PODS - _OTHER_PODS)
        for flavor in plan.flavors
    }
    open_ = [_small_pieces_of(plan, queue, left, pods) for queue in plan.queues]
    pieces: list[Piece] = []
    while open_ and len(pieces) < total:
        for source in tuple(open_):
            piece = next(source, None)
            if piece is None:
                open_.remove(source)
            elif len(pieces) < total:
                pieces.append(piece)
    return tuple(pieces)


def _small_pieces_of(
    plan: Plan, queue: PlannedQueue, left: dict[str, Amount], pods: dict[str, int]
) -> Iterator[Piece]:
    """The small jobs of one queue; each takes its room from `left` and `pods`, which all queues share."""
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    quotas = {quota.flavor: quota.nominal for quota in queue.quotas}
    for with_devices in (True, False):
        for name in quotas:
            for request in _small_requests(flavors[name], with_devices):
                while pods[name] > 0 and quotas[name].holds(request) and left[name].holds(request):
                    quotas[name] = quotas[name].less(request)
                    left[name] = left[name].less(request)
                    pods[name] -= 1
                    yield Piece(queue, flavors[name], request)


def _small_requests(flavor: Flavor, with_devices: bool) -> list[Amount]:
    if not with_devices:
        return [Amount(SMALL_CPU, SMALL_MEMORY)]
    return [
        Amount(SMALL_CPU, SMALL_MEMORY, {device: 1})
        for device, count in sorted(flavor.room.devices.items())
        if count
    ]


def uses(plan: Plan, most_jobs: int) -> tuple[Use, ...]:
    """Every queue on each of its flavors, with jobs so large that no more than about `most_jobs` fit."""
    found = []
    for queue in plan.queues:
        for quota in queue.quotas:
            flavor = next(flavor for flavor in plan.flavors if flavor.name == quota.flavor)
            request = _unit(plan, flavor)
            if request is None:
                continue
            reach = quota.nominal
            for other in _lenders(plan, queue, flavor.name):
                reach = reach.plus(_nominal(other, flavor.name))
            slots = sum(
                plan.pool(name).nodes_max * times_in(plan.pool(name).room, request) for name in flavor.pools
            )
            whole = min(times_in(reach, request), slots)
            piece = Piece(queue, flavor, request, max(1, math.ceil(whole / most_jobs)))
            most = whole // piece.pods
            own = min(times_in(quota.nominal, piece.amount), most)
            if own:
                found.append(Use(piece, own, most, times_in(reach, piece.amount)))
    return tuple(found)


def loan(plan: Plan, most_jobs: int) -> Loan | None:
    """The smallest loan that its owner can take back by eviction; None where no queue borrows from such a one."""
    found = []
    for use in uses(plan, most_jobs):
        queue, flavor = use.piece.queue, use.piece.flavor
        for owner in _lenders(plan, queue, flavor.name):
            back = min(times_in(_nominal(owner, flavor.name), use.piece.amount), use.most - use.own)
            if back and owner.source.preemption.reclaim_within_cohort == "Any":
                found.append(Loan(use, use.piece._replace(queue=owner), back))
    # of loans alike, the one whose borrower has most of its own is the clearest
    return min(found, key=lambda one: (one.borrower.most * one.borrower.piece.pods, one.back), default=None)


def rivals(plan: Plan, most_jobs: int) -> Rivals | None:
    """The two queues of one cohort and flavor with the most different weights, that both borrow and evict.

    None where there are none, or others have nothing to lend them.
    """
    found = []
    all_uses = uses(plan, most_jobs)
    for light in all_uses:
        for heavy in all_uses:
            pair = (light.piece.queue, heavy.piece.queue)
            weights = [queue.source.weight for queue in pair]
            if (
                pair[0].name == pair[1].name
                or light.piece.flavor != heavy.piece.flavor
                or plan.cohort_root(pair[0]) is None
                or plan.cohort_root(pair[0]) != plan.cohort_root(pair[1])
                or not all(queue.source.borrows and queue.source.lends for queue in pair)
                or any(queue.source.preemption.reclaim_within_cohort != "Any" for queue in pair)
                or not 0 < weights[0] <= weights[1]
            ):
                continue
            one = Rivals(light, heavy, weights[1] / sum(weights))
            if one.idle > 0 and light.piece.pods == heavy.piece.pods:
                found.append(one)
    return max(found, key=lambda one: (one.share, one.idle), default=None)


def job(
    plan: Plan, piece: Piece, name: str, *, queued: bool = True, annotations: Mapping[str, str] | None = None
) -> Object:
    """A Job of a piece under `name`; one that is not queued starts at once, with what Kueue would have given it.

    `annotations` are those of its pods.
    """
    labels = {
        SUBMISSION: name,
        QUEUE_LABEL: piece.queue.name,
        FLAVOR_LABEL: piece.flavor.name,
        "app.kubernetes.io/name": piece.queue.name,
    }
    taints = dict.fromkeys(taint for pool in piece.flavor.pools for taint in plan.pool(pool).taints)
    devices = {device: str(count) for device, count in piece.request.devices.items()}
    requests = {"cpu": f"{piece.request.cpu}m", "memory": str(piece.request.memory), **devices}
    tier = _free_tier(plan, piece.queue)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": piece.queue.source.namespaces[0],
            "labels": {**labels, **({QUEUE: piece.queue.name} if queued else {})},
        },
        "spec": {
            **({"suspend": True} if queued else {}),
            "parallelism": piece.pods,
            "completions": piece.pods,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {
                    "labels": labels,
                    **({"annotations": dict(annotations)} if annotations else {}),
                },
                "spec": {
                    "schedulerName": plan.scheduler.name,
                    **({"priorityClassName": tier} if tier else {}),
                    "nodeSelector": dict(piece.flavor.node_labels),
                    "tolerations": [
                        dict(
                            [("operator", "Equal" if taint.value else "Exists"), *taint_object(taint).items()]
                        )
                        for taint in taints
                    ],
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": "none",
                            "resources": {"requests": requests, "limits": requests},
                        }
                    ],
                },
            },
        },
    }


def _free_tier(plan: Plan, queue: PlannedQueue) -> str | None:
    """The lowest tier that the queue does not limit; pods of it evict nobody if any tier does not."""
    limited = {limit.tier for limit in queue.tier_limits}
    tiers = sorted(plan.tiers, key=lambda tier: (tier.source.value, tier.name))
    return next((tier.name for tier in tiers if tier.name not in limited), None)


def as_workloads(plan: Plan, changes: Iterable[Change], *, stopping: bool) -> Iterator[Change]:
    """Changes of pods, as if each pod were a workload that holds its requests from its queue's quota while it lives.

    So that pods can be held against quotas whoever made them. Pods that were told to stop count if `stopping`.
    """
    for change in changes:
        pod = change.object
        labels = pod["metadata"].get("labels") or {}
        if change.kind != "Pod" or QUEUE_LABEL not in labels:
            continue
        metadata = {name: pod["metadata"][name] for name in ("namespace", "name")}
        ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        told = "deletionTimestamp" in pod["metadata"]
        body: Object = {"metadata": metadata, "spec": {"podSets": [{"name": "main", "count": 1}]}}
        if not ended and (stopping or not told):
            [container] = pod["spec"]["containers"]
            usage = container["resources"]["requests"]
            body = {
                **body,
                "status": {
                    "conditions": [{"type": "QuotaReserved", "status": "True"}],
                    "admission": {
                        "clusterQueue": labels[QUEUE_LABEL],
                        "podSetAssignments": [
                            {
                                "name": "main",
                                "flavors": dict.fromkeys(usage, labels[FLAVOR_LABEL]),
                                "resourceUsage": usage,
                                "count": 1,
                            }
                        ],
                    },
                },
            }
        yield change._replace(kind="Workload", object=body)


def times_in(whole: Amount, part: Amount) -> int:
    """How many of `part` are in `whole`."""
    counts = [have // want for have, want in ((whole.cpu, part.cpu), (whole.memory, part.memory)) if want]
    counts += [whole.devices.get(device, 0) // count for device, count in part.devices.items() if count]
    return min(counts, default=0)


def _lenders(plan: Plan, queue: PlannedQueue, flavor: str) -> list[PlannedQueue]:
    """Queues from which one may borrow of a flavor."""
    root = plan.cohort_root(queue)
    if root is None or not queue.source.borrows:
        return []
    return [
        other
        for other in plan.queues
        if other.name != queue.name
        and other.source.lends
        and plan.cohort_root(other) == root
        and any(quota.flavor == flavor for quota in other.quotas)
    ]


def _nominal(queue: PlannedQueue, flavor: str) -> Amount:
    return next((quota.nominal for quota in queue.quotas if quota.flavor == flavor), Amount(0, 0))


def _unit(plan: Plan, flavor: Flavor) -> Amount | None:
    """A request of which every node holds a whole number: its devices, or a part of a CPU node; None for no room."""
    rooms = [plan.pool(name).room for name in flavor.pools]
    device = max(sorted(flavor.room.devices), key=lambda name: flavor.room.devices[name], default=None)
    if device is not None and flavor.room.devices[device]:
        return Amount(
            SMALL_CPU, SMALL_MEMORY, {device: math.gcd(*(room.devices.get(device, 0) for room in rooms))}
        )
    cpu = min(room.cpu for room in rooms) // CPU_PARTS
    return Amount(cpu, SMALL_MEMORY) if cpu else None
