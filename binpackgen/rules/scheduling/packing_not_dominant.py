from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Margin, Plan
from ..rule import PlanRule


class PackingNotDominant(PlanRule):
    """
    ## What it does
    Reports pools on which one step of packing (one more device in use, or one more smallest job) does not
    outvote all other scorers together.

    ## Why it matters
    Where the margin is not positive another scorer can send a pod to an emptier node, and the cluster
    spreads although its configuration says MostAllocated.

    ## Fails
    ```yaml
    packing: {pluginWeight: 5}  # <-
    nodePools:
      - {name: v100, count: 2, cpu: 64, memory: 256Gi, gpu: {type: v100, count: 8}}
    jobs:
      - {name: train, template: single-gpu, image: "example.com/t:1", each: {cpu: 8, memory: 32Gi, gpu: {type: v100, count: 1}}}
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: v100, count: 2, cpu: 64, memory: 256Gi, gpu: {type: v100, count: 8}}
    jobs:
      - {name: train, template: single-gpu, image: "example.com/t:1", each: {cpu: 8, memory: 32Gi, gpu: {type: v100, count: 1}}}
    ```

    ## Fix
    Leave the weights to be derived, keep fewer scorers, or set `packing.dominance: best-effort` to build all
    the same.

    ## References
    kubernetes pkg/scheduler/framework/plugins/noderesources/most_allocated.go
    """

    code = "BP201"

    def check(self, plan: Plan) -> Iterator[Finding]:
        required = plan.spec.packing.dominance == "required"
        short = [margin for margin in plan.scheduler.margins if margin.points <= 0]
        seen: set[tuple[int, int]] = set()
        for margin in sorted(short, key=lambda m: m.points):
            key = (margin.step, margin.rivals)
            if key in seen:
                continue
            seen.add(key)
            yield self._finding(plan, margin, required)

    def _finding(self, plan: Plan, margin: Margin, required: bool) -> Finding:
        stated = plan.spec.packing.plugin_weight
        step = f"one more {margin.device}" if margin.device else f'one more pod of job "{margin.job}"'
        where = f'on pool "{margin.pool}" {step} makes {margin.step} points of NodeResourcesFit'
        if stated is not None and margin.step > 0:
            at = plan.span(("spec", "packing", "pluginWeight"))
            message = (
                f"weight {margin.weight} lets other scorers outvote packing: {where}, x {margin.weight} is "
                f"{margin.weight * margin.step}, and the others add up to {margin.rivals} (margin {margin.points})"
            )
            fix = f"remove pluginWeight, or state at least {margin.rivals // margin.step + 1}"
        else:
            job = next(job for job in plan.jobs if job.name == margin.job)
            at = plan.span((*job.at, "each"))
            message = (
                f"packing cannot see one step: {where}, so the others ({margin.rivals} points) decide "
                f"(margin {margin.points})"
            )
            fix = "give the job at least 1 % of a node, or set packing.dominance: best-effort"
        finding = self.finding(at, message, fix)
        if required:
            return finding
        return Finding(
            finding.code, finding.name, Severity.WARNING, finding.message, finding.span, finding.fix
        )
