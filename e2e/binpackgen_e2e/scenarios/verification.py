"""Verification: the planned scoring is in force, nodes fill one by one, and events name the nodes that pods have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from binpackgen.errors import BinpackgenError
from binpackgen.plan.model import Amount, Plan, PodGroup, Pool
from binpackgen.plan.pools import NO_GPU
from binpackgen.report.packing_map import PackingMap
from binpackgen.targets.scheduler.configuration import CAP_PLUGIN

from ..api import NODE
from ..context import Context, is_bound
from ..maps import packing_map
from ..outcome import Measure, Outcome
from ..placing import Binding, bindings, qualified, single_pod
from ..scheduler_facts import (
    differences,
    planned_scoring,
    score_evaluations,
    scoring_in_force,
)
from ..workloads import Manifest
from .scenario import Scenario, all_of, none_of

#: Nodes that equal pods fill, one pod after the other, before one more pod opens the next; most pods of a type.
NODES, MOST_PODS = 2, 24
#: Seconds until a pod must be bound, and until its event must be there.
PATIENCE, EVENTS = 20.0, 10.0


class Filling(NamedTuple):
    """Equal pods for the nodes of one GPU type, and how many of them."""

    gpu_type: str
    manifest: Manifest
    group: PodGroup
    pods: int


class Opened(NamedTuple):
    """A node that got its first pod while `open_node` could hold that pod, too."""

    binding: Binding
    open_node: str


def lacks(plan: Plan) -> str:
    """Jobs, whose pods the nodes are filled with."""
    return "" if any(group.pools for job in plan.jobs for group in job.pod_groups) else "jobs"


def run(context: Context) -> Outcome:
    """Ask the scheduler what is in force, then fill nodes pod by pod, with it and with the default scheduler."""
    scoring, differing = _scoring(context)
    before = score_evaluations(context.cluster.metrics(), context.plan.scheduler.name)
    filled, evidence, after = _fill(context, None, "packing scheduler")
    ran, counted = _ran(context, before)
    control, other, control_map = _fill(context, context.cluster.control_scheduler, "default scheduler")
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=(*scoring, *ran, *filled),
        control_name="default scheduler profile",
        control=control,
        evidence=(*differing, counted, *evidence, *(f"control: {line}" for line in other)),
        maps=(after, control_map),
    )


SCENARIO = Scenario("verification", "The planned scoring is in force, and nodes fill one by one", lacks, run)


def fillings(plan: Plan, manifests: Sequence[Manifest]) -> Iterator[Filling]:
    """For each GPU type the largest pods that go there, enough to fill some nodes and one more.

    Pods of which a node holds only one say nothing about order and are left out.
    """
    for gpu_type in dict.fromkeys(pool.gpu_type for pool in plan.pools):
        pools = [pool for pool in plan.pools if pool.gpu_type == gpu_type]
        choices = [
            (min(copies), manifest, group, max(copies))
            for manifest in manifests
            for group in manifest.job.pod_groups
            if (group.gpu_type == gpu_type if gpu_type != NO_GPU else group.cpu_only)
            and (copies := [_copies(pool, group.request) for pool in pools if pool.name in group.pools])
            and min(copies) > 1
        ]
        if choices:
            _, manifest, group, copies_most = min(choices, key=lambda one: one[0])
            yield Filling(gpu_type, manifest, group, min(NODES * copies_most + 1, MOST_PODS))


def opened_too_early(
    placed: Iterable[Binding], room: Mapping[str, Amount], request: Amount
) -> Iterator[Opened]:
    """Nodes that got their first pod while one that had some could have held it.

    `room` is what each node holds for these pods in all; the pods are equal and come one after the other.
    """
    left: dict[str, Amount] = {}
    for binding in placed:
        if binding.node not in left:
            open_node = next((name for name, rest in left.items() if rest.holds(request)), None)
            if open_node is not None:
                yield Opened(binding, open_node)
            left[binding.node] = room[binding.node]
        left[binding.node] = left[binding.node].less(request)


def _copies(pool: Pool, request: Amount) -> int:
    """How many pods of a request an empty node of the pool holds."""
    pairs = [
        (pool.room.cpu, request.cpu),
        (pool.room.memory, request.memory),
        *((pool.room.devices.get(name, 0), count) for name, count in request.devices.items()),
    ]
    return min(have // asked for have, asked in pairs if asked)


def _scoring(context: Context) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """The running scheduler's own word on its scoring, setting by setting."""
    plan = context.plan
    planned = planned_scoring(plan)
    found = scoring_in_force(context.cluster.effective_configuration(), plan.scheduler.name, plan.minor)
    lines = differences(planned, found)
    plugins = ", ".join(f"{name} {weight}" for name, weight in found.plugins.items())
    resources = ", ".join(f"{name} {weight}" for name, weight in found.resources.items())
    cap = f"; {CAP_PLUGIN} with {found.cap}" if found.cap is not None else ""
    evidence = (
        f"in force, as the scheduler says: plugins {plugins}; {found.strategy} with {resources}{cap}",
        *(f"not as planned: {line}" for line in lines),
    )
    return (none_of("scoring settings that are not as planned", len(lines)),), evidence


def _ran(context: Context, before: Mapping[str, int]) -> tuple[tuple[Measure, ...], str]:
    """Which plugins scored since, by the scheduler's counters."""
    plan = context.plan
    after = score_evaluations(context.cluster.metrics(), plan.scheduler.name)
    if not after:
        raise BinpackgenError("the scheduler's metrics have no counters of plugin evaluations")
    planned = {scorer.plugin for scorer in plan.scheduler.scorers}
    ran = {name: count - before.get(name, 0) for name, count in after.items()}
    others = sorted(set(after) - planned)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(ran.items(), key=lambda one: -one[1]))
    return (
        none_of("plugins that score unplanned", len(others)),
        all_of("planned score plugins ready to score", len(planned & set(after)), len(planned)),
        Measure(
            "evaluations by NodeResourcesFit",
            ran.get("NodeResourcesFit", 0),
            "",
            "> 0",
            ran.get("NodeResourcesFit", 0) > 0,
        ),
    ), f"nodes scored by each plugin meanwhile, as the scheduler counts: {counts}"


def _fill(
    context: Context, scheduler: str | None, who: str
) -> tuple[tuple[Measure, ...], tuple[str, ...], PackingMap]:
    """Equal pods one after the other, type by type; in which order nodes were opened, and what events say."""
    plan = context.plan
    label = plan.spec.node_labels.pool
    pools = {
        node["metadata"]["name"]: node["metadata"]["labels"].get(label) for node in context.api.all(NODE)
    }
    room = {node: plan.pools_by_name[pool].room for node, pool in pools.items() if pool in plan.pools_by_name}
    measures: list[Measure] = []
    evidence: list[str] = []
    with context.clean_slate():
        since = context.recorder.now()[1]
        ledger = context.ledger()
        for filling in fillings(plan, context.manifests):
            begin = context.recorder.now()[1]
            names = _submit_one_by_one(context, filling, scheduler, who, len(ledger.placements))
            ledger.read()
            placed = [
                one for one in bindings(context.recorder.changes(begin)) if one.submission in set(names)
            ]
            early = list(opened_too_early(placed, room, filling.group.request))
            used = list(dict.fromkeys(one.node for one in placed))
            name = "CPU-only" if filling.gpu_type == NO_GPU else filling.gpu_type
            measures.append(none_of(f"nodes opened before the last was full, {name}", len(early)))
            evidence.append(
                f"{name}: {len(placed)} equal pods of job {filling.manifest.name}, one after the other, went to"
                f" {len(used)} nodes, in this order: {', '.join(used)}"
            )
            evidence += [
                f"pod {one.binding.name} opened {one.binding.node} while {one.open_node} could hold it"
                for one in early[:1]
            ]
        agreeing, lines = _events(context, since)
        ledger.read()
        result = packing_map(who, ledger)
    return (*measures, *agreeing), (*evidence, *lines), result


def _submit_one_by_one(
    context: Context, filling: Filling, scheduler: str | None, who: str, first: int
) -> tuple[str, ...]:
    context.progress.step(f"verification, {who}, {filling.gpu_type}")
    names = []
    for index in range(first, first + filling.pods):
        name = f"one-by-one-{index}"
        context.api.create(single_pod(filling.manifest, filling.group, name, scheduler=scheduler))
        names.append(name)
        context.recorder.until(
            f"{who}: pod {name} bound",
            lambda name=name: any(map(is_bound, context.pods([name]))),  # type: ignore[misc]
            PATIENCE,
        )
    return tuple(names)


def _events(context: Context, since: int) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """Whether the Scheduled event of every pod is there and names the node that the pod has."""
    placed = {one.pod["metadata"]["uid"]: one for one in bindings(context.recorder.changes(since))}

    def events() -> dict[str, str]:
        return {
            event["involvedObject"].get("uid", ""): event["message"]
            for event in context.events()
            if event.get("reason") == "Scheduled"
        }

    try:
        context.recorder.until("the events of all pods", lambda: placed.keys() <= events().keys(), EVENTS)
    except BinpackgenError as error:
        context.progress.line(str(error))
    messages = events()
    agree = sum(1 for uid, one in placed.items() if _names(messages.get(uid, ""), one))
    lines = [
        f"pod {one.name} has node {one.node}; its event: {messages.get(uid) or 'none'}"
        for uid, one in placed.items()
        if not _names(messages.get(uid, ""), one)
    ]
    return (all_of("pods whose event names their node", agree, len(placed)),), tuple(lines[:3])


def _names(message: str, placed: Binding) -> bool:
    """Whether the message of a Scheduled event is about this pod and node."""
    return message == f"Successfully assigned {qualified(placed.pod)} to {placed.node}"
