from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Margin, Plan
from ...plan.platforms import PLATFORMS
from ...source import Span
from ..rule import PlanRule


class PackingNotDominant(PlanRule):
    """
    ## What it does
    Reports pools on which one step of packing (one more device in use, or one more smallest job) does not
    outvote all other scorers together. A stated `pluginWeight` with which it does so only between nodes that
    are equally full in cpu and memory is a warning.

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
    the same. A cap in curve form works against packing by design: use `form: reserve`.

    ## References
    kubernetes pkg/scheduler/framework/plugins/noderesources/most_allocated.go
    """

    code = "BP201"

    def check(self, plan: Plan) -> Iterator[Finding]:
        required = plan.spec.packing.dominance == "required"
        stated = plan.spec.packing.plugin_weight
        fixed = PLATFORMS[plan.control_plane].fixed is not None
        # a control plane that takes no weights is what `unsupported` reports, and what profiles can consent to
        severity = Severity.ERROR if required and not fixed else Severity.WARNING
        short = [margin for margin in plan.scheduler.margins if margin.points <= 0]
        seen: set[Span] = set()
        jobs = {job.name: index for index, job in enumerate(plan.jobs)}
        for margin in sorted(short, key=lambda m: (m.points, m.pool, m.job)):
            at, message, fix = self._explain(plan, margin, jobs)
            if at not in seen:  # the worst for each place
                seen.add(at)
                yield self.finding(at, message, fix, severity=severity)
        if short or stated is None or fixed:
            return
        yield from self._only_between_equals(plan, stated)

    def _explain(self, plan: Plan, margin: Margin, jobs: dict[str, int]) -> tuple[Span, str, str]:
        step = f"one more {margin.device}" if margin.device else f'one more pod of job "{margin.job}"'
        where = f'on pool "{margin.pool}" {step} makes {margin.step} points of NodeResourcesFit'
        if PLATFORMS[plan.control_plane].fixed is not None:
            at = plan.span(("spec", "kubernetes", "controlPlane"))
            message = (
                f'"{plan.control_plane}" gives NodeResourcesFit weight {margin.weight}: {where}, x {margin.weight} is '
                f"{margin.weight * margin.step}, and the others add up to {margin.rivals} (margin {margin.points})"
            )
            return at, message, "use controlPlane second-scheduler"
        if plan.spec.packing.plugin_weight is not None and margin.step > 0:
            at = plan.span(("spec", "packing", "pluginWeight"))
            message = (
                f"weight {margin.weight} lets other scorers outvote packing: {where}, x {margin.weight} is "
                f"{margin.weight * margin.step}, and the others add up to {margin.rivals} (margin {margin.points})"
            )
            return at, message, f"remove pluginWeight, or state at least {margin.rivals // margin.step + 1}"
        if plan.cap is not None and plan.cap.form == "curve":
            at = plan.span((*plan.cap.at, "form"))
            message = (
                f"the curve of the cap falls beyond {plan.scheduler.shape[-2][0]} %, so the fuller node loses there: "
                f"{where} (margin {margin.points})"
            )
            return at, message, "use form reserve, or set packing.dominance: best-effort"
        if margin.step <= 0 and plan.spec.packing.shape is not None:
            return (
                plan.span(("spec", "packing", "shape")),
                f"the shape does not rise where packing should count: {where} (margin {margin.points})",
                "let the score rise at every utilization, or leave shape out",
            )
        at = plan.span(("spec", "jobs", jobs[margin.job], "each"))
        message = (
            f"packing cannot see one step: {where}, so the others ({margin.rivals} points) decide "
            f"(margin {margin.points})"
        )
        return at, message, "give the job at least 1 % of a node, or set packing.dominance: best-effort"

    def _only_between_equals(self, plan: Plan, stated: int) -> Iterator[Finding]:
        """A stated weight that wins between equal nodes but not where a point of the GPU is all there is."""
        unsure = [
            margin
            for margin in plan.scheduler.margins
            if margin.step_any_state is not None
            and margin.step_any_state > 0
            and (margin.points_any_state or 0) <= 0
        ]
        worst = min(unsure, key=lambda m: (m.points_any_state or 0, m.pool, m.job), default=None)
        if worst is None or worst.step_any_state is None:
            return
        yield self.finding(
            plan.span(("spec", "packing", "pluginWeight")),
            f'weight {stated} packs pool "{worst.pool}" only between nodes that are equally full in cpu and memory: else one '
            f"more {worst.device} makes {worst.step_any_state} points, and the others add up to {worst.rivals}",
            f"remove pluginWeight, or state at least {worst.rivals // worst.step_any_state + 1}",
            severity=Severity.WARNING,
        )
