from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class SeveralDefaultTiers(ProfileRule):
    """
    ## What it does
    Reports more than one default tier.

    ## Why it matters
    The API server refuses a second PriorityClass with globalDefault; if two slip in at once, the one with the
    lowest value is used.

    ## Fails
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 2000, default: true}
      - {name: batch-low, value: 1000, default: true}  # <-
    ```

    ## Passes
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 2000}
      - {name: batch-low, value: 1000, default: true}
    ```

    ## Fix
    Keep `default: true` on one tier, mostly the lowest.

    ## References
    kubernetes plugin/pkg/admission/priority/admission.go
    """

    code = "BP304"

    def check(self, draft: Draft) -> Iterator[Finding]:
        first: int | None = None
        for index, tier in enumerate(draft.spec.priority_tiers):
            if not tier.default:
                continue
            if first is None:
                first = index
                continue
            other = draft.spec.priority_tiers[first].name
            yield self.finding(
                draft.span("priorityTiers", index, "default"),
                f'tiers "{other}" and "{tier.name}" are both the default; a cluster takes one',
                "keep default: true on one of them",
                ((draft.span("priorityTiers", first, "default"), "the first default"),),
            )
