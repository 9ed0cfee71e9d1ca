from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ..rule import Draft, ProfileRule


class EqualTierValues(ProfileRule):
    """
    ## What it does
    Reports tiers of the same value.

    ## Why it matters
    The scheduler compares values and not names: neither tier goes first, and neither evicts the other. Values
    cannot be changed later.

    ## Fails
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 1000}
      - {name: batch-low, value: 1000, default: true}  # <-
    ```

    ## Passes
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 2000}
      - {name: batch-low, value: 1000, default: true}
    ```

    ## Fix
    Give them different values, with gaps.

    ## References
    kubernetes pkg/scheduler/framework/preemption
    """

    code = "BP305"
    severity = Severity.NOTE

    def check(self, draft: Draft) -> Iterator[Finding]:
        first: dict[int, int] = {}
        for index, tier in enumerate(draft.spec.priority_tiers):
            other = first.setdefault(tier.value, index)
            if other != index and draft.tier_names[other] != tier.name:
                yield self.finding(
                    draft.span("priorityTiers", index, "value"),
                    f'tiers "{draft.tier_names[other]}" and "{tier.name}" both have the value {tier.value}; neither goes first',
                    "give them different values",
                    ((draft.span("priorityTiers", other, "value"), "the same value"),),
                )
