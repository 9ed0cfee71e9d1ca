from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule

#: Highest value of a class of one's own (pkg/apis/scheduling/types.go, HighestUserDefinablePriority).
_HIGHEST = 1_000_000_000


class PriorityTooHigh(ProfileRule):
    """
    ## What it does
    Reports priority tiers with a value above 1000000000.

    ## Why it matters
    The API server refuses them: `maximum allowed value of a user defined priority is 1000000000`.

    ## Fails
    ```yaml
    priorityTiers:
      - {name: batch-critical, value: 1000000001}  # <-
    ```

    ## Passes
    ```yaml
    priorityTiers:
      - {name: batch-critical, value: 1000000000, default: true}
    ```

    ## Fix
    Keep below it, with gaps between tiers: values cannot be changed later.

    ## References
    kubernetes pkg/apis/scheduling/types.go, HighestUserDefinablePriority
    """

    code = "BP303"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, tier in enumerate(draft.spec.priority_tiers):
            if tier.value > _HIGHEST:
                yield self.finding(
                    draft.span("priorityTiers", index, "value"),
                    f'tier "{tier.name}" has the value {tier.value}; Kubernetes takes at most {_HIGHEST}',
                    f"state at most {_HIGHEST}",
                )
