from __future__ import annotations

from collections.abc import Iterator

from ...finding import Edit, Finding, Fix
from ..rule import Draft, ProfileRule

_PREFIX = "system-"


class ReservedTierName(ProfileRule):
    """
    ## What it does
    Reports priority tiers whose name starts with `system-`.

    ## Why it matters
    The API server refuses such a PriorityClass: the prefix is reserved for the two classes that it makes
    itself.

    ## Fails
    ```yaml
    priorityTiers:
      - {name: system-critical, value: 1000000000, default: true}  # <-
    ```

    ## Passes
    ```yaml
    priorityTiers:
      - {name: batch-critical, value: 1000000000, default: true}
    ```

    ## Fix
    Use another prefix, such as batch-.

    ## References
    kubernetes pkg/apis/scheduling/validation/validation.go; kubernetes issue 59381
    """

    code = "BP302"

    def check(self, draft: Draft) -> Iterator[Finding]:
        taken = set(draft.tier_names)
        for index, tier in enumerate(draft.spec.priority_tiers):
            if not tier.name.startswith(_PREFIX):
                continue
            span = draft.span("priorityTiers", index, "name")
            better = f"batch-{tier.name.removeprefix(_PREFIX)}"
            # the name stands in jobs and limits too, so only an unused one is edited here
            used = any(job.tier == tier.name for job in draft.spec.jobs) or any(
                tier.name in queue.tier_limits for queue in draft.spec.queues
            )
            safe = better not in taken and not used and better != "batch-"
            yield self.finding(
                span,
                f'tier "{tier.name}" starts with "{_PREFIX}", which the API server reserves for its own classes',
                Fix(f"call it {better}", (Edit(span, better),) if safe else ()),
            )
