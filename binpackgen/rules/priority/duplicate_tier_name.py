from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class DuplicateTierName(ProfileRule):
    """
    ## What it does
    Reports two priority tiers of one name.

    ## Why it matters
    A tier is a PriorityClass, and a cluster has one of each name. The second would overwrite the first, or be
    refused, since a value cannot be changed.

    ## Fails
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 1000}
      - {name: batch-high, value: 2000}  # <-
    ```

    ## Passes
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 2000}
      - {name: batch-low, value: 1000, default: true}
    ```

    ## Fix
    Give each tier a name of its own.

    ## References
    kubernetes pkg/apis/scheduling/validation/validation.go
    """

    code = "BP301"

    def check(self, draft: Draft) -> Iterator[Finding]:
        return self.repeated_names(
            draft,
            ("priorityTiers",),
            ((tier.name, f'tier "{tier.name}"') for tier in draft.spec.priority_tiers),
            "; a cluster has one PriorityClass of a name",
            "give it another name",
        )
