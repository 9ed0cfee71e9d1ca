"""Queueing: many jobs of all teams at once, what a queue may hold and borrow, and who gets it back.

Parts: 1,000 small jobs, all of which fit at once; one queue that asks for more than it may hold, and the owner of
what it borrowed, who takes it back; with fair sharing, two queues that both want everything. Quotas and nodes are
checked at every change that the API server made in any of them. The control repeats the second part with Kueue or
with borrowing left out, and the third with equal weights.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from binpackgen.metrics.changes import Change
from binpackgen.plan.model import Plan
from binpackgen.report.packing_map import PackingMap

from ..api import CLUSTER_QUEUE, JOB, POD, WORKLOAD, Object
from ..context import Context, is_bound
from ..invariants import overcommitted, quota_breaches
from ..maps import packing_map
from ..outcome import Measure, Outcome
from ..processes.simulated_nodes import STARTS_AFTER, WINDS_DOWN
from ..queued_work import (
    QUEUE_LABEL,
    Loan,
    Piece,
    Rivals,
    Use,
    as_workloads,
    job,
    loan,
    rivals,
    small_pieces,
    uses,
)
from ..workloads import SUBMISSION
from .scenario import Scenario, all_of, at_most, none_of, told

#: Jobs of the first part, and the seconds in which all must be bound. They cost about 55 seconds of CPU, half of it the
#: API server's: 25 to 31 s on two cores with nothing beside. The bar leaves room for a machine that has other work.
JOBS, WITHIN = 1000, 120.0
#: How long their pods take to start, as those of images that must be pulled: what kubelets report is no part of it.
STARTS = "2m"
#: Most jobs that use up a flavor, and those that ask for more than there is.
MOST_JOBS, BEYOND = 60, 2
#: Seconds in which an owner must have its own back from a borrower.
TAKEN_BACK = 20.0
#: How long a borrower's pods take to end: longer than Kueue takes to give their quota to the owner.
SLOW_END = "3s"
#: By how much of what is shared a fair share may differ from the weights, or by one job if that is more.
UNFAIR = 0.1
#: Seconds of watching that nothing more happens, and until something must have.
QUIET, PATIENCE = 3.0, 300.0

STAGES = ("created", "admitted", "unsuspended", "pod created", "bound")


class _Part(NamedTuple):
    measures: tuple[Measure, ...] = ()
    evidence: tuple[str, ...] = ()
    maps: tuple[PackingMap, ...] = ()
    changes: tuple[Change, ...] = ()


def lacks(plan: Plan) -> str:
    """Nothing to wait in without queues."""
    return "" if uses(plan, MOST_JOBS) else "queues"


def run(context: Context) -> Outcome:
    """The parts, then the controls of the second and the third."""
    lending, rivalry = loan(context.plan, MOST_JOBS), _rivals(context.plan)
    asking = lending.borrower if lending else min(uses(context.plan, MOST_JOBS), key=lambda use: use.most)
    parts = [_burst(context), _borrow(context, asking, lending)]
    if rivalry is not None:
        parts.append(_share(context, rivalry))
    controls = [_without_kueue(context, asking, lending)]
    if lending is not None:
        controls.append(_without_borrowing(context, lending))
    if rivalry is not None and rivalry.share > 0.5:  # with equal weights there is nothing to leave out
        controls.append(_without_weights(context, rivalry))
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=(
            *(measure for part in parts for measure in part.measures),
            *_invariants(context.plan, [part.changes for part in parts]),
        ),
        control_name="without Kueue, without borrowing, without weights",
        control=tuple(measure for part in controls for measure in part.measures),
        evidence=(
            *(line for part in parts for line in part.evidence),
            *_absent(lending, rivalry, context.plan),
            *(f"control: {line}" for part in controls for line in part.evidence),
        ),
        maps=tuple(one for part in (*parts, *controls) for one in part.maps),
    )


SCENARIO = Scenario("queueing", "Queues admit fast, lend, take back, and never exceed a quota", lacks, run)


def _rivals(plan: Plan) -> Rivals | None:
    return rivals(plan, MOST_JOBS) if plan.spec.queueing.fair_sharing else None


def _absent(lending: Loan | None, rivalry: Rivals | None, plan: Plan) -> Iterator[str]:
    """What the profile has nothing for."""
    if lending is None:
        yield "borrowing does not apply: no queue may borrow from one that takes back by eviction"
    if not plan.spec.queueing.fair_sharing:
        yield "fair share does not apply: queueing.fairSharing is off, so what is idle goes to who comes first"
    elif rivalry is None:
        yield "fair share does not apply: no two queues borrow the same idle quota"


def _burst(context: Context) -> _Part:
    """Many small jobs of all queues at once."""
    pieces = small_pieces(context.plan, JOBS)
    starts = {STARTS_AFTER: STARTS}
    items = [
        job(context.plan, piece, f"burst-{index}", annotations=starts) for index, piece in enumerate(pieces)
    ]
    with _recorded(context) as changes:
        context.progress.step(f"queueing, {len(items)} jobs")
        start = time.time()
        context.submit(items)
        created = time.time() - start
        _until_bound(context, items)
        seen = stages(changes())
        result = changes()
    total = max(seen["bound"].values()) - start
    queues = Counter(piece.queue.name for piece in pieces)
    return _Part(
        (
            all_of(f"jobs bound of {len(queues)} queues", len(seen["bound"]), len(items)),
            at_most("seconds until all were bound", total, WITHIN, "s"),
            told("seconds to create them", created, "s"),
        ),
        (
            f"{len(items)} one-pod jobs ({', '.join(f'{name} {count}' for name, count in queues.items())}),"
            f" {sum(1 for piece in pieces if piece.request.devices)} with a device",
            f"seconds after the first create until half / all were {stage_text(seen, start)}",
        ),
        changes=result,
    )


def _borrow(context: Context, asking: Use, lending: Loan | None) -> _Part:
    """A queue asks for more than it may hold; then, if it borrowed, the owner comes."""
    # where nodes and not quotas are what ends, jobs beyond them would be admitted and wait for nodes
    beyond = BEYOND if asking.reach == asking.most else 0
    items = _jobs(context, asking.piece, "asking", asking.most + beyond, annotations={WINDS_DOWN: SLOW_END})
    queue = asking.piece.queue.name
    measures: list[Measure] = []
    evidence: list[str] = []
    with _recorded(context) as changes:
        ledger = context.ledger()
        context.progress.step(f"queueing, {queue} asks for all that it may hold")
        start = time.time()
        context.submit(items)
        _until_admitted(context, queue, asking.most)
        _until_bound(context, items, asking.most)
        last = max(stages(changes())["bound"].values())
        time.sleep(QUIET)
        admitted = _admitted(context)[queue]
        ledger.read()
        maps = [packing_map(f"{queue} holds all that it may", ledger)]
        evidence.append(
            f"queue {queue} asked for {len(items)} jobs of {_piece_text(asking.piece)}: {admitted} were admitted,"
            f" of which {asking.own} fit into its own quota; all bound {last - start:.1f} s after the first create"
        )
        if beyond:
            measures.append(none_of("jobs admitted beyond quota and loan", max(0, admitted - asking.most)))
        if lending is not None:
            measures.append(
                all_of("jobs that borrowed", admitted - asking.own, asking.most - asking.own),
            )
            owner = lending.owner.queue.name
            own = _jobs(context, lending.owner, "owner", lending.back)
            context.progress.step(f"queueing, {owner} takes its quota back")
            start = time.time()
            context.submit(own)
            _until_bound(context, own)
            seconds = max(stages(_of(changes(), own))["bound"].values()) - start
            time.sleep(QUIET)
            ledger.read()
            maps.append(packing_map(f"{owner} has its quota back", ledger))
            gone = evicted(changes())
            left = _admitted(context)[queue]
            measures += [
                all_of("owner's jobs bound", len(own), lending.back),
                at_most("seconds until the owner had its own back", seconds, TAKEN_BACK, "s"),
                all_of("borrower's jobs that kept their own quota", min(left, asking.own), asking.own),
                none_of("evicted jobs beyond the owner's", max(0, len(gone) - lending.back)),
            ]
            evidence.append(
                f"queue {owner} then submitted {lending.back} jobs: Kueue evicted {len(gone)} of {queue},"
                f" which kept {left}"
            )
        result = changes()
    return _Part(tuple(measures), tuple(evidence), tuple(maps), result)


def _share(context: Context, rivalry: Rivals) -> _Part:
    """Two queues want everything, the lighter one first."""
    with _recorded(context) as changes:
        start = time.time()
        held = _contest(context, rivalry)
        result = changes()
    light, heavy = rivalry.light.piece.queue, rivalry.heavy.piece.queue
    return _Part(
        (_unfair(rivalry, held),),
        (
            f"queues {light.name} (weight {light.source.weight}) and {heavy.name} (weight {heavy.source.weight}) both"
            f" asked for all {rivalry.light.most} jobs of {_piece_text(rivalry.light.piece)}, {light.name} first:"
            f" {held[light.name]} and {held[heavy.name]} were admitted, of which {rivalry.light.own} and"
            f" {rivalry.heavy.own} are their own; at rest {max(c.at for c in result) - start:.1f} s after the first"
            f" create, with {len(evicted(result))} jobs evicted",
        ),
        changes=result,
    )


def _without_kueue(context: Context, asking: Use, lending: Loan | None) -> _Part:
    """The second part without Kueue: no queue label, not suspended."""
    items = _jobs(context, asking.piece, "asking", asking.reach + BEYOND, queued=False)
    own = _jobs(context, lending.owner, "owner", lending.back, queued=False) if lending else []
    measures: list[Measure] = []
    with _recorded(context) as changes:
        ledger = context.ledger()
        context.progress.step("queueing, control without Kueue")
        context.submit(items)
        _until_bound(context, items, asking.most)
        context.submit(own)
        time.sleep(2 * QUIET)
        ledger.read()
        after = packing_map("without Kueue", ledger)
        result = changes()
        bound = _bound(context, own)
        held = sum(1 for item in own if bound[item["metadata"]["name"]] >= item["spec"]["parallelism"])
    breaches = quota_breaches(context.plan, as_workloads(context.plan, result, stopping=False))
    measures.append(none_of("quotas exceeded by pods", len(breaches)))
    evidence = [f"without Kueue {len(breaches)} times: {breaches[0]}"] if breaches else []
    if lending is not None:
        measures.append(all_of("owner's jobs bound", held, lending.back))
    return _Part(tuple(measures), tuple(evidence), (after,))


def _without_borrowing(context: Context, lending: Loan) -> _Part:
    """What the borrower is admitted with where its queue may borrow nothing."""
    asking = lending.borrower
    queue = asking.piece.queue.name
    with _changed(context, {queue: no_borrowing(context.api.get(CLUSTER_QUEUE, queue))}), _recorded(context):
        context.progress.step("queueing, control without borrowing")
        context.submit(_jobs(context, asking.piece, "asking", asking.most))
        _until_admitted(context, queue, asking.own)
        time.sleep(QUIET)
        admitted = _admitted(context)[queue]
    return _Part((all_of("jobs that borrowed", admitted - asking.own, asking.most - asking.own),))


def _without_weights(context: Context, rivalry: Rivals) -> _Part:
    """The third part with equal weights."""
    names = [use.piece.queue.name for use in (rivalry.light, rivalry.heavy)]
    with (
        _changed(context, {name: {"fairSharing": {"weight": "1"}} for name in names}),
        _recorded(context),
    ):
        return _Part((_unfair(rivalry, _contest(context, rivalry)),))


def _contest(context: Context, rivalry: Rivals) -> Counter[str]:
    """Jobs that two queues are admitted with in the end, where both ask for everything."""
    light, heavy = rivalry.light, rivalry.heavy
    context.progress.step(f"queueing, {light.piece.queue.name} and {heavy.piece.queue.name} want everything")
    context.submit(_jobs(context, light.piece, "light", light.most))
    _until_admitted(context, light.piece.queue.name, light.most)
    context.submit(_jobs(context, heavy.piece, "heavy", heavy.most))
    held, since = _admitted(context), time.monotonic()

    def at_rest() -> bool:
        nonlocal held, since
        now = _admitted(context)
        if now != held:
            held, since = now, time.monotonic()
        return time.monotonic() - since > 2 * QUIET

    context.recorder.until("the two queues at rest", at_rest, PATIENCE)
    return held


def _unfair(rivalry: Rivals, held: Mapping[str, int]) -> Measure:
    """How far the heavier queue's part of what both borrowed is from its weight."""
    borrowed = [max(0, held[use.piece.queue.name] - use.own) for use in (rivalry.light, rivalry.heavy)]
    off = abs(borrowed[1] / sum(borrowed) - rivalry.share) if any(borrowed) else rivalry.share
    most = max(UNFAIR, 1 / rivalry.idle)
    return Measure(
        "fair share: off the weights by", off, "share", f"<= {most * 100:.0f}%", off <= most + 1e-9
    )


def _invariants(plan: Plan, runs: Sequence[Sequence[Change]]) -> Iterator[Measure]:
    """What held at every change of each run; a run begins with what was there."""
    by_kueue = [breach for run in runs for breach in quota_breaches(plan, run)]
    by_pods = [
        breach for run in runs for breach in quota_breaches(plan, as_workloads(plan, run, stopping=False))
    ]
    stopping = [
        breach for run in runs for breach in quota_breaches(plan, as_workloads(plan, run, stopping=True))
    ]
    overloaded = [breach for run in runs for breach in overcommitted(run)]
    yield told("changes checked", sum(map(len, runs)))
    yield none_of("quotas exceeded by workloads", len(by_kueue))
    yield none_of("quotas exceeded by pods", len(by_pods))
    yield told("quotas exceeded with pods that wind down", len(stopping))
    yield none_of("nodes overloaded", len(overloaded))


def stages(changes: Iterable[Change]) -> dict[str, dict[str, float]]:
    """When each job of a scenario reached each of STAGES, by its submission; for several pods, the last one's time."""
    seen: dict[str, dict[str, float]] = {stage: {} for stage in STAGES}
    pods: dict[tuple[str, str], set[str]] = {}

    def first(stage: str, name: str, at: float) -> None:
        seen[stage].setdefault(name, at)

    for change in changes:
        item = change.object
        metadata = item["metadata"]
        labels = metadata.get("labels") or {}
        if change.kind == JOB.name and SUBMISSION in labels:
            first("created", labels[SUBMISSION], change.at)
            if not item["spec"].get("suspend"):
                first("unsuspended", labels[SUBMISSION], change.at)
        elif change.kind == WORKLOAD.name and is_admitted(item):
            first("admitted", _owner(item), change.at)
        elif change.kind == POD.name and SUBMISSION in labels:
            known = pods.setdefault((metadata["namespace"], metadata["name"]), set())
            for stage in ("pod created", *(("bound",) if is_bound(dict(item)) else ())):
                if stage not in known:
                    known.add(stage)
                    seen[stage][labels[SUBMISSION]] = change.at
    return seen


def stage_text(seen: Mapping[str, Mapping[str, float]], start: float) -> str:
    """Seconds from `start` until half and until all jobs were at each stage."""
    texts = []
    for stage in STAGES:
        times = sorted(seen[stage].values())
        if times:
            texts.append(f"{stage} {times[len(times) // 2] - start:.1f} / {times[-1] - start:.1f}")
    return ", ".join(texts)


def is_admitted(workload: Mapping[str, object]) -> bool:
    """Whether Kueue has admitted a workload."""
    return _has(workload, "Admitted")


def evicted(changes: Iterable[Change]) -> set[str]:
    """Jobs whose workloads Kueue evicted, by name."""
    return {
        _owner(change.object)
        for change in changes
        if change.kind == WORKLOAD.name and _has(change.object, "Evicted")
    }


def _has(workload: Mapping[str, object], condition: str) -> bool:
    status = workload.get("status")
    conditions = status.get("conditions") or () if isinstance(status, Mapping) else ()
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


def _owner(workload: Mapping[str, object]) -> str:
    """Name of the job that a workload stands for."""
    metadata = workload["metadata"]
    assert isinstance(metadata, Mapping)  # noqa: S101
    owners = metadata.get("ownerReferences") or ()
    return str(next((owner["name"] for owner in owners), metadata["name"]))


def no_borrowing(cluster_queue: Object) -> Object:
    """The change to a ClusterQueue's spec after which it borrows nothing."""
    groups = copy.deepcopy(cluster_queue["spec"]["resourceGroups"])
    for group in groups:
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                resource["borrowingLimit"] = "0"
    return {"resourceGroups": groups}


def _jobs(
    context: Context,
    piece: Piece,
    stem: str,
    count: int,
    *,
    queued: bool = True,
    annotations: Mapping[str, str] | None = None,
) -> list[Object]:
    return [
        job(context.plan, piece, f"{stem}-{index}", queued=queued, annotations=annotations)
        for index in range(count)
    ]


@contextmanager
def _changed(context: Context, specs: Mapping[str, Object]) -> Iterator[None]:
    """ClusterQueues with other specs for a while."""
    before = {}
    for name, spec in specs.items():
        whole = context.api.get(CLUSTER_QUEUE, name)["spec"]
        before[name] = {field: whole.get(field) for field in spec}
        context.api.patch(CLUSTER_QUEUE, name, {"spec": spec})
    try:
        yield
    finally:
        for name, spec in before.items():
            context.api.patch(CLUSTER_QUEUE, name, {"spec": spec})


class _Recording:
    """What was there when it began, and every change since."""

    def __init__(self, context: Context) -> None:
        self._recorder = context.recorder
        self._before, self._since = context.recorder.now()

    def __call__(self) -> tuple[Change, ...]:
        return (*self._before, *self._recorder.changes(self._since))


@contextmanager
def _recorded(context: Context) -> Iterator[_Recording]:
    """A part of the scenario with its changes; nothing of it is left behind."""
    with context.clean_slate():
        yield _Recording(context)


def _of(changes: Iterable[Change], items: Sequence[Object]) -> Iterator[Change]:
    """Changes of the objects of some jobs."""
    names = {item["metadata"]["name"] for item in items}
    for change in changes:
        if (change.object["metadata"].get("labels") or {}).get(SUBMISSION) in names:
            yield change


def _admitted(context: Context) -> Counter[str]:
    """Jobs that are admitted now, by queue."""
    return Counter(
        item["status"]["admission"]["clusterQueue"]
        for item in context.recorder.objects(WORKLOAD)
        if is_admitted(item) and not _has(item, "Evicted")
    )


def _bound(context: Context, items: Sequence[Object]) -> Counter[str]:
    """Pods that have a node, by job."""
    names = {item["metadata"]["name"] for item in items}
    names_of_pods = (
        pod["metadata"]["labels"][SUBMISSION]
        for pod in context.recorder.objects(POD)
        if QUEUE_LABEL in (pod["metadata"].get("labels") or {}) and is_bound(pod)
    )
    return Counter(name for name in names_of_pods if name in names)


def _until_bound(context: Context, items: Sequence[Object], jobs: int | None = None) -> None:
    """Wait until the pods of all, or of so many, of the jobs are bound."""
    wanted = sum(item["spec"]["parallelism"] for item in items[:jobs])
    context.recorder.until(
        f"{wanted} pods bound",
        lambda: _bound(context, items).total() >= wanted,
        PATIENCE,
        lambda: context.progress.count(_bound(context, items).total(), wanted, "pods bound"),
    )


def _until_admitted(context: Context, queue: str, wanted: int) -> None:
    context.recorder.until(
        f"{wanted} jobs of queue {queue} admitted",
        lambda: _admitted(context)[queue] >= wanted,
        PATIENCE,
    )


def _piece_text(piece: Piece) -> str:
    amount = piece.request
    devices = " and ".join(f"{count} {device}" for device, count in amount.devices.items())
    asked = devices or f"{amount.cpu} millicores"
    return f"{piece.pods} pods with {asked} each" if piece.pods > 1 else f"one pod with {asked}"
