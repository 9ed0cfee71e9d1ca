from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule

#: Fewest nodes that are scored (schedule_one.go, minFeasibleNodesToFind).
_AT_LEAST = 100


class NodesSampled(PlanRule):
    """
    ## What it does
    Reports a `percentageOfNodesToScore` below 100 on clusters that can have more than 100 nodes.

    ## Why it matters
    Only a window of the nodes is scored for each pod, and the window moves on from pod to pod: packing builds
    several half-full piles instead of one.

    ## Fails
    ```yaml
    packing:
      percentageOfNodesToScore: 30  # <-
    nodePools:
      - {name: cpu, min: 2, max: 500, cpu: 32, memory: 128Gi}
    ```

    ## Passes
    ```yaml
    packing:
      percentageOfNodesToScore: 100
    nodePools:
      - {name: cpu, min: 2, max: 500, cpu: 32, memory: 128Gi}
    ```

    ## Fix
    Leave it out: it becomes 100 where the cluster can have more than 100 nodes.

    ## References
    kubernetes pkg/scheduler/schedule_one.go, numFeasibleNodesToFind
    """

    code = "BP205"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        stated = plan.scheduler.percentage_of_nodes_to_score
        nodes = plan.nodes_max
        if stated is None or stated >= 100:
            return
        scored = max(_AT_LEAST, nodes * stated // 100)
        if scored < nodes:
            yield self.finding(
                plan.span(("spec", "packing", "percentageOfNodesToScore")),
                f"{stated} % lets each pod look at {scored} of {nodes} nodes, so packing builds several half-full piles",
                "remove it; the default scores all nodes",
            )
