from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule, key_span


class NothingPreempts(PlanRule):
    """
    ## What it does
    Reports several tiers of which none evicts others, in profiles without queues.

    ## Why it matters
    Tiers then only order the waiting pods. A full cluster of low jobs keeps every high job waiting until one
    of them ends. With queues Kueue evicts by workload priority, and tiers that do not preempt are a sound
    choice.

    ## Fails
    ```yaml
    priorityTiers:  # <-
      - {name: batch-high, value: 2000, preempts: false}
      - {name: batch-low, value: 1000, preempts: false, default: true}
    ```

    ## Passes
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 2000}
      - {name: batch-low, value: 1000, preempts: false, default: true}
    ```

    ## Fix
    Leave `preempts` at its default on the higher tiers.

    ## References
    kubernetes pkg/scheduler/framework/plugins/defaultpreemption
    """

    code = "BP307"
    severity = Severity.NOTE

    def check(self, plan: Plan) -> Iterator[Finding]:
        if len(plan.tiers) < 2 or plan.queues or any(tier.source.preempts for tier in plan.tiers):
            return
        highest = max(plan.tiers, key=lambda tier: tier.source.value)
        yield self.finding(
            key_span(plan.loaded, ("spec", "priorityTiers")),
            f'none of {len(plan.tiers)} tiers evicts another, so "{highest.name}" waits until lower jobs end',
            "leave preempts at its default on the higher tiers",
        )
