"""What must hold at every instant, checked at every change in the order in which the API server made them.

    breaches = quota_breaches(plan, recorder.changes())

Each check follows the changes from the first of an object on (`Recorder.changes()`, or `Recorder.now()` and what came
after) and answers where a limit came to be exceeded: one breach from there to where it holds again. Amounts are whole
numbers: cpu in millicores, memory in bytes, devices and pods in pieces.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from binpackgen.metrics.changes import Change, Object
from binpackgen.metrics.pods import read_any_pod
from binpackgen.plan.model import Amount, Plan, PlannedQueue, Pool
from binpackgen.quantity import Quantity

#: Flavor and resource, as a quota has them.
FlavorResource = tuple[str, str]

_PODS = "pods"


class Breach(NamedTuple):
    """From `version` on, `holder` held more of `resource` than the limit.

    `by` is the object whose change did it, as NAMESPACE/NAME.
    """

    version: int
    at: float
    holder: str
    resource: str
    held: int
    limit: int
    by: str

    def __str__(self) -> str:
        return (
            f"{self.holder} held {self.held} of {self.resource}, {self.held - self.limit} above its limit of"
            f" {self.limit}, from version {self.version} on, by {self.by}"
        )


def quota_breaches(plan: Plan, changes: Iterable[Change]) -> list[Breach]:
    """Where workloads of a queue held more than its quota and what it may borrow, or a cohort more than its queues have.

    A workload holds its quota from the change in which Kueue reserved it to the one in which that is taken back, the
    workload has finished or is deleted; pods that Kueue knows to be over give theirs back before that
    (pkg/workload/workload.go, totalRequestsFromAdmission, in kueue v0.17.0). Limits are the plan's, not those of the
    ClusterQueues as they stand; queues that the plan does not know are passed over.
    """
    queues = {queue.name: queue for queue in plan.queues}
    pools = {queue.name: plan.cohort_root(queue) for queue in plan.queues}
    nominal = {
        (queue.name, flavor, resource): amount
        for queue in plan.queues
        for (flavor, resource), amount in _nominal(queue).items()
    }
    held: dict[str, Counter[FlavorResource]] = defaultdict(Counter)
    by_workload: dict[tuple[str, str], tuple[str, Mapping[FlavorResource, int]]] = {}
    watch = _Watch()
    for change in changes:
        if change.kind != "Workload":
            continue
        key = _key(change.object)
        before, after = by_workload.pop(key, None), None
        if change.type != "DELETED":
            after = _reservation(change.object)
        if before is not None:
            held[before[0]].subtract(before[1])
        if after is not None and after[0] in queues:
            by_workload[key] = after
            held[after[0]].update(after[1])
        if before == after:
            continue
        for queue, resources in filter(None, (before, after)):
            if queue not in queues:
                continue
            for flavor, resource in resources:
                own = nominal.get((queue, flavor, resource), 0)
                limit = own + _borrowable(queues[queue], queues.values(), pools, nominal, flavor, resource)
                text = f"{resource} of flavor {flavor}"
                watch.see(change, f"queue {queue}", text, held[queue][flavor, resource], limit)
                root = pools[queue]
                if root is None:
                    continue
                members = [name for name, other in pools.items() if other == root]
                # what a queue does not lend is its own alone, and counts on neither side
                kept = {
                    name: 0 if queues[name].source.lends else nominal.get((name, flavor, resource), 0)
                    for name in members
                }
                used = sum(max(0, held[name][flavor, resource] - kept[name]) for name in members)
                whole = sum(nominal.get((name, flavor, resource), 0) - kept[name] for name in members)
                watch.see(change, f"cohort {root}", text, used, whole)
    return watch.breaches


def overcommitted(changes: Iterable[Change]) -> list[Breach]:
    """Where the pods on a node requested more than it offers as allocatable, or were more than it takes.

    A pod takes room from the change in which it has a node to the one in which it has ended or is deleted.
    """
    offers: dict[str, Mapping[str, int]] = {}
    watch = _Watch()
    nodes = _Nodes()
    for change in changes:
        touched: str | None = None
        if change.kind == "Node":
            touched = change.object["metadata"]["name"]
            if change.type == "DELETED":
                offers.pop(touched, None)
                continue
            stated = _amounts((change.object.get("status") or {}).get("allocatable") or {})
            if offers.get(touched) == stated:
                continue
            offers[touched] = stated
        elif change.kind == "Pod":
            touched = nodes.take(change).node
        if touched is None or touched not in offers:
            continue
        for resource, amount in nodes.used[touched].items():
            watch.see(change, f"node {touched}", resource, amount, offers[touched].get(resource, 0))
    return watch.breaches


def headroom_breaches(plan: Plan, changes: Iterable[Change]) -> list[Breach]:
    """Where a node came to have less left than the cap's headroom; empty without a cap.

    What is left is what the machine has for pods (the plan's capacity less the kubelet's reserves, of which a cap in
    reserve form is none) less what the pods on it request; `limit` is that less the headroom. A whole-node pod of a
    cap with that exemption may use the headroom, pods that come after it may not. A cap in curve form is soft: there
    the answer is a figure and no fault.
    """
    cap = plan.cap
    if cap is None:
        return []
    headroom = Amount(cap.cpu, cap.memory)
    limits: dict[str, Mapping[str, int]] = {}
    pools: dict[str, Pool] = {}
    watch = _Watch()
    nodes = _Nodes()
    for change in changes:
        if change.kind == "Node" and change.type != "DELETED":
            metadata = change.object["metadata"]
            pool = plan.pools_by_name.get((metadata.get("labels") or {}).get(plan.spec.node_labels.pool, ""))
            if pool is not None and metadata["name"] not in pools:
                pools[metadata["name"]] = pool
                # in reserve form the headroom is already away
                whole = pool.allocatable if cap.form == "reserve" else pool.allocatable.less(headroom)
                amounts = {"cpu": whole.cpu, "memory": whole.memory}
                limits[metadata["name"]] = {
                    name: amounts[name] for name, kept in _figures(headroom).items() if kept
                }
        if change.kind != "Pod":
            continue
        taken = nodes.take(change)
        if taken.node is None or taken.node not in limits:
            continue
        may = cap.exempt_whole_node and _is_whole(taken.requests, pools[taken.node])
        for resource, limit in limits[taken.node].items():
            amount = nodes.used[taken.node][resource]
            if amount <= limit or (taken.has_come and not may):
                watch.see(change, f"node {taken.node}", resource, amount, limit)
    return watch.breaches


class _Watch:
    """Which limits are exceeded now, and every time that one came to be."""

    def __init__(self) -> None:
        self.breaches: list[Breach] = []
        self._open: set[tuple[str, str]] = set()

    def see(self, change: Change, holder: str, resource: str, held: int, limit: int) -> None:
        if held <= limit:
            self._open.discard((holder, resource))
        elif (holder, resource) not in self._open:
            self._open.add((holder, resource))
            by = "/".join(filter(None, _key(change.object)))
            self.breaches.append(Breach(change.version, change.at, holder, resource, held, limit, by))


class _Taken(NamedTuple):
    """The node that a change of a pod is about, what the pod requests, and whether it came there by the change."""

    node: str | None
    requests: Mapping[str, int]
    has_come: bool


class _Nodes:
    """What the pods on each node request together."""

    def __init__(self) -> None:
        self.used: dict[str, Counter[str]] = defaultdict(Counter)
        self._pods: dict[tuple[str, str], tuple[str, Mapping[str, int]]] = {}

    def take(self, change: Change) -> _Taken:
        """Take a change of a pod in."""
        key = _key(change.object)
        before = self._pods.pop(key, None)
        after: tuple[str, Mapping[str, int]] | None = None
        node = change.object["spec"].get("nodeName")
        ended = (change.object.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if node and not ended and change.type != "DELETED":
            after = (node, {_PODS: 1, **read_any_pod(change.object).shape.requests})
        if before is not None:
            self.used[before[0]].subtract(before[1])
        if after is not None:
            self.used[after[0]].update(after[1])
            self._pods[key] = after
            return _Taken(*after, has_come=before != after)
        return (
            _Taken(before[0], {}, has_come=False) if before is not None else _Taken(None, {}, has_come=False)
        )


def _key(item: Object) -> tuple[str, str]:
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _reservation(workload: Object) -> tuple[str, Mapping[FlavorResource, int]] | None:
    """The queue and the amounts that a workload holds, None where it holds none."""
    status: Mapping[str, Any] = workload.get("status") or {}
    true = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
    admission = status.get("admission")
    if not admission or "QuotaReserved" not in true or "Finished" in true:
        return None
    declared = {one["name"]: one.get("count", 1) for one in workload["spec"]["podSets"]}
    over = {one["name"]: one["count"] for one in status.get("reclaimablePods") or ()}
    amounts: Counter[FlavorResource] = Counter()
    for assigned in admission["podSetAssignments"]:
        usage = _amounts(assigned.get("resourceUsage") or {})
        name = assigned["name"]
        count = assigned.get("count", declared[name])
        left = min(count, max(0, declared[name] - over.get(name, 0)))
        for resource, flavor in (assigned.get("flavors") or {}).items():
            whole = usage.get(resource, 0)
            amounts[flavor, resource] += whole if left == count else whole // count * left
    return admission["clusterQueue"], amounts


def _nominal(queue: PlannedQueue) -> dict[FlavorResource, int]:
    return {
        (quota.flavor, resource): amount
        for quota in queue.quotas
        for resource, amount in _figures(quota.nominal).items()
    }


def _borrowable(
    queue: PlannedQueue,
    queues: Iterable[PlannedQueue],
    roots: Mapping[str, str | None],
    nominal: Mapping[tuple[str, str, str], int],
    flavor: str,
    resource: str,
) -> int:
    """The most that a queue could ever borrow: all that the others of its cohort lend."""
    # a flavor that the queue has no quota of is none that its workloads may have
    if not queue.source.borrows or roots[queue.name] is None:
        return 0
    if (queue.name, flavor, "cpu") not in nominal:
        return 0
    return sum(
        nominal.get((other.name, flavor, resource), 0)
        for other in queues
        if other.name != queue.name and other.source.lends and roots[other.name] == roots[queue.name]
    )


def _is_whole(requests: Mapping[str, int], pool: Pool) -> bool:
    """Whether a pod leaves no device of a node of the pool to others."""
    devices = pool.allocatable.devices
    return bool(devices) and all(requests.get(name, 0) >= count for name, count in devices.items())


def _figures(amount: Amount) -> dict[str, int]:
    return {"cpu": amount.cpu, "memory": amount.memory, **amount.devices}


def _amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Quantities as an object states them, in whole numbers."""
    parsed = {name: Quantity.from_manifest(quantity) for name, quantity in quantities.items()}
    return {name: q.milli_value() if name == "cpu" else q.value() for name, q in parsed.items()}
