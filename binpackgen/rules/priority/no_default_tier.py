from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule, key_span


class NoDefaultTier(PlanRule):
    """
    ## What it does
    Reports profiles with tiers of which none is the default, where a tier's value is above 0.

    ## Why it matters
    Pods that name no class get priority 0 and no class name: every tier above 0 goes before them and may evict
    them, and no limit per tier counts them.

    ## Fails
    ```yaml
    priorityTiers:  # <-
      - {name: batch-high, value: 2000}
      - {name: batch-low, value: 1000}
    ```

    ## Passes
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 2000}
      - {name: batch-low, value: 1000, default: true}
    ```

    ## Fix
    Set `default: true` on the tier that such pods should have, unless the cluster has a default of its own.

    ## References
    kubernetes plugin/pkg/admission/priority/admission.go
    """

    code = "BP306"
    severity = Severity.NOTE

    def check(self, plan: Plan) -> Iterator[Finding]:
        above = [tier for tier in plan.tiers if tier.source.value > 0]
        if not above or plan.default_tier is not None:
            return
        jobs = sum(job.tier is None for job in plan.jobs)
        who = f"{jobs} jobs and all pods that name none" if jobs else "pods that name none"
        yield self.finding(
            key_span(plan.loaded, ("spec", "priorityTiers")),
            f"no tier is the default, so {who} have priority 0, below {len(above)} tiers",
            "set default: true on one tier",
        )
