"""Faults: programs of the control plane are killed and started again while jobs arrive and end.

While a program is down, jobs are submitted as a client does that tries again. The control is a scheduler that is not
started again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from binpackgen.errors import BinpackgenError
from binpackgen.metrics.changes import Change
from binpackgen.plan.model import Plan

from ..api import JOB, JOB_SET, POD, WORKLOAD, ApiError, Object
from ..context import ClusterLedger, Context, Faults, is_bound
from ..invariants import Breach, headroom_breaches, overcommitted, quota_breaches
from ..outcome import Measure, Outcome
from ..processes.simulated_nodes import RUN_FOR
from ..work import mix
from ..workloads import SUBMISSION, Manifest
from .scenario import HIT_RATE, Scenario, above, all_of, none_of, told

#: Share of room and quotas that the mix asks for, so that some of it has to wait, and most pods of it.
LOAD, MOST_PODS = 1.3, 150
#: Seconds that a program is down, and that one is while the control looks on.
DOWN, CONTROL = 2.0, 6.0
#: How long pods run, and one that runs until it is told to end: a main pod of a JobSet once all the others have ended,
#: and every pod of the arrivals after the last restart.
RUN_TIMES, STILL_RUNS = ("2s", "4s", "6s"), "0.2s"
#: Seconds until pods of a batch are bound, and until everything has ended.
PATIENCE, END = 60.0, 120.0
#: Seconds until a pod is bound after a restart, if there is one.
NEXT = 20.0
#: Seconds between slow arrivals, at the most.
SLOWLY = 1.0
#: Seconds between a client's tries, and until it gives up.
AGAIN, GIVES_UP = 0.2, 60.0


_REPLICATED = "jobset.sigs.k8s.io/replicatedjob-name"
_JOB, _INDEX = "batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index"
_HEADROOM = "nodes with less left than the cap"


class _Fault(NamedTuple):
    """One program's absence: pods bound when it was killed, seconds until it was started again, until it was ready
    where that is asked, and until the next pod was bound, None where none was left to bind.
    """

    program: str
    bound: int
    away: float
    ready: float
    seconds: float | None


class _Submitted(NamedTuple):
    """What was submitted: pods by submission, and the objects."""

    pods: Mapping[str, int]
    items: tuple[Object, ...]

    @property
    def total(self) -> int:
        """All pods."""
        return sum(self.pods.values())


def lacks(plan: Plan) -> str:
    """Nothing to lose without jobs."""
    return "" if plan.jobs else "jobs"


def run(context: Context) -> Outcome:
    """Kill one program after the other in the middle of the mix, then see that nothing is lost."""
    if context.faults is None:
        raise BinpackgenError("the programs of this cluster can't be killed")
    chosen = mix(context.plan, context.manifests, LOAD, MOST_PODS)
    order = list(chosen.items)
    context.random().shuffle(order)
    measures, evidence = _survive(context, context.faults, order)
    control = _control(context, context.faults)
    submitted = f"{len(order)} submissions, {sum(one.pods for one in order)} pods, up to {chosen.limit}"
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=measures,
        control_name="scheduler not started again",
        control=control,
        evidence=(submitted, *evidence),
    )


SCENARIO = Scenario("faults", "Programs are killed and nothing is lost", lacks, run)


def programs(plan: Plan) -> tuple[str, ...]:
    """What is killed, in this order; Kueue where there are queues, for which alone it is asked."""
    queues = ("kueue",) if plan.queues else ()
    return ("kube-scheduler", "kube-controller-manager", *queues, "kube-apiserver")


def _survive(
    context: Context, faults: Faults, order: Sequence[Manifest]
) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    names = [f"{manifest.name}-{index}" for index, manifest in enumerate(order)]
    killed = programs(context.plan)
    parts = len(killed) + 1
    until_last = len(order) * len(killed) // parts
    times = [context.random().choice(RUN_TIMES) if index < until_last else "" for index in range(len(order))]
    items = [_instance(*one) for one in zip(order, names, times, strict=True)]
    submitted = _Submitted({name: one.pods for name, one in zip(names, order, strict=True)}, tuple(items))
    with context.clean_slate():
        ledger, (present, since) = context.ledger(), context.recorder.now()
        found = []
        for index, program in enumerate(killed):
            batch = items[len(items) * index // parts : len(items) * (index + 1) // parts]
            found.append(_fault(context, faults, program, batch, since))
        # who is on its way out, and when the scheduler hears of it, would settle where the last ones go
        _until_ended(context, submitted, items[:until_last])
        after = _one_by_one(context, items[until_last:])
        lost = _until_ended(context, submitted, items)
        ledger.read()
        after.read()
        changes = context.recorder.changes(since)
        measures = (
            *_nothing_lost(context, submitted, changes),
            above("hit rate after the last restart", after.golden().preferred_hit_rate.rate, HIT_RATE),
            # a backlog is bound at once, and what the API server was told first may have been decided last
            told("hit rate, all the time", ledger.golden().preferred_hit_rate.rate, "share"),
            *_limits_kept(context, (*present, *changes)),
        )
    evidence = tuple(map(_sentence, found))
    return measures, (*evidence, *lost, *_breach_evidence(context, (*present, *changes)))


def _sentence(fault: _Fault) -> str:
    then = (
        "no pod was left to bind then"
        if fault.seconds is None
        else f"a pod was bound {fault.seconds:.1f} s later"
    )
    return (
        f"{fault.program} was killed when {fault.bound} pods had been bound, and started again after"
        f" {fault.away:.1f} s; {then}"
        + (f", and it was ready after {fault.ready:.1f} s" if fault.ready > 1 else "")
    )


def _instance(manifest: Manifest, name: str, run_for: str) -> Object:
    """A submission whose pods end by themselves, but for those with which a JobSet ends; none of them without a time."""
    body = manifest.instance(name, run_for=run_for)
    for replicated in body["spec"].get("replicatedJobs") or ():
        if run_for and replicated["name"] in _main(body):
            del replicated["template"]["spec"]["template"]["metadata"]["annotations"][RUN_FOR]
    return body


def _main(body: Object) -> Sequence[str]:
    """The replicated jobs with which a JobSet ends, taking along what still runs of the others."""
    targets: Sequence[str] = (body["spec"].get("successPolicy") or {}).get("targetReplicatedJobs") or ()
    return targets


def _fault(context: Context, faults: Faults, program: str, batch: Sequence[Object], since: int) -> _Fault:
    """Submit half of a batch, kill the program once pods of it are bound, and submit the rest meanwhile."""
    half = -(-len(batch) // 2)
    context.progress.step(f"killing {program}")
    context.submit(batch[:half])
    first = {item["metadata"]["labels"][SUBMISSION] for item in batch[:half]}
    end = time.monotonic() + PATIENCE
    context.recorder.until(
        f"pods bound before {program} is killed",
        # all of a batch may have to wait for room: then something else is under way
        lambda: any(map(is_bound, context.pods(first))) or time.monotonic() > end,
        2 * PATIENCE,
    )
    with ThreadPoolExecutor(4) as pool:
        killed = time.time()
        with _down(faults, program):
            before = _bound(context.recorder.changes(since))
            clients: list[Future[None]] = [pool.submit(_create, context, item) for item in batch[half:]]
            time.sleep(DOWN)
            restarted = time.time()
        ready = time.time()
        for client in clients:
            client.result()
    end = time.monotonic() + NEXT
    context.recorder.until(
        f"a pod bound after the restart of {program}",
        lambda: _next_binding(context, since, restarted) is not None or time.monotonic() > end,
        2 * PATIENCE,
    )
    after = _next_binding(context, since, restarted)
    seconds = None if after is None else after - restarted
    return _Fault(program, before, restarted - killed, ready - restarted, seconds)


def _one_by_one(context: Context, items: Sequence[Object]) -> ClusterLedger:
    """Submit slowly, each when the one before is bound or has to wait; the metrics from then on."""
    context.progress.step("arrivals after the last restart")
    ledger = context.ledger()
    for item in items:
        context.submit([item])
        names, end = {item["metadata"]["labels"][SUBMISSION]}, time.monotonic() + SLOWLY

        def settled(names: set[str] = names, end: float = end) -> bool:
            pods = context.pods(names)
            return (bool(pods) and all(map(is_bound, pods))) or time.monotonic() > end

        context.recorder.until("an arrival bound", settled, 2 * PATIENCE)
    return ledger


@contextmanager
def _down(faults: Faults, program: str) -> Iterator[None]:
    """The program is killed, and started again whatever happens."""
    faults.kill(program)
    try:
        yield
    finally:
        faults.restart(program)


def _create(context: Context, item: Object) -> None:
    """Create an object as a client does that knows of restarts: again and again, and one that exists was created."""
    end = time.monotonic() + GIVES_UP
    while True:
        try:
            context.api.create(item)
        except ApiError as error:
            if error.status == 409:
                return
            if (0 < error.status < 500 and error.status != 429) or time.monotonic() > end:
                raise
            time.sleep(AGAIN)
        else:
            return


def _until_ended(context: Context, submitted: _Submitted, items: Sequence[Object]) -> tuple[str, ...]:
    """Wait until these submissions have ended, or their time is over; answers what has not."""
    context.progress.step("waiting for jobs to end")

    def open_() -> list[str]:
        for item in items:
            _let_end(context, submitted, item)
        done = {
            item["metadata"]["name"]
            for kind in (JOB, JOB_SET)
            for item in context.api.all(kind)
            if _has(item, "Complete", "Completed", "Failed")
        }
        return [item["metadata"]["name"] for item in items if item["metadata"]["name"] not in done]

    end = time.monotonic() + END
    context.recorder.until(
        "all jobs ended",
        lambda: not open_() or time.monotonic() > end,
        2 * END,
        lambda: context.progress.count(len(items) - len(open_()), len(items), "jobs ended"),
    )
    return tuple(f"{name} has not ended" for name in open_()[:5])


def _let_end(context: Context, submitted: _Submitted, item: Object) -> None:
    """Let pods end that run without a time; of a JobSet the main ones last, as a master does that waits for its workers."""
    name = item["metadata"]["name"]
    pods = context.pods({name})
    main = [pod for pod in pods if pod["metadata"]["labels"].get(_REPLICATED) in _main(item)]
    others = [pod for pod in pods if pod not in main]
    have_ended = len(pods) == submitted.pods[name] and all(
        pod.get("status", {}).get("phase") == "Succeeded" for pod in others
    )
    for pod in [*others, *(main if have_ended else ())]:
        metadata = pod["metadata"]
        if is_bound(pod) and RUN_FOR not in (metadata.get("annotations") or {}):
            change = {"metadata": {"annotations": {RUN_FOR: STILL_RUNS}}}
            try:
                context.api.patch(POD, metadata["name"], change, metadata["namespace"])
            except ApiError as error:
                # it is gone already, with its JobSet
                if error.status != 404:
                    raise


def _nothing_lost(context: Context, submitted: _Submitted, changes: Sequence[Change]) -> Iterator[Measure]:
    """Every submission has run whole, and nothing of it twice.

    Where the answer to a create is lost with the API server, the Job controller may make a pod twice; it keeps
    one and takes the other back.
    """
    bound: dict[str, set[str]] = {name: set() for name in submitted.pods}
    succeeded: dict[str, set[str]] = {name: set() for name in submitted.pods}
    indexes: dict[str, set[tuple[str, str]]] = {name: set() for name in submitted.pods}
    for change in changes:
        metadata = change.object["metadata"]
        labels = metadata.get("labels") or {}
        name = labels.get(SUBMISSION, "")
        if change.kind != POD.name or name not in bound:
            continue
        if is_bound(dict(change.object)):
            bound[name].add(metadata["uid"])
        if change.object["status"].get("phase") == "Succeeded":
            succeeded[name].add(metadata["uid"])
            indexes[name].add((labels.get(_JOB, ""), labels.get(_INDEX, metadata["uid"])))
    exact = sum(len(succeeded[n]) == len(indexes[n]) == pods for n, pods in submitted.pods.items())
    objects = [item for kind in (JOB, JOB_SET) for item in context.api.all(kind)]
    failed = [item for item in objects if _has(item, "Failed") or item.get("status", {}).get("failed")]
    restarted = [item for item in objects if item.get("status", {}).get("restarts")]
    yield all_of("submissions with each of their pods succeeded once", exact, len(submitted.pods))
    yield all_of("pods succeeded", sum(map(len, indexes.values())), submitted.total)
    yield none_of("pods succeeded twice", sum(len(succeeded[n]) - len(indexes[n]) for n in submitted.pods))
    yield told("pods bound and taken back", sum(len(bound[n] - succeeded[n]) for n in submitted.pods))
    yield none_of("jobs failed or restarted", len(failed) + len(restarted))
    if context.plan.queues:
        held = [item for item in context.recorder.objects(WORKLOAD) if not _has(item, "Finished")]
        yield none_of("workloads that still hold or wait for quota", len(held))


def _limits_kept(context: Context, changes: Sequence[Change]) -> Iterator[Measure]:
    """What must hold at every instant; a cap in curve form is soft."""
    cap = context.plan.cap
    for name, breaches in _breaches(context, changes).items():
        soft = name == _HEADROOM and cap is not None and cap.form == "curve"
        yield told(name, len(breaches)) if soft else none_of(name, len(breaches))


def _breaches(context: Context, changes: Sequence[Change]) -> dict[str, list[Breach]]:
    plan = context.plan
    found = {"nodes overcommitted": overcommitted(changes)}
    if plan.queues:
        found["quotas exceeded"] = quota_breaches(plan, changes)
    if plan.cap is not None:
        found[_HEADROOM] = headroom_breaches(plan, changes)
    return found


def _breach_evidence(context: Context, changes: Sequence[Change]) -> Iterator[str]:
    for breaches in _breaches(context, changes).values():
        yield from map(str, breaches[:3])


def _control(context: Context, faults: Faults) -> tuple[Measure, ...]:
    """One of each job while the scheduler is away: none of it runs."""
    context.progress.step("the scheduler is not started again")
    names = [f"control-{manifest.name}" for manifest in context.manifests]
    items = [_instance(m, name, RUN_TIMES[0]) for m, name in zip(context.manifests, names, strict=True)]
    pods = sum(manifest.pods for manifest in context.manifests)
    with context.clean_slate(), _down(faults, "kube-scheduler"):
        since = context.recorder.now()[1]
        context.submit(items)
        time.sleep(CONTROL)
        changes = context.recorder.changes(since)
    bound = _bound(changes)
    return (all_of("pods succeeded", bound, pods),)


def _bound(changes: Sequence[Change]) -> int:
    """Pods of submissions that were bound at some time."""
    return len(
        {
            change.object["metadata"]["uid"]
            for change in changes
            if change.kind == POD.name
            and SUBMISSION in (change.object["metadata"].get("labels") or {})
            and is_bound(dict(change.object))
        }
    )


def _next_binding(context: Context, since: int, at: float) -> float | None:
    """When the first pod was bound after a time."""
    seen: set[str] = set()
    for change in context.recorder.changes(since):
        if change.kind != POD.name or not is_bound(dict(change.object)):
            continue
        uid = change.object["metadata"]["uid"]
        if uid not in seen and change.at > at:
            return change.at
        seen.add(uid)
    return None


def _has(item: Object, *conditions: str) -> bool:
    found = item.get("status", {}).get("conditions") or ()
    return any(one["type"] in conditions and one["status"] == "True" for one in found)
