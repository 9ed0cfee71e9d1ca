"""JobSet: the master on a node of its own, the workers on as few nodes as can hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from binpackgen.metrics.golden import NodeUse
from binpackgen.plan.model import Amount, Plan, PlannedJob, PodGroup
from binpackgen.report.packing_map import PackingMap
from binpackgen.targets.scheduler.configuration import has_cap_plugin

from ..api import Object
from ..context import ClusterLedger, Context, is_bound
from ..maps import packing_map
from ..outcome import Measure, Outcome
from ..placing import group_of, submission_of, until_quiet
from ..work import mix
from ..workloads import Manifest
from .scenario import Scenario, all_of, at_most, told

#: Share of the cluster that JobSets and other work fill together, most pods of it, and how many of the JobSets
#: are looked at at most, one after the other, once the rest is there.
LOAD, MOST_PODS, LOOKED_AT = 0.6, 150, 3
#: Seconds until all pods must be bound, beyond one for every ten pods, and seconds without a further one after
#: which the rest is given up.
PATIENCE, QUIET = 60.0, 8.0


class Placed(NamedTuple):
    """Where a JobSet went: nodes of its master and of its workers, and nodes that were empty before.

    `opened` are nodes that were empty and took workers, `needed` is how many had to be; `fewest` is how many
    nodes hold the workers at the least, whatever else runs.
    """

    name: str
    masters: frozenset[str]
    workers: frozenset[str]
    opened: int
    needed: int
    fewest: int

    @property
    def is_apart(self) -> bool:
        """Whether the master has a node without workers of its own."""
        return bool(self.masters) and self.masters.isdisjoint(self.workers)


def lacks(plan: Plan) -> str:
    """A job with a master and several workers."""
    return "" if any(map(_is_led, plan.jobs)) else "a job with a master and several workers"


def run(context: Context) -> Outcome:
    """JobSets alone on the cluster and beside other work, by the packing scheduler and by the default one."""
    placed, evidence, after = _place(context, None, "packing scheduler")
    control, other, control_map = _place(context, context.cluster.control_scheduler, "default scheduler")
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=placed,
        control_name="default scheduler profile",
        control=control,
        evidence=(*evidence, *(f"control: {line}" for line in other)),
        maps=(after, control_map),
    )


SCENARIO = Scenario(
    "jobset", "The master has a node of its own, the workers share as few as can hold them", lacks, run
)


def copies(room: Mapping[str, int], request: Mapping[str, int]) -> int:
    """How many pods of a request a room holds."""
    return min(max(0, room.get(name, 0)) // asked for name, asked in request.items() if asked)


def fewest_nodes(pods: int, holds: Iterable[int]) -> int:
    """How many nodes take equal pods at the least, of nodes that hold so many each."""
    count = 0
    for most in sorted(holds, reverse=True):
        if pods <= 0 or most <= 0:
            break
        pods -= most
        count += 1
    return count


def _is_led(job: PlannedJob) -> bool:
    return len(job.pod_groups) > 1 and _workers(job).count > 1


def _workers(job: PlannedJob) -> PodGroup:
    return next(group for group in job.pod_groups if group.role != "master")


def _place(
    context: Context, scheduler: str | None, who: str
) -> tuple[tuple[Measure, ...], tuple[str, ...], PackingMap]:
    """Each JobSet of the profile alone, and some of them beside other work."""
    led = [manifest for manifest in context.manifests if _is_led(manifest.job)]
    measures: list[Measure] = []
    looked_at: list[Placed] = []
    for manifest in led:
        context.progress.step(f"jobset, {who}, {manifest.name} alone")
        with context.clean_slate():
            alone = _one(context, context.ledger(), manifest, f"{manifest.name}-alone", scheduler, who)
        looked_at.append(alone)
        measures.append(
            at_most(f"nodes of {manifest.name}'s workers, alone", len(alone.workers), alone.fewest)
        )
    others, chosen = _beside(context, led)
    with context.clean_slate():
        ledger = context.ledger()
        context.progress.step(f"jobset, {who}, other work")
        names = {f"{manifest.name}-other-{index}": manifest for index, manifest in enumerate(others)}
        context.submit(manifest.instance(name, scheduler=scheduler) for name, manifest in names.items())
        wanted = sum(manifest.pods for manifest in others)
        other_bound = until_quiet(context, names, wanted, QUIET, PATIENCE + wanted / 10)
        busy = []
        for index, manifest in enumerate(chosen):
            context.progress.step(f"jobset, {who}, {index + 1} of {len(chosen)} beside other work")
            busy.append(_one(context, ledger, manifest, f"{manifest.name}-{index}", scheduler, who))
        ledger.read()
        result = packing_map(f"{who}: JobSets beside other work", ledger)
    looked_at += busy
    apart = sum(one.is_apart for one in looked_at)
    measures += [
        at_most(
            "empty nodes opened for workers beside other work",
            sum(one.opened for one in busy),
            sum(one.needed for one in busy),
        ),
        all_of("masters on a node without their workers", apart, len(looked_at)),
        told("nodes of workers beside other work, all JobSets", sum(len(one.workers) for one in busy)),
        told("nodes that would hold them at the least", sum(one.fewest for one in busy)),
    ]
    evidence = [f"other work: {len(others)} submissions, {other_bound} of {wanted} pods bound"]
    evidence += [
        f"{one.name}: master on {_list(one.masters)}, workers on {_list(one.workers)}" for one in looked_at
    ]
    return tuple(measures), tuple(evidence), result


def _beside(context: Context, led: Sequence[Manifest]) -> tuple[list[Manifest], list[Manifest]]:
    """Other work, and the JobSets to look at; together they fill the stated share."""
    items = list(mix(context.plan, context.manifests, LOAD, MOST_PODS).items)
    context.random().shuffle(items)
    candidates = [manifest for manifest in items if manifest in led]
    # the others are other work on the same kind of node
    chosen = candidates[: min(LOOKED_AT, max(1, len(candidates) // 2))]
    for manifest in chosen:
        items.remove(manifest)
    return items, chosen


def _one(
    context: Context,
    ledger: ClusterLedger,
    manifest: Manifest,
    name: str,
    scheduler: str | None,
    who: str,
) -> Placed:
    """Submit one JobSet, wait until its pods have nodes, and see which."""
    ledger.read()
    before = list(ledger.nodes())
    context.submit([manifest.instance(name, scheduler=scheduler)])
    bound = until_quiet(context, [name], manifest.pods, QUIET, PATIENCE)
    if bound < manifest.pods:
        context.progress.line(f"{who}: {bound} of {manifest.pods} pods of {name} bound")
    return read_placement(context.plan, manifest, name, context.pods([name]), before)


def read_placement(
    plan: Plan, manifest: Manifest, name: str, pods: Iterable[Object], before: Sequence[NodeUse]
) -> Placed:
    """Where the pods of a JobSet went, and on how few nodes its workers could be, given the nodes before."""
    group = _workers(manifest.job)
    nodes: dict[str, set[str]] = {"master": set(), "worker": set()}
    workers = 0
    for pod in pods:
        if is_bound(pod) and submission_of(pod) == name:
            role = group_of(pod, manifest).role
            workers += role == group.role
            nodes[role].add(pod["spec"]["nodeName"])
    request = _figures(group.request)
    types = {use.gpu_type for use in before if use.name in nodes["worker"]}
    keep = _figures(Amount(plan.cap.cpu, plan.cap.memory)) if plan.cap and has_cap_plugin(plan) else {}
    empty: list[int] = []
    started: list[int] = []
    least: list[int] = []
    for use in before:
        if use.gpu_type not in types or use.pool not in group.pools:
            continue
        least.append(copies(_figures(plan.pools_by_name[use.pool].room), request))
        if use.name in nodes["master"]:
            continue
        free = {
            resource: most - use.requested.get(resource, 0) - keep.get(resource, 0)
            for resource, most in use.allocatable.items()
        }
        (started if use.counted else empty).append(copies(free, request))
    was_empty = {use.name for use in before if not use.counted}
    return Placed(
        name,
        frozenset(nodes["master"]),
        frozenset(nodes["worker"]),
        opened=len(nodes["worker"] & was_empty),
        needed=fewest_nodes(workers - sum(started), empty),
        fewest=fewest_nodes(workers, least),
    )


def _figures(amount: Amount) -> dict[str, int]:
    return {"cpu": amount.cpu, "memory": amount.memory, **amount.devices}


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "no node"
