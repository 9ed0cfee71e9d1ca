"""How much of which job: a mix that fills a share of what pools and queues hold, the same for every seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from binpackgen.plan.model import Amount, Plan, PlannedQueue, PodGroup

from .workloads import Manifest


class Mix(NamedTuple):
    """Manifests, each as often as it is to be submitted, and why the mix ends where it ends."""

    items: tuple[Manifest, ...]
    limit: str


class _Room:
    """Room by name, of which a share may be taken."""

    def __init__(self, rooms: Iterable[tuple[str, Amount]], share: float) -> None:
        self.left = {
            name: Amount(
                int(room.cpu * share),
                int(room.memory * share),
                {device: int(count * share) for device, count in room.devices.items()},
            )
            for name, room in rooms
        }

    def holds(self, name: str, amount: Amount) -> bool:
        return name in self.left and self.left[name].holds(amount)

    def take(self, name: str, amount: Amount) -> None:
        self.left[name] = self.left[name].less(amount)


def mix(plan: Plan, manifests: Sequence[Manifest], share: float, most_pods: int) -> Mix:
    """One of each job in turn, until none fits into `share` of its flavors' room and its queue's quotas.

    A flavor's room is what its nodes hold together; that a job's pods fit one by one is what the cluster has
    to show. Ends at `most_pods` pods, too, so that large clusters are tried within minutes.
    """
    flavors = _Room(((flavor.name, flavor.room) for flavor in plan.flavors), share)
    queues = {
        queue.name: _Room(((quota.flavor, quota.nominal) for quota in queue.quotas), share)
        for queue in plan.queues
    }
    by_name = {queue.name: queue for queue in plan.queues}
    chosen: list[Manifest] = []
    open_ = list(manifests)
    pods = 0
    while open_:
        for manifest in tuple(open_):
            if pods + manifest.pods > most_pods:
                return Mix(tuple(chosen), f"{most_pods} pods")
            queue = by_name.get(manifest.job.queue or "")
            if not _take(plan, manifest, queue, flavors, queues):
                open_.remove(manifest)
                continue
            chosen.append(manifest)
            pods += manifest.pods
    return Mix(tuple(chosen), f"{share * 100:.0f}% of room and quotas")


def _take(
    plan: Plan, manifest: Manifest, queue: PlannedQueue | None, flavors: _Room, queues: dict[str, _Room]
) -> bool:
    """Take the room of one job, whole or not at all."""
    taken: list[tuple[_Room, str, Amount]] = []
    for group in manifest.job.pod_groups:
        amount = group.request.times(group.count)
        for name in _flavors_of(plan, group, queue):
            rooms = [flavors] if queue is None else [flavors, queues[queue.name]]
            already = [part for _, other, part in taken if other == name]
            wanted = amount
            for part in already[:: len(rooms)]:
                wanted = wanted.plus(part)
            if all(room.holds(name, wanted) for room in rooms):
                taken += [(room, name, amount) for room in rooms]
                break
        else:
            return False
    for room, name, amount in taken:
        room.take(name, amount)
    return True


def _flavors_of(plan: Plan, group: PodGroup, queue: PlannedQueue | None) -> list[str]:
    """Flavors that can hold a group, in the order in which its queue tries them."""
    fitting = [
        flavor.name
        for flavor in plan.flavors
        if set(flavor.pools) & set(group.pools)
        and (group.gpu_type is None or flavor.gpu_type == group.gpu_type)
    ]
    if queue is None:
        return fitting
    return [quota.flavor for quota in queue.quotas if quota.flavor in fitting]


def lower_bound(requests: Sequence[dict[str, int]], allocatable: dict[str, int]) -> int:
    """Nodes that pods need at the least on equal nodes of `allocatable`, by resource name.

    The larger of two bounds for any resource: the sum over one node's amount, rounded up, and the number of
    pods of which no two fit on one node.
    """
    bound = 0
    for resource, most in allocatable.items():
        if most <= 0:
            continue
        amounts = [request.get(resource, 0) for request in requests]
        bound = max(bound, -(-sum(amounts) // most), sum(1 for amount in amounts if 2 * amount > most))
    return bound
