from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ...plan.platforms import PLATFORMS
from ...scheduler.plugins import NODE_AFFINITY
from ..rule import PlanRule, key_span


class KeptScorerDerived(PlanRule):
    """
    ## What it does
    Reports a weight for NodeAffinity in `packing.keepScorers` where binpackgen derives that weight, because
    pods carry preferences for pools.

    ## Why it matters
    The stated weight has no effect: the preference must outvote packing between pools, and only a derived
    weight does.

    ## Fails
    ```yaml
    packing:
      keepScorers:
        NodeAffinity: 2  # <-
    jobs:
      - {name: etl, template: etl, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}
    ```

    ## Passes
    ```yaml
    packing:
      keepScorers:
        ImageLocality: 1
    jobs:
      - {name: etl, template: etl, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}
    ```

    ## Fix
    Remove the weight.

    ## References
    `binpackgen explain PROFILE margin` shows the derived weight.
    """

    code = "BP211"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        stated = plan.spec.packing.keep_scorers.get(NODE_AFFINITY)
        derived = plan.scheduler.weight_of(NODE_AFFINITY)
        free = PLATFORMS[plan.control_plane].fixed is None
        if free and stated is not None and plan.scheduler.preferences.any and stated != derived:
            yield self.finding(
                key_span(plan.loaded, ("spec", "packing", "keepScorers", NODE_AFFINITY)),
                f"weight {stated} of {NODE_AFFINITY} has no effect: it carries the pods' pool preferences and is {derived}",
                "remove the weight",
            )
