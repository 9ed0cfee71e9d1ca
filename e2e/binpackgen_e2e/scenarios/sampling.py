"""Sampling: above 100 nodes, equal pods still fill one node after the other.

kube-scheduler scores a window of the nodes unless percentageOfNodesToScore says otherwise, and the window moves on
with every pod: packing then builds several half-full piles.
"""

from __future__ import annotations

from collections.abc import Iterator

from binpackgen.plan.model import Plan, PodGroup

from ..api import Object
from ..context import Context, is_bound
from ..control_profiles import SAMPLING_SCHEDULER
from ..outcome import Measure, Outcome
from ..work import lower_bound
from ..workloads import SUBMISSION, Manifest, pod_templates
from .scenario import HIT_RATE, Scenario, above, at_most, told

#: Nodes from which on the scheduler samples: minFeasibleNodesToFind, pkg/scheduler/schedule_one.go in v1.37.2.
WHOLE = 100
#: Equal pods, as many as fill about this many nodes.
NODES = 6
PATIENCE = 90.0


def lacks(plan: Plan) -> str:
    """Smaller clusters are looked at whole in any case."""
    if not plan.jobs:
        return "jobs"
    return "" if plan.nodes_max > WHOLE else f"more than {WHOLE} nodes"


def run(context: Context) -> Outcome:
    """Equal pods one after the other by the packing profile, then by the same profile left to sample."""
    measures, evidence = _place(context, None)
    control, _ = _place(context, SAMPLING_SCHEDULER)
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=measures,
        control_name="the same profile without percentageOfNodesToScore",
        control=control,
        evidence=evidence,
    )


SCENARIO = Scenario("sampling", "More than 100 nodes are looked at, not a window of them", lacks, run)


def _place(context: Context, scheduler: str | None) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    manifest, group = _smallest(context)
    pool = context.plan.pool(group.pools[0])
    each = {"cpu": group.request.cpu, "memory": group.request.memory, **group.request.devices}
    offers = {"cpu": pool.room.cpu, "memory": pool.room.memory, **pool.room.devices}
    on_a_node = min(offers[name] // amount for name, amount in each.items() if amount)
    count = NODES * on_a_node
    with context.clean_slate():
        ledger = context.ledger()
        context.progress.step(f"sampling, {scheduler or 'packing scheduler'}")
        # one by one: bindings are written in no fixed order, and equal pods would hide whose turn it was
        for index, item in enumerate(_pods(context, manifest, count, scheduler), start=1):
            context.progress.count(index, count, "pods bound")
            context.submit([item])
            context.recorder.until(
                f"{index} of {count} pods bound",
                lambda index=index: sum(map(is_bound, context.pods())) >= index,  # type: ignore[misc]
                PATIENCE,
            )
        ledger.read()
        used = sum(ledger.nodes_in_use().values())
    least = lower_bound([each] * count, offers)
    # one more for the pool of another kind that pods without devices may start with
    measures = (
        above("hit rate", ledger.golden().preferred_hit_rate.rate, HIT_RATE),
        at_most("nodes in use", used, least + 1),
        told("nodes needed at least", least),
    )
    return measures, (f"{count} pods of job {manifest.name} among {context.plan.nodes_max} nodes",)


def _smallest(context: Context) -> tuple[Manifest, PodGroup]:
    """The job with the smallest pods that ask for devices, or of all where none does."""
    groups = [(one, group) for one in context.manifests for group in one.job.pod_groups]
    with_devices = [pair for pair in groups if pair[1].request.devices]
    return min(with_devices or groups, key=lambda pair: (pair[1].request.device_count, pair[1].request.cpu))


def _pods(context: Context, manifest: Manifest, count: int, scheduler: str | None) -> Iterator[Object]:
    """Pods from the job's template, for the scheduler alone: no queue stands before them."""
    for index in range(count):
        name = f"{manifest.name}-{index}"
        template = list(pod_templates(manifest.instance(name, scheduler=scheduler)))[-1]
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": manifest.namespace,
                "labels": {**template["metadata"]["labels"], SUBMISSION: name},
            },
            "spec": template["spec"],
        }
