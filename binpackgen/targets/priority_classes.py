"""PriorityClasses from the tiers, and Kueue's WorkloadPriorityClasses from the same numbers.

A PriorityClass orders pods in the scheduler and says who evicts whom; a WorkloadPriorityClass orders whole
workloads in Kueue's queues and never becomes a pod's priority.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..document import Because, Document, Output
from ..plan.model import Plan, Tier
from ..source import Path
from .metadata import metadata

#: `value` and `preemptionPolicy` are immutable, so a changed tier needs the class deleted and created again.
#: Flux does that on its own only where the object says so, and then only when the API server refuses the
#: update (fluxcd/pkg ssa). Argo CD's counterpart, Force=true,Replace=true, replaces the class on every sync;
#: for a moment pods without a class would get priority 0, so it is left to the person who changes a value.
RECREATE_WHEN_IMMUTABLE = {"kustomize.toolkit.fluxcd.io/force": "enabled"}


def compile(plan: Plan) -> Iterator[Output]:
    """One PriorityClass per tier, and with queues one WorkloadPriorityClass per tier."""
    # The default comes last: admission refuses a second default, so the old one must be cleared first.
    for tier in sorted(plan.tiers, key=lambda tier: tier.source.default):
        yield _priority_class(plan, tier)
    if plan.queues:
        for tier in plan.tiers:
            yield _workload_priority_class(plan, tier)


def _priority_class(plan: Plan, tier: Tier) -> Document:
    source = tier.source
    body: dict[str, Any] = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata(plan, tier.name, annotations=dict(RECREATE_WHEN_IMMUTABLE)),
        "value": source.value,
    }
    if source.default:
        body["globalDefault"] = True
    if not source.preempts:
        body["preemptionPolicy"] = "Never"
    if source.description:
        body["description"] = source.description
    trace: dict[Path, Because] = {
        ("value",): Because(
            "pods of a higher value are scheduled first; it cannot be changed later, and pods keep the number "
            "that they were created with",
            ((*tier.at, "value"),),
        ),
        ("globalDefault",): Because("pods that name no class get this one", ((*tier.at, "default"),)),
        ("preemptionPolicy",): Because(
            "the tier does not evict; its pods still go first in the queue and can be evicted by higher tiers",
            ((*tier.at, "preempts"),),
        ),
        ("metadata", "annotations"): Because(
            "value and preemptionPolicy are immutable: Flux creates the class again where the API server "
            "refuses the update; with Argo CD sync the class once with force and replace"
        ),
    }
    why = Because(f"priority tier {tier.name}", (tier.at,))
    return Document("priority-classes.yaml", body, why, trace, wave=1 if source.default else 0)


def _workload_priority_class(plan: Plan, tier: Tier) -> Document:
    source = tier.source
    body: dict[str, Any] = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": metadata(plan, tier.name),
        "value": source.value,
    }
    if source.description:
        body["description"] = source.description
    why = Because(
        f"priority tier {tier.name} in Kueue's queues, with the value of its PriorityClass: without it Kueue "
        "takes the pods' priority, which jobs of one queue may mix",
        (tier.at,),
    )
    trace: dict[Path, Because] = {
        ("value",): Because("Kueue admits workloads of a higher value first", ((*tier.at, "value"),))
    }
    return Document("kueue/workload-priority-classes.yaml", body, why, trace, wave=3)
