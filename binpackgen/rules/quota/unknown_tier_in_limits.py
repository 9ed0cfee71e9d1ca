from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule, suggestion


class UnknownTierInLimits(ProfileRule):
    """
    ## What it does
    Reports `tierLimits` for a tier that the profile does not have.

    ## Why it matters
    The limit becomes a ResourceQuota scoped to a PriorityClass of that name, which no pod ever has: it limits
    nothing.

    ## Fails
    ```yaml
    priorityTiers: [{name: batch-high, value: 1000, default: true}]
    queues:
      - name: research
        namespaces: [a]
        quota: {a100: 100%}
        tierLimits:
          batch-hihg: 50%  # <-
    ```

    ## Passes
    ```yaml
    priorityTiers: [{name: batch-high, value: 1000, default: true}]
    queues:
      - name: research
        namespaces: [a]
        quota: {a100: 100%}
        tierLimits:
          batch-high: 50%
    ```

    ## Fix
    Name one of the `priorityTiers`.

    ## References
    kubernetes pkg/quota/v1/evaluator/core/pods.go
    """

    code = "BP406"

    def check(self, draft: Draft) -> Iterator[Finding]:
        known = set(draft.tier_names)
        for index, queue in enumerate(draft.spec.queues):
            for tier in queue.tier_limits:
                if tier not in known:
                    span = draft.key("queues", index, "tierLimits", tier)
                    yield self.finding(
                        span,
                        f'queue "{queue.name}" limits tier "{tier}", which the profile does not have',
                        suggestion(span, tier, known, "tiers"),
                    )
