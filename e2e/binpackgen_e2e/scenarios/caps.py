"""Caps: pods press every node down to the headroom that the profile keeps free, in the form that it states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from binpackgen.plan.model import Amount, Cap, Plan, Pool
from binpackgen.plan.pools import cpu_text, memory_text
from binpackgen.report.packing_map import PackingMap
from binpackgen.targets.scheduler.configuration import has_cap_plugin

from ..api import NODE, Object
from ..caps import left_on_nodes
from ..context import Context, is_bound
from ..control_profiles import UNCAPPED_SCHEDULER, uncapped
from ..diagnosis import scheduler_says
from ..invariants import headroom_breaches
from ..maps import packing_map
from ..nodes import amounts
from ..outcome import Measure, Outcome
from ..placing import until_bound, until_quiet
from ..work import mix
from ..workloads import SUBMISSION
from .scenario import Scenario, all_of, none_of, told

#: Share of the cluster that the profile's jobs fill first, and most pods of them.
LOAD, MOST_PODS = 0.3, 100
#: Pods that press: so many to a node that was empty, of the larger size, for so many nodes; and smaller ones,
#: each of half the headroom, for so many nodes with as much left as a larger one takes.
LARGE_PER_NODE, LARGE_NODES, SMALL_PODS = 8, 2, 30
#: Largest number of pods that press one whole pool beyond what it holds.
OVERFLOW = 60
#: Seconds until all must be bound, seconds without a further placement after which the rest is given up.
PATIENCE, QUIET = 60.0, 3.0

_REJECTIONS = re.compile(r"^scheduler_node_utilization_cap_rejections_total\{[^}]*\} (\S+)$", re.MULTILINE)


class Pressed(NamedTuple):
    """What came of pressing: figures, what there is to say, and the map."""

    measures: tuple[Measure, ...]
    evidence: tuple[str, ...]
    map: PackingMap


def lacks(plan: Plan) -> str:
    """A cap, and for the filter form the scheduler image that has its plugin."""
    cap = plan.cap
    if cap is None or not (cap.cpu or cap.memory):
        return "a cap (caps.headroom)"
    if cap.form == "filter" and not has_cap_plugin(plan):
        return "a scheduler image with the plugin of a cap in filter form (kubernetes.schedulerImage)"
    return ""


def run(context: Context) -> Outcome:
    """Press with the cap, then the same without it."""
    cap = _cap(context.plan)
    pressed = _press(context, None, f"cap in {cap.form} form")
    measures, evidence = list(pressed.measures), list(pressed.evidence)
    if cap.form == "filter":
        more, told_more = _whole_nodes(context, cap)
        measures += more
        evidence += told_more
    with _without_cap(context) as scheduler:
        control = _press(context, scheduler, "without the cap")
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=tuple(measures),
        control_name="the same without the cap",
        control=control.measures,
        evidence=(*evidence, *(f"control: {line}" for line in control.evidence)),
        maps=(pressed.map, control.map),
    )


SCENARIO = Scenario("caps", "Nodes keep the headroom free that the profile states", lacks, run)


def _cap(plan: Plan) -> Cap:
    cap = plan.cap
    assert cap is not None  # noqa: S101  (lacks)
    return cap


@contextmanager
def _without_cap(context: Context) -> Iterator[str | None]:
    """The scheduler to ask where the cap is taken away: another profile, or the same on nodes without reserve."""
    if _cap(context.plan).form != "reserve":
        yield UNCAPPED_SCHEDULER
        return
    plain = uncapped(context.plan)
    try:
        _offer(context, plain)
        yield None
    finally:
        _offer(context, context.plan)


def _offer(context: Context, plan: Plan) -> None:
    """Let the nodes offer what they do in a plan, and wait until all do."""
    label = plan.spec.node_labels.pool
    pools = {
        node["metadata"]["name"]: plan.pools_by_name[node["metadata"]["labels"][label]]
        for node in context.api.all(NODE)
        if node["metadata"]["labels"].get(label) in plan.pools_by_name
    }
    for name, pool in pools.items():
        offers = {"allocatable": amounts(pool.allocatable)}
        context.api.patch(NODE, name, {"status": offers}, subresource="status")


def _press(context: Context, scheduler: str | None, who: str) -> Pressed:
    """Jobs, then pods of two sizes that any node may take, then more than one pool can hold."""
    plan = context.plan
    cap = _cap(plan)
    jobs = mix(plan, context.manifests, LOAD, MOST_PODS).items
    names = [f"{manifest.name}-{index}" for index, manifest in enumerate(jobs)]
    items = [m.instance(name, scheduler=scheduler) for m, name in zip(jobs, names, strict=True)]
    with context.clean_slate():
        ledger = context.ledger()
        present, since = context.recorder.now()
        context.progress.step(f"caps, {who}, jobs")
        context.submit(items)
        wanted = sum(manifest.pods for manifest in jobs)
        until_quiet(context, names, wanted, QUIET, PATIENCE + wanted / 10)
        context.progress.step(f"caps, {who}, pressing")
        pressing = list(_pressing(plan, scheduler))
        if cap.form == "curve":
            # the curve is judged choice by choice, so that no two may be under way
            for item in pressing:
                context.api.create(item)
                until_bound(context, who, [item["metadata"]["name"]], 1, PATIENCE)
        else:
            context.submit(pressing)
            until_quiet(context, _names(pressing), len(pressing), QUIET, PATIENCE)
            context.progress.step(f"caps, {who}, more than a pool can hold")
            overflow = list(_overflow(plan, scheduler))
            context.submit(overflow)
            until_quiet(context, _names(overflow), len(overflow), QUIET, PATIENCE)
        changes = context.recorder.changes(since)
        ledger.read()
        result = packing_map(who, ledger)
        events = context.events()
        refused = [
            said for pod in context.pods() if not is_bound(pod) and (said := scheduler_says(pod, events))
        ]
    breaches = headroom_breaches(plan, [*present, *changes])
    left = list(left_on_nodes(plan, [*present, *changes]))
    short = {(one.pod): one for one in left if one.short}
    measures = []
    evidence = [f"{who}: {len(left)} pods bound, {len(short)} of them left their node with less than the cap"]
    if cap.form == "curve":
        own = {f"{plan_namespace(plan)}/{name}" for name in _names(pressing)}
        judged = [one for one in ledger.placements if f"{one.namespace}/{one.name}" in short.keys() & own]
        missed = [one for one in judged if one.choice and not one.hit]
        measures += [
            none_of("pods put beyond the cap while the curve prefers another node", len(missed)),
            told("pods put beyond the cap", len(judged)),
            told(
                "pods put beyond the cap though another node would have kept it",
                sum(one.keeping > 0 for name, one in short.items() if name in own),
            ),
        ]
        evidence += [
            f"pod {one.name} went to {one.node}, which scores {one.score} on the curve; the best had {one.best}"
            for one in missed[:2]
        ]
    else:
        measures.append(none_of("times that a node came to have less left than the cap", len(breaches)))
        evidence += [str(one) for one in breaches[:2]]
        evidence += [f"refused: {refused[0]}"] if refused else []
    if cap.cpu:
        measures.append(told("cpu left at the least, cores", _least(one.cpu / 1000 for one in left)))
    if cap.memory:
        measures.append(told("memory left at the least, GiB", _least(one.memory / 2**30 for one in left)))
    if scheduler is None and has_cap_plugin(plan):
        count = sum(int(float(value)) for value in _REJECTIONS.findall(context.cluster.metrics()))
        measures.append(Measure("nodes refused by NodeUtilizationCap", count, "", "> 0", count > 0))
    return Pressed(tuple(measures), tuple(evidence), result)


def plan_namespace(plan: Plan) -> str:
    """Where the pods that press run: with the profile's jobs, or where everything does."""
    return plan.jobs[0].namespace if plan.jobs else "default"


def _least(figures: Iterable[float]) -> float | None:
    return min(figures, default=None)


def _names(items: Sequence[Object]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def _pressing(plan: Plan, scheduler: str | None) -> Iterator[Object]:
    """Pods without a wish: the larger ones fill nodes roughly, the smaller ones find what is left there."""
    cap = _cap(plan)
    smallest = min(plan.pools, key=lambda pool: (pool.room.cpu, pool.room.memory))
    large = Amount(smallest.room.cpu // LARGE_PER_NODE, smallest.room.memory // LARGE_PER_NODE)
    small = _half_of(cap, large)
    for index in range(LARGE_PER_NODE * LARGE_NODES):
        yield _pod(plan, f"pressing-large-{index}", large, scheduler)
    for index in range(SMALL_PODS):
        yield _pod(plan, f"pressing-small-{index}", small, scheduler)


def _overflow(plan: Plan, scheduler: str | None) -> Iterator[Object]:
    """More than the smallest pool can hold, headroom and all."""
    cap = _cap(plan)
    pool = min(plan.pools, key=lambda pool: (pool.nodes_max, pool.room.cpu))
    each = min(LARGE_PER_NODE, max(1, OVERFLOW // (2 * pool.nodes_max)))
    large = Amount(pool.room.cpu // each, pool.room.memory // each)
    for index in range((each + 1) * pool.nodes_max):
        yield _pod(plan, f"overflow-large-{index}", large, scheduler, pool)
    for index in range(4 * pool.nodes_max):
        yield _pod(plan, f"overflow-small-{index}", _half_of(cap, large), scheduler, pool)


def _half_of(cap: Cap, large: Amount) -> Amount:
    """Half the headroom; of a resource that has none, as much as keeps the larger pods' proportion."""
    cpu, memory = cap.cpu // 2, cap.memory // 2
    return Amount(cpu or large.cpu * memory // large.memory, memory or large.memory * cpu // large.cpu)


def _whole_nodes(context: Context, cap: Cap) -> tuple[list[Measure], list[str]]:
    """On each pool with devices a pod that takes all of a node, and one that leaves a device."""
    plan = context.plan
    whole, partial = {}, {}
    for pool in (pool for pool in plan.pools if pool.has_gpus):
        rest = pool.allocatable.less(pool.overhead)
        whole[f"whole-{pool.name}"] = _pod(plan, f"whole-{pool.name}", rest, None, pool)
        fewer = Amount(rest.cpu, rest.memory, {name: n - 1 for name, n in rest.devices.items()})
        partial[f"partial-{pool.name}"] = _pod(plan, f"partial-{pool.name}", fewer, None, pool)
    if not whole:
        return [], []
    context.progress.step("caps, whole-node pods")
    with context.clean_slate():
        present, since = context.recorder.now()
        context.submit([*whole.values(), *partial.values()])
        wanted = len(whole) if cap.exempt_whole_node else 0
        until_quiet(context, [*whole, *partial], wanted + len(partial), QUIET, PATIENCE)
        pods = {pod["metadata"]["name"]: pod for pod in context.pods([*whole, *partial])}
        events = context.events()
        changes = context.recorder.changes(since)
    bound = sum(is_bound(pods[name]) for name in whole)
    leaving = sum(is_bound(pods[name]) for name in partial)
    said = [
        f"pod {name} is refused: {text}"
        for name in (*partial, *whole)
        if not is_bound(pods[name]) and (text := scheduler_says(pods[name], events))
    ]
    measures = [
        all_of("whole-node pods in the headroom, which the cap exempts", bound, len(whole))
        if cap.exempt_whole_node
        else none_of("whole-node pods in the headroom", bound),
        none_of("pods in the headroom that leave a device of the node", leaving),
        none_of("breaches of the cap by others", len(headroom_breaches(plan, [*present, *changes]))),
    ]
    return measures, said[:1]


def _pod(plan: Plan, name: str, request: Amount, scheduler: str | None, pool: Pool | None = None) -> Object:
    """A pod that tolerates everything and asks for so much, on the nodes of a pool if one is given."""
    requests = {"cpu": cpu_text(request.cpu), "memory": memory_text(request.memory)}
    requests |= {device: str(count) for device, count in request.devices.items() if count}
    spec: Object = {
        "schedulerName": scheduler or plan.scheduler.name,
        "restartPolicy": "Never",
        "tolerations": [{"operator": "Exists"}],
        "containers": [
            {"name": "main", "image": "none", "resources": {"requests": requests, "limits": requests}}
        ],
    }
    if pool is not None:
        spec["nodeSelector"] = {plan.spec.node_labels.pool: pool.name}
    metadata = {"name": name, "namespace": plan_namespace(plan), "labels": {SUBMISSION: name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
