"""Packing: the profile's jobs in shuffled order, with completions in between, against the default scheduler."""

from __future__ import annotations

import math
from collections.abc import Iterator

from binpackgen.metrics.pods import read_any_pod
from binpackgen.plan.model import Plan
from binpackgen.plan.pools import NO_GPU
from binpackgen.report.packing_map import PackingMap

from ..api import Object
from ..context import ClusterLedger, Context, has_ended, is_bound
from ..maps import packing_map
from ..outcome import Measure, Outcome
from ..work import lower_bound, mix
from ..workloads import SUBMISSION, Manifest
from .scenario import FRAGMENTATION, HIT_RATE, Scenario, above, below, told

#: Share of the cluster that the mix fills, and most pods of it.
LOAD, MOST_PODS = 0.85, 600
#: Share of the submissions that come first, and of those, the share that ends before the rest come.
FIRST, ENDING = 0.6, 1 / 3
#: How long those that end run.
RUN_FOR = "1s"
#: Pods that declare nothing, beside the jobs.
UNDECLARED = 5
#: Seconds until all pods must be bound, beyond one for every ten pods.
PATIENCE = 120.0


def lacks(plan: Plan) -> str:
    """Nothing to submit without jobs."""
    return "" if plan.jobs else "jobs"


def run(context: Context) -> Outcome:
    """Place the mix with the packing scheduler, then the same with the default one."""
    chosen = mix(context.plan, context.manifests, LOAD, MOST_PODS)
    order = list(chosen.items)
    context.random().shuffle(order)
    packed, evidence, maps = _place(context, order, None, "packing scheduler")
    control, other_evidence, other_maps = _place(
        context, order, context.cluster.control_scheduler, "default scheduler"
    )
    pods = sum(manifest.pods for manifest in order)
    kinds = sorted({manifest.body["kind"] for manifest in order})
    told_first = f"{len(order)} submissions ({' and '.join(kinds)}), {pods} pods, up to {chosen.limit}"
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=packed,
        control_name="default scheduler profile",
        control=control,
        evidence=(told_first, *evidence, *(f"control: {line}" for line in other_evidence)),
        maps=(*maps, other_maps[1]),
    )


SCENARIO = Scenario("packing", "Jobs fill nodes one by one", lacks, run)


def _place(
    context: Context, order: list[Manifest], scheduler: str | None, who: str
) -> tuple[tuple[Measure, ...], tuple[str, ...], tuple[PackingMap, ...]]:
    """Submit, let some end, submit the rest; the figures, the evidence, and the map before and after."""
    names = [f"{manifest.name}-{index}" for index, manifest in enumerate(order)]
    first = math.ceil(len(order) * FIRST)
    ending = set(context.random().sample(names[:first], int(first * ENDING)))
    items = [
        manifest.instance(name, scheduler=scheduler, run_for=RUN_FOR if name in ending else "")
        for manifest, name in zip(order, names, strict=True)
    ]
    with context.clean_slate():
        ledger = context.ledger()
        for service in _services(context):
            context.api.apply(service)
        seconds = _submit(context, items[:first], order[:first], who)
        context.recorder.until(
            "the short jobs ended",
            lambda: all(has_ended(pod) for pod in context.pods(ending)),
            PATIENCE,
        )
        ledger.read()
        before = packing_map(f"{who}: after {len(ending)} of {first} submissions ended", ledger)
        rest = [*items[first:], *_undeclared(context, scheduler)]
        seconds += _submit(context, rest, order[first:], who, len(rest) - len(items[first:]))
        ledger.read()
        after = packing_map(f"{who}: after all arrivals", ledger)
        return tuple(_measures(context, ledger)), tuple(_evidence(ledger, seconds)), (before, after)


def _submit(
    context: Context, items: list[Object], manifests: list[Manifest], who: str, single: int = 0
) -> float:
    """Submit, and wait until every pod is bound; the seconds that took."""
    wanted = sum(manifest.pods for manifest in manifests) + single
    names = {item["metadata"]["labels"][SUBMISSION] for item in items}
    context.progress.step(f"packing, {who}")
    context.submit(items)

    def bound() -> int:
        return sum(1 for pod in context.pods(names) if is_bound(pod))

    return context.recorder.until(
        f"{who}: {wanted} pods bound",
        lambda: bound() >= wanted,
        PATIENCE + wanted / 10,
        lambda: context.progress.count(bound(), wanted, "pods bound"),
    )


def _services(context: Context) -> Iterator[Object]:
    """A Service that selects all pods of the profile, as JobSet and users make them: it wakes default spreading."""
    for namespace in sorted({manifest.namespace for manifest in context.manifests}):
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "binpackgen-e2e", "namespace": namespace},
            "spec": {
                "clusterIP": "None",
                "selector": {"binpackgen.dev/profile": context.plan.name},
                "ports": [{"port": 80}],
            },
        }


def _undeclared(context: Context, scheduler: str | None) -> Iterator[Object]:
    """Pods without requests, where a pool takes pods that tolerate nothing."""
    if all(pool.taints for pool in context.plan.pools):
        return
    for index in range(UNDECLARED):
        name = f"undeclared-{index}"
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": context.manifests[0].namespace,
                "labels": {SUBMISSION: name, "binpackgen.dev/profile": context.plan.name},
            },
            "spec": {
                "schedulerName": scheduler or context.plan.scheduler.name,
                "containers": [{"name": "main", "image": "none"}],
            },
        }


def _measures(context: Context, ledger: ClusterLedger) -> Iterator[Measure]:
    golden = ledger.golden()
    yield above("hit rate", golden.preferred_hit_rate.rate, HIT_RATE)
    for gpu_type, rate in golden.preferred_hit_rates.items():
        if rate.rate is not None:
            yield above(f"hit rate, {_type(gpu_type)}", rate.rate, HIT_RATE)
        else:
            yield told(f"hit rate, {_type(gpu_type)}", None, "share")
    # CPU-only pods are sent to one pool before another: fuller nodes of the other are passed over on purpose
    yield told("hit rate, pools that are preferred less included", golden.hit_rate.rate, "share")
    for gpu_type, fragmentation in golden.fragmentation.items():
        for resource, stock in fragmentation.items():
            name = f"{resource} of {_type(gpu_type)} nodes"
            if stock.unusable is not None and resource not in ("cpu", "memory"):
                yield below(f"fragmentation, {name}", stock.unusable, FRAGMENTATION)
            if stock.allocatable and (gpu_type == NO_GPU or resource not in ("cpu", "memory")):
                yield told(f"free share, {name}", stock.free_share, "share")
    for gpu_type, used, least in _nodes_used(context, ledger):
        yield told(f"nodes in use, {_type(gpu_type)}", used)
        yield told(f"nodes needed at least, {_type(gpu_type)}", least)


def _nodes_used(context: Context, ledger: ClusterLedger) -> Iterator[tuple[str, int, int]]:
    """By GPU type: nodes with pods of the scenario, and the lower bound for the pods that run there."""
    nodes = {node.name: node for node in ledger.nodes()}
    requests: dict[str, list[dict[str, int]]] = {}
    used: dict[str, set[str]] = {}
    for pod in context.pods():
        node = nodes.get(pod["spec"].get("nodeName", ""))
        if node is not None and not has_ended(pod):
            requests.setdefault(node.gpu_type or NO_GPU, []).append(dict(read_any_pod(pod).shape.requests))
            used.setdefault(node.gpu_type or NO_GPU, set()).add(node.name)
    for gpu_type, asked in sorted(requests.items()):
        offers = [node.allocatable for node in nodes.values() if (node.gpu_type or NO_GPU) == gpu_type]
        largest = {name: max(offer.get(name, 0) for offer in offers) for name in offers[0]}
        yield gpu_type, len(used[gpu_type]), lower_bound(asked, largest)


def _evidence(ledger: ClusterLedger, seconds: float) -> Iterator[str]:
    golden = ledger.golden()
    rate = golden.preferred_hit_rate
    yield (
        f"{rate.hits} of {rate.choices} placements with a choice went to a node of the highest packing score;"
        f" {rate.without_choice} had no choice; all bound {seconds:.1f} s after they were submitted"
    )
    missed = [one for one in ledger.placements if one.choice and not one.hit]
    for one in missed[:3]:
        yield f"{one.namespace}/{one.name} went to {one.node} with score {one.score}, the best had {one.best}"


def _type(gpu_type: str) -> str:
    return "CPU-only" if gpu_type == NO_GPU else gpu_type
