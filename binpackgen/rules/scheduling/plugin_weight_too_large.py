from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.model import Plan
from ..rule import PlanRule

#: Plugin weights are int32 (kube-scheduler/config/v1/types.go, Plugin.Weight).
_MOST = 2**31 - 1


class PluginWeightTooLarge(PlanRule):
    """
    ## What it does
    Reports plugin weights, stated or derived, that do not fit into 32 bits.

    ## Why it matters
    The scheduler cannot read its configuration and does not start.

    ## Fails
    ```yaml
    packing:
      pluginWeight: 2147483647  # <-
    jobs:
      - {name: etl, template: etl, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}
    ```

    ## Passes
    ```yaml
    packing:
      pluginWeight: 1000000
    jobs:
      - {name: etl, template: etl, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}
    ```

    ## Fix
    Remove `packing.pluginWeight`, or state a smaller one: only its ratio to the other weights counts.

    ## References
    kubernetes staging/src/k8s.io/kube-scheduler/config/v1/types.go
    """

    code = "BP212"

    def check(self, plan: Plan) -> Iterator[Finding]:
        for scorer in plan.scheduler.scorers:
            if scorer.weight > _MOST:
                yield self.finding(
                    plan.span(("spec", "packing", "pluginWeight")),
                    f"the weight of {scorer.plugin} would be {scorer.weight}, and the scheduler reads weights up to {_MOST}",
                    "remove pluginWeight, or state a smaller one",
                )
