"""Preemption: higher tiers arrive at full nodes; who has to go, how, and how soon the arrivals have their nodes.

Three parts. Plain pods: kube-scheduler evicts. The same with arrivals of a tier that does not preempt: nobody may be
evicted, which is the negative control, too. Jobs behind a full queue: Kueue evicts, and kube-scheduler must not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from binpackgen.metrics.changes import Change
from binpackgen.plan.model import Amount, Flavor, Plan, PlannedQueue, Pool, Tier
from binpackgen.report.packing_map import PackingMap
from binpackgen.targets.jobs.manifest import PRIORITY_CLASS as WORKLOAD_PRIORITY
from binpackgen.targets.jobs.manifest import QUEUE
from binpackgen.targets.scheduler.configuration import has_cap_plugin

from ..api import JOB, POD, PRIORITY_CLASS, WORKLOAD, Object, wait_for
from ..context import ClusterLedger, Context, is_bound
from ..evictions import Eviction, evictions
from ..invariants import overcommitted, quota_breaches
from ..maps import packing_map
from ..outcome import Measure, Outcome
from ..processes.simulated_nodes import WINDS_DOWN
from ..workloads import SUBMISSION
from .scenario import PREEMPTION_SUCCESS, Scenario, above, all_of, at_most, none_of, told

#: Seconds in which an arrival must be bound.
WITHIN = 60.0
#: Most nodes that are filled, slots of a node without devices, and most slots of one with them.
MOST_NODES, CPU_SLOTS, MOST_SLOTS = 8, 4, 8
#: Most jobs that fill a flavor's quotas; pods of each arriving job, and the most of these.
MOST_JOBS, TOGETHER, MOST_ARRIVING = 300, 2, 4
#: Seconds in which arrivals that may not evict anybody are watched, and until the cluster has come to rest.
QUIET, REST = 3.0, 10.0
#: How long queued pods take to end: longer than Kueue takes to give their quota to others.
SLOW_END = "3s"
#: Seconds until residents run.
PATIENCE = 60.0

_NAMESPACE = "default"
_HOSTNAME = "kubernetes.io/hostname"
_BELOW, _NEVER = "binpackgen-e2e-below", "binpackgen-e2e-never"


class _Tiers(NamedTuple):
    """The lowest tier, the lowest and the highest that preempt it, the highest at all, and those between.

    `between` are the tiers that the highest could evict, but need not. `queued` is the highest tier of jobs with a
    queue.
    """

    low: Tier
    first: Tier
    high: Tier
    top: Tier
    between: tuple[Tier, ...]
    queued: Tier


class _Stage(NamedTuple):
    """Nodes of one pool, each with equal slots, as many as fill it."""

    pool: Pool
    nodes: tuple[str, ...]
    slots: int
    slot: Amount


class _Part(NamedTuple):
    """What one part found. `maps` are before and after the arrivals."""

    measures: tuple[Measure, ...]
    evidence: tuple[str, ...]
    maps: tuple[PackingMap, ...] = ()


class _Seen(NamedTuple):
    """What the watch saw of one part's arrivals: seconds from creation to a node, and who had to go."""

    seconds: tuple[float, ...]
    evicted: tuple[Eviction, ...]
    changes: tuple[Change, ...]


def lacks(plan: Plan) -> str:
    """Nothing to evict, or nobody to evict it, without two tiers of which the higher one preempts."""
    return "" if _tiers(plan) else "a priority tier that preempts a lower one"


def run(context: Context) -> Outcome:
    """Plain pods, the control, and Jobs behind a queue."""
    tiers = _tiers(context.plan)
    assert tiers is not None  # noqa: S101  (lacks)
    stage = _stage(context)
    plain = _plain(context, tiers, stage)
    with _never(context, tiers) as (below, never):
        control = _control(context, tiers, stage, below, never)
    queued = _queued(context, tiers)
    # that nobody was evicted for them is the tier's promise kept, and no figure of the control's
    kept, missed = control.measures[:2], control.measures[2:]
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=(*plain.measures, *kept, *queued.measures),
        control_name="arrivals that do not preempt",
        control=missed,
        evidence=(*plain.evidence, *control.evidence, *queued.evidence),
        maps=(*plain.maps, *control.maps[1:]),
    )


SCENARIO = Scenario(
    "preemption", "Higher tiers have their nodes in time, lower ones go gracefully", lacks, run
)


def _tiers(plan: Plan) -> _Tiers | None:
    """The tiers of the scenario, None where none preempts a lower one."""
    ordered = sorted(plan.tiers, key=lambda tier: tier.source.value)
    above = [tier for tier in ordered if tier.source.value > ordered[0].source.value]
    preempting = [tier for tier in above if tier.source.preempts]
    if not preempting:
        return None
    high = preempting[-1]
    between = tuple(tier for tier in above if tier.source.value < high.source.value)
    of_queues = {job.tier for job in plan.jobs if job.queue is not None}
    queued = max((tier for tier in above if tier.name in of_queues), key=_value, default=high)
    return _Tiers(ordered[0], preempting[0], high, ordered[-1], between, queued)


def _value(tier: Tier) -> int:
    return tier.source.value


def _stage(context: Context) -> _Stage:
    """The pool to fill: one with devices where there is one, with enough nodes and few slots."""
    uses = list(context.ledger().nodes())
    members = {
        pool.name: [use for use in uses if use.pool == pool.name][:MOST_NODES] for pool in context.plan.pools
    }
    pool = max(
        (pool for pool in context.plan.pools if members[pool.name]),
        key=lambda pool: (pool.has_gpus, len(members[pool.name]), -pool.allocatable.device_count),
    )
    chosen = members[pool.name]
    slots = min(max(pool.allocatable.devices.values(), default=CPU_SLOTS), MOST_SLOTS)
    left = [
        {name: most - use.requested.get(name, 0) for name, most in use.allocatable.items()} for use in chosen
    ]
    cap = context.plan.cap if has_cap_plugin(context.plan) else None
    cpu = min(one["cpu"] for one in left) - (cap.cpu if cap else 0)
    memory = min(one["memory"] for one in left) - (cap.memory if cap else 0)
    devices = {name: min(one.get(name, 0) for one in left) // slots for name in pool.allocatable.devices}
    slot = Amount(cpu // slots, memory // slots, {name: count for name, count in devices.items() if count})
    return _Stage(pool, tuple(use.name for use in chosen), slots, slot)


def _plain(context: Context, tiers: _Tiers, stage: _Stage) -> _Part:
    """Pods of preempting tiers arrive at nodes full of the lowest, with some of their own tiers and above between."""
    context.progress.step("preemption by kube-scheduler")
    residents = list(_residents(context, tiers, stage, tiers.low.name))
    first, then = _arrivals(context, stage, (tiers.first.name, tiers.high.name), residents, tiers.low.name)
    arrivals = [*first, *then]
    with context.clean_slate():
        ledger, (present, since) = context.ledger(), context.recorder.now()
        _settle(context, residents)
        ledger.read()
        before = packing_map("preemption: full of lower tiers", ledger)
        # the large ones first: one-slot arrivals could leave every node with a single victim
        for batch in (first, then):
            context.submit(batch)
            _until_bound(context, batch)
        _until_rest(context)
        ledger.read()
        seen = _seen(context, since, arrivals)
        after = packing_map("preemption: after the arrivals", ledger)
    needed = len(then) + len(first) * _large(stage)
    ungraceful = [one for one in seen.evicted if not (one.graceful and one.marked_first)]
    between = [one for one in seen.evicted if _value(tiers.low) < one.priority < _value(tiers.first)]
    equal = [one for one in seen.evicted if one.priority >= _value(tiers.first)]
    measures = (
        above("preemption success", ledger.golden().preemption.rate, PREEMPTION_SUCCESS),
        *_times("arrivals", seen, len(arrivals)),
        told("pods evicted", len(seen.evicted)),
        none_of("pods evicted beyond the fewest", max(0, len(seen.evicted) - needed)),
        none_of("pods evicted above the lowest tier", len(between)),
        none_of("pods evicted of the arrivals' tiers or higher", len(equal)),
        none_of("pods evicted without mark and grace period", len(ungraceful)),
        none_of("nodes overcommitted", len(overcommitted((*present, *context.recorder.changes(since))))),
    )
    return _Part(
        measures, tuple(_plain_evidence(tiers, stage, residents, arrivals, seen, ledger)), (before, after)
    )


def _plain_evidence(
    tiers: _Tiers,
    stage: _Stage,
    residents: Sequence[Object],
    arrivals: Sequence[Object],
    seen: _Seen,
    ledger: ClusterLedger,
) -> Iterator[str]:
    success = ledger.golden().preemption
    low = sum(1 for pod in residents if pod["spec"]["priorityClassName"] == tiers.low.name)
    yield (
        f"{len(stage.nodes)} nodes of pool {stage.pool.name} held {len(residents)} pods, {low} of them of tier"
        f" {tiers.low.name}, when {len(arrivals)} of {_and(tiers.first.name, tiers.high.name)} arrived;"
        f" kube-scheduler nominated"
        f" {success.nominated} of these by preemption and bound {success.bound} within {WITHIN:.0f} s"
    )
    yield from _grace_evidence(seen.evicted)


def _and(one: str, other: str) -> str:
    return one if one == other else f"{one} and {other}"


def _grace_evidence(evicted: Iterable[Eviction]) -> Iterator[str]:
    graces = [one for one in evicted if one.ended is not None]
    if graces:
        yield (
            f"evicted pods were given {min(one.grace for one in graces)} s and were gone after"
            f" {min(one.seconds for one in graces):.1f} to {max(one.seconds for one in graces):.1f} s"
        )
    for one in [one for one in graces if not one.graceful][:3]:
        yield f"{one.namespace}/{one.name} ended at version {one.ended}, told at {one.told} with {one.grace} s"


def _control(context: Context, tiers: _Tiers, stage: _Stage, below: str, never: str) -> _Part:
    """The same work, but the arrivals' class does not preempt: nobody goes, and none of them is bound."""
    context.progress.step(f"arrivals of {never}, which does not preempt")
    residents = list(_residents(context, tiers, stage, below))
    arrivals = [pod for batch in _arrivals(context, stage, (never, never), residents, below) for pod in batch]
    with context.clean_slate():
        ledger, since = context.ledger(), context.recorder.now()[1]
        _settle(context, residents)
        context.submit(arrivals)
        names = _names(arrivals)
        context.recorder.until(
            "arrivals that do not preempt are looked at",
            lambda: sum(map(_is_unschedulable, context.pods(names))) >= len(arrivals),
            PATIENCE,
        )
        time.sleep(QUIET)
        ledger.read()
        seen = _seen(context, since, arrivals)
        after = packing_map(f"arrivals of {never}, which does not preempt", ledger)
    success = ledger.golden().preemption
    return _Part(
        (
            none_of("pods evicted for a tier that does not preempt", len(seen.evicted)),
            none_of("nominations of a tier that does not preempt", success.nominated + success.unexplained),
            above("preemption success", success.rate, PREEMPTION_SUCCESS),
            all_of("arrivals bound", len(seen.seconds), len(arrivals)),
        ),
        (
            f"{len(arrivals)} pods of {never} (preemptionPolicy Never) were found unschedulable among pods of {below},"
            f" and evicted none within {QUIET:.0f} s",
        ),
        (after, after),
    )


@contextmanager
def _never(context: Context, tiers: _Tiers) -> Iterator[tuple[str, str]]:
    """A class of lower pods and one above it that does not preempt; the profile's own as far as it has them.

    Admission refuses a pod whose policy differs from its class's, so that what the profile lacks takes a class.
    """
    patient = [tier for tier in context.plan.tiers if not tier.source.preempts]
    never = max(patient, key=lambda tier: tier.source.value, default=None)
    made: Object | None = None
    if never is None:
        made = _class(_NEVER, tiers.high.source.value, "Never")
        names = (tiers.low.name, _NEVER)
    elif never.source.value > tiers.low.source.value:
        names = (tiers.low.name, never.name)
    else:
        made = _class(_BELOW, never.source.value - 1, "PreemptLowerPriority")
        names = (_BELOW, never.name)
    if made is not None:
        context.api.apply(made)
    try:
        yield names
    finally:
        if made is not None:
            context.api.delete(PRIORITY_CLASS, made["metadata"]["name"])


def _class(name: str, value: int, policy: str) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


def _residents(context: Context, tiers: _Tiers, stage: _Stage, low: str) -> Iterator[Object]:
    """A pod for every slot: lowest ones, one of the high tier on each node, a node of the highest, one of those between."""
    for position, node in enumerate(stage.nodes):
        for slot in range(stage.slots):
            tier = low
            if slot == 0:
                tier = tiers.high.name
            if position == 0 and len(stage.nodes) > 2:
                tier = tiers.top.name
            elif position == 1 and len(stage.nodes) > 3 and tiers.between:
                tier = tiers.between[0].name
            yield _pod(context, stage, f"resident-{position}-{slot}", tier, 1, (node,))


def _large(stage: _Stage) -> int:
    """Slots of the large arrivals."""
    return 2 if stage.slots > 2 else 1


def _arrivals(
    context: Context, stage: _Stage, tiers: tuple[str, str], residents: Sequence[Object], low: str
) -> tuple[list[Object], list[Object]]:
    """Large arrivals of one tier and those of one slot of another, for two thirds of the slots of the lowest pods."""
    lowest = sum(1 for pod in residents if pod["spec"]["priorityClassName"] == low)
    large, nodes = _large(stage), stage.nodes
    first = [_pod(context, stage, f"first-{n}", tiers[0], large, nodes) for n in range(lowest // 8)]
    then = [_pod(context, stage, f"then-{n}", tiers[1], 1, nodes) for n in range(max(1, lowest // 2))]
    return first, then


def _pod(context: Context, stage: _Stage, name: str, tier: str, slots: int, nodes: Sequence[str]) -> Object:
    """A pod that asks for some slots of one of the nodes."""
    hosts = [{"key": _HOSTNAME, "operator": "In", "values": list(nodes)}]
    required = {"nodeSelectorTerms": [{"matchExpressions": hosts}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": _NAMESPACE, "labels": _labels(name, tier)},
        "spec": {
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            "tolerations": [{"operator": "Exists"}],
            **_pod_spec(context, tier, stage.slot.times(slots)),
        },
    }


def _pod_spec(context: Context, tier: str, amount: Amount) -> Object:
    devices = {name: str(count) for name, count in amount.devices.items()}
    requests = {"cpu": f"{amount.cpu}m", "memory": str(amount.memory), **devices}
    return {
        "schedulerName": context.plan.scheduler.name,
        "priorityClassName": tier,
        "containers": [
            {"name": "main", "image": "none", "resources": {"requests": requests, "limits": requests}}
        ],
    }


def _labels(name: str, tier: str) -> dict[str, str]:
    return {SUBMISSION: name, "app.kubernetes.io/name": tier}


class _Quota(NamedTuple):
    """A flavor whose queues can be filled: with how many jobs of what request each."""

    flavor: Flavor
    request: Amount
    jobs: tuple[tuple[PlannedQueue, int], ...]

    @property
    def total(self) -> int:
        """Jobs that fill it."""
        return sum(count for _, count in self.jobs)


def _quota(plan: Plan, tiers: _Tiers) -> _Quota | None:
    """The flavor to fill: one with devices where there is one, with the fewest jobs."""
    found = []
    for flavor in plan.flavors:
        request = _unit([plan.pool(name).room for name in flavor.pools])
        queues = [queue for queue in plan.queues if any(q.flavor == flavor.name for q in queue.quotas)]
        limited = {limit.tier for queue in queues for limit in queue.tier_limits}
        if limited & {tiers.low.name, tiers.high.name}:
            continue
        jobs = []
        for queue in queues:
            [nominal] = [quota.nominal for quota in queue.quotas if quota.flavor == flavor.name]
            jobs.append((queue, _times_in(nominal, request)))
        quota = _Quota(flavor, request, tuple(jobs))
        if 1 < quota.total <= MOST_JOBS and any(_evicts(queue) and count > 1 for queue, count in jobs):
            found.append(quota)
    return min(found, key=lambda one: (not one.request.devices, one.total), default=None)


def _evicts(queue: PlannedQueue) -> bool:
    return queue.source.preemption.within_cluster_queue != "Never"


def _unit(rooms: Sequence[Amount]) -> Amount:
    """A request of which every node holds a whole number, up to rounding: one device, or a part of a CPU node."""
    shares = []
    for room in rooms:
        name = max(room.devices, key=lambda device: room.devices[device], default=None)
        parts = room.devices[name] if name else CPU_SLOTS
        shares.append((room.cpu // parts, room.memory // parts, {name: 1} if name else {}))
    cpu, memory, devices = zip(*shares, strict=True)
    return Amount(min(cpu), min(memory), devices[0])


def _times_in(whole: Amount, part: Amount) -> int:
    counts = [whole.cpu // part.cpu, whole.memory // part.memory]
    counts += [whole.devices.get(name, 0) // count for name, count in part.devices.items()]
    return min(counts)


def _queued(context: Context, tiers: _Tiers) -> _Part:
    """The quotas of a flavor are full of low jobs when high ones arrive: Kueue evicts, and nobody else does."""
    quota = _quota(context.plan, tiers)
    if quota is None:
        return _Part(
            (), (f"no flavor of which up to {MOST_JOBS} jobs fill the quotas of a queue that evicts",)
        )
    context.progress.step(f"preemption by Kueue on flavor {quota.flavor.name}")
    queue, most = max(((q, n) for q, n in quota.jobs if _evicts(q)), key=lambda one: one[1])
    low = [
        _job(context, f"low-{owner.name}-{n}", owner, tiers.low.name, quota)
        for owner, count in quota.jobs
        for n in range(count)
    ]
    arriving = min(max(1, most // (2 * TOGETHER)), MOST_ARRIVING)
    equal = [_job(context, f"equal-{n}", queue, tiers.low.name, quota, TOGETHER) for n in range(arriving)]
    high = [_job(context, f"high-{n}", queue, tiers.queued.name, quota, TOGETHER) for n in range(arriving)]
    pods = len(high) * TOGETHER
    with context.clean_slate():
        since = context.recorder.now()[1]
        _settle(context, low)
        # of the same tier: they wait, and nobody goes
        context.submit(equal)
        time.sleep(QUIET)
        early = _seen(context, since, equal)
        for job in equal:
            context.api.delete(JOB, job["metadata"]["name"], job["metadata"]["namespace"])
        context.submit(high)
        _until_bound(context, high, pods)
        _until_rest(context)
        seen = _seen(context, since, high)
    by_kueue = _evicted_workloads(seen.changes)
    by_scheduler = [one for one in seen.evicted if one.by_scheduler]
    both = [one for one in by_scheduler if one.labels[SUBMISSION] in by_kueue]
    equals = [one for one in seen.evicted if one.priority >= _value(tiers.queued)]
    return _Part(
        (
            *_times("queued arrivals", seen, pods),
            none_of("jobs evicted by Kueue beyond the fewest", max(0, len(by_kueue) - pods)),
            none_of("queued pods evicted by kube-scheduler", len(by_scheduler)),
            none_of("queued pods with two evictors", len(both)),
            none_of("queued pods evicted of equal or higher tiers", len(equals)),
            none_of(
                "queued pods evicted without a grace period",
                sum(not one.graceful for one in seen.evicted),
            ),
            none_of("jobs of the same tier admitted at full quotas", len(early.seconds) + len(early.evicted)),
            none_of("quotas exceeded", len(quota_breaches(context.plan, context.recorder.changes()))),
        ),
        (
            f"{len(low)} jobs of tier {tiers.low.name} filled flavor {quota.flavor.name}; for {pods} pods of"
            f" {tiers.queued.name} in queue {queue.name} Kueue evicted {len(by_kueue)} jobs, kube-scheduler"
            f" {len(by_scheduler)} pods",
            *_owners_evidence(tiers, by_scheduler, by_kueue),
            *_grace_evidence(seen.evicted),
        ),
    )


def _owners_evidence(tiers: _Tiers, by_scheduler: Sequence[Eviction], by_kueue: set[str]) -> Iterator[str]:
    if not by_scheduler:
        return
    spared = [one for one in by_scheduler if one.labels[SUBMISSION] not in by_kueue]
    yield (
        f"{len(spared)} of the pods that kube-scheduler evicted were of jobs that Kueue had spared: tier"
        f" {tiers.queued.name} preempts, and Kueue gives quota away while the pods that it stops still wind down;"
        f" preempts: false would leave evictions to Kueue alone"
    )


def _job(context: Context, name: str, queue: PlannedQueue, tier: str, quota: _Quota, pods: int = 1) -> Object:
    """A suspended Job of a queue, with the failure rules of the compiled ones."""
    labels = _labels(name, tier)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": queue.source.namespaces[0],
            "labels": {**labels, QUEUE: queue.name, WORKLOAD_PRIORITY: tier},
        },
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 3,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
                ]
            },
            "template": {
                "metadata": {"labels": labels, "annotations": {WINDS_DOWN: SLOW_END}},
                "spec": {
                    "restartPolicy": "Never",
                    "nodeSelector": dict(quota.flavor.node_labels),
                    **_pod_spec(context, tier, quota.request),
                },
            },
        },
    }


def _evicted_workloads(changes: Iterable[Change]) -> set[str]:
    """Jobs whose workloads Kueue evicted to make room."""
    return {
        change.object["metadata"]["ownerReferences"][0]["name"]
        for change in changes
        if change.kind == WORKLOAD.name
        for one in (change.object.get("status") or {}).get("conditions") or ()
        if one["type"] == "Evicted" and one["status"] == "True" and one["reason"] == "Preempted"
    }


def _names(items: Iterable[Object]) -> set[str]:
    return {item["metadata"]["labels"][SUBMISSION] for item in items}


def _settle(context: Context, items: Sequence[Object]) -> None:
    """Submit residents, one pod each, and wait until all of them run."""
    # a class that was made just now is known to admission a moment later
    wait_for("residents are admitted", lambda: context.api.create(items[0]), PATIENCE)
    context.submit(items[1:])
    names = _names(items)

    def running() -> int:
        return sum(pod.get("status", {}).get("phase") == "Running" for pod in context.pods(names))

    context.recorder.until(
        f"{len(items)} residents run",
        lambda: running() >= len(items),
        PATIENCE,
        lambda: context.progress.count(running(), len(items), "residents run"),
    )


def _until_bound(context: Context, items: Sequence[Object], pods: int | None = None) -> None:
    """Wait until the pods of all items are bound, one each if not said otherwise, or their time is over."""
    names, end, wanted = _names(items), time.monotonic() + WITHIN, pods or len(items)

    def bound() -> int:
        return sum(map(is_bound, context.pods(names)))

    context.recorder.until(
        "arrivals bound",
        lambda: bound() >= wanted or time.monotonic() > end,
        2 * WITHIN,
        lambda: context.progress.count(bound(), wanted, "arrivals bound"),
    )


def _until_rest(context: Context) -> None:
    """Wait until no pod is on its way out or waits for a node, or it is clear that one will."""
    end = time.monotonic() + REST
    context.recorder.until(
        "rest",
        lambda: (
            time.monotonic() > end
            or all(is_bound(pod) and "deletionTimestamp" not in pod["metadata"] for pod in context.pods())
        ),
        2 * REST,
    )


def _seen(context: Context, since: int, arrivals: Sequence[Object]) -> _Seen:
    names = _names(arrivals)
    changes = context.recorder.changes(since)
    came: dict[str, float] = {}
    bound: dict[str, float] = {}
    for change in changes:
        metadata = change.object["metadata"]
        submission = (metadata.get("labels") or {}).get(SUBMISSION, "")
        if submission in names and change.kind in (POD.name, JOB.name):
            came.setdefault(submission, change.at)
            if change.kind == POD.name and is_bound(dict(change.object)):
                bound.setdefault(metadata["name"], change.at - came[submission])
    seconds = sorted(bound.values())
    return _Seen(tuple(seconds), tuple(evictions(changes)), tuple(changes))


def _times(what: str, seen: _Seen, total: int) -> Iterator[Measure]:
    yield all_of(f"{what} bound", sum(one <= WITHIN for one in seen.seconds), total)
    if seen.seconds:
        yield told(f"{what} bound, median", statistics.median(seen.seconds), "s")
        yield at_most(f"{what} bound, slowest", seen.seconds[-1], WITHIN, "s")


def _is_unschedulable(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable" for one in conditions)
