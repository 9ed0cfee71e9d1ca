from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule, suggestion


class UnknownTier(ProfileRule):
    """
    ## What it does
    Reports jobs that name a priority tier which the profile does not have.

    ## Why it matters
    The Job is created, and each of its pods is refused: `no PriorityClass with name ... was found`.

    ## Fails
    ```yaml
    priorityTiers: [{name: batch-high, value: 1000, default: true}]
    jobs:
      - name: etl
        template: etl
        tier: batch-hgh  # <-
        image: example.com/etl:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Passes
    ```yaml
    priorityTiers: [{name: batch-high, value: 1000, default: true}]
    jobs:
      - name: etl
        template: etl
        tier: batch-high
        image: example.com/etl:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Fix
    Name one of the `priorityTiers`.

    ## References
    kubernetes plugin/pkg/admission/priority/admission.go
    """

    code = "BP503"

    def check(self, draft: Draft) -> Iterator[Finding]:
        known = set(draft.tier_names)
        for index, job in enumerate(draft.spec.jobs):
            if job.tier is not None and job.tier not in known:
                span = draft.span("jobs", index, "tier")
                yield self.finding(
                    span,
                    f'job "{job.name}" names tier "{job.tier}", which the profile does not have',
                    suggestion(span, job.tier, known, "tiers"),
                )
