from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule, key_span


class FallingShape(PlanRule):
    """
    ## What it does
    Reports shapes whose score falls while utilization rises, or never rises at all. With `packing.dominance:
    best-effort` it is a warning.

    ## Why it matters
    Where the score falls, the emptier node wins: the scheduler spreads.

    ## Fails
    ```yaml
    packing:
      strategy: RequestedToCapacityRatio
      shape:
        - {utilization: 0, score: 10}
        - {utilization: 100, score: 0}  # <-
    ```

    ## Passes
    ```yaml
    packing:
      strategy: RequestedToCapacityRatio
      shape:
        - {utilization: 0, score: 0}
        - {utilization: 50, score: 3}
        - {utilization: 100, score: 10}
    ```

    ## Fix
    Let the score rise with utilization. To keep some of each node free, use `caps`.

    ## References
    kubernetes pkg/scheduler/framework/plugins/noderesources/requested_to_capacity_ratio.go
    """

    code = "BP209"

    def check(self, plan: Plan) -> Iterator[Finding]:
        packing = plan.spec.packing
        shape = packing.shape or ()
        severity = Severity.ERROR if packing.dominance == "required" else Severity.WARNING
        for index in range(1, len(shape)):
            before, here = shape[index - 1], shape[index]
            if here.utilization > before.utilization and here.score < before.score:
                yield self.finding(
                    plan.span(("spec", "packing", "shape", index, "score")),
                    f"the score falls from {before.score} at {before.utilization} % to {here.score} at {here.utilization} %, "
                    "so the emptier node wins there",
                    "let the score rise with utilization",
                    severity=severity,
                )
        if shape and len({point.score for point in shape}) == 1:
            yield self.finding(
                key_span(plan.loaded, ("spec", "packing", "shape")),
                f"every utilization has the score {shape[0].score}, so packing says nothing",
                "let the score rise with utilization, such as 0 at 0 % and 10 at 100 %",
                severity=severity,
            )
