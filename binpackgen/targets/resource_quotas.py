"""ResourceQuotas scoped by PriorityClass: the most that one tier may hold in a namespace.

Only `requests.<device>` is counted for extended resources; `<device>` and `limits.<device>` are accepted and
never enforced (pkg/quota/v1/evaluator/core/pods.go, v1.37.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..document import Because, Document, Output
from ..plan.model import Plan, PlannedQueue, TierLimit
from ..plan.pools import cpu_text, memory_text
from ..source import Path
from .metadata import metadata


def compile(plan: Plan) -> Iterator[Output]:
    """One ResourceQuota per namespace of a queue and tier that the queue limits."""
    for queue in plan.queues:
        for limit in queue.tier_limits:
            for namespace in queue.source.namespaces:
                yield _quota(plan, queue, limit, namespace)


def _quota(plan: Plan, queue: PlannedQueue, limit: TierLimit, namespace: str) -> Document:
    hard = {"requests.cpu": cpu_text(limit.limit.cpu), "requests.memory": memory_text(limit.limit.memory)}
    for device in plan.covered_resources[2:]:
        hard[f"requests.{device}"] = str(limit.limit.devices.get(device, 0))
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        # a queue's name has no dot, so no other queue and tier can make the same name
        "metadata": metadata(plan, f"{queue.name}.{limit.tier}", namespace),
        "spec": {
            "hard": hard,
            "scopeSelector": {
                "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": [limit.tier]}]
            },
        },
    }
    why = Because(
        f"queue {queue.name} limits tier {limit.tier} in each of its namespaces; every container of the tier "
        "must state cpu and memory, and jobs that Kueue admits beyond the limit wait for their pods",
        (limit.at,),
    )
    trace: dict[Path, Because] = {
        ("spec", "hard"): Because(
            f"the limit of the tier, of what queue {queue.name} has as quota",
            (limit.at, (*queue.at, "quota")),
        ),
        ("spec", "scopeSelector"): Because(
            "the quota counts pods by the name of their PriorityClass; other tiers are not limited by it",
            (limit.at,),
        ),
    }
    return Document("resource-quotas.yaml", body, why, trace, wave=3)
