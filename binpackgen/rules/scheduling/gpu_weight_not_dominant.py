from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Margin, Plan, PodGroup, Pool
from ...plan.platforms import PLATFORMS
from ...plan.steps import FitScore, device_step_any_state
from ...plan.weights import MAX_RESOURCE_WEIGHT, derive_gpu_weight
from ...source import Path
from ..rule import PlanRule


class GpuWeightNotDominant(PlanRule):
    """
    ## What it does
    Reports GPU weights inside NodeResourcesFit with which a node that is full in cpu and memory beats a node
    that has one more GPU in use.

    ## Why it matters
    GPU jobs then follow cores and memory, and free GPUs are scattered: many nodes with one or two free GPUs,
    and no room for the next job that needs eight.

    ## Fails
    ```yaml
    packing:
      resourceWeights: {cpu: 1, memory: 1, gpu: 5}  # <-
    nodePools:
      - {name: v100, count: 2, cpu: 64, memory: 256Gi, gpu: {type: v100, count: 8}}
    jobs:
      - {name: train, template: single-gpu, image: "example.com/t:1", each: {cpu: 6, memory: 24Gi, gpu: {type: v100, count: 1}}}
    ```

    ## Passes
    ```yaml
    packing:
      resourceWeights: {cpu: 1, memory: 1, gpu: 17}
    nodePools:
      - {name: v100, count: 2, cpu: 64, memory: 256Gi, gpu: {type: v100, count: 8}}
    jobs:
      - {name: train, template: single-gpu, image: "example.com/t:1", each: {cpu: 6, memory: 24Gi, gpu: {type: v100, count: 1}}}
    ```

    ## Fix
    Leave the GPU weight to be derived, or state the weight that the finding names. On nodes with very many
    devices (MIG, sharing) no weight suffices, since one device is less than a point.

    ## References
    kubernetes issue 68036; pkg/scheduler/framework/plugins/noderesources/resource_allocation.go
    """

    code = "BP202"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        scheduler = plan.scheduler
        weight = scheduler.gpu_weight()
        short = [m for m in scheduler.margins if m.step_any_state is not None and m.step_any_state < 1]
        # where not even equal nodes show a step, packing-not-dominant says so
        short = [margin for margin in short if margin.step > 0]
        curve = plan.cap is not None and plan.cap.form == "curve"
        if not short or not weight or curve or PLATFORMS[plan.control_plane].fixed is not None:
            return
        stated = plan.spec.packing.resource_weights
        at: Path = ("spec", "packing", "resourceWeights", "gpu")
        if stated is None or stated.gpu is None:
            at = ("spec", "nodePools")
        by_weight = dict(scheduler.resource_weights)
        fit = FitScore(scheduler.strategy, scheduler.shape, by_weight["cpu"], by_weight["memory"])
        pools = {pool.name: pool for pool in plan.pools}
        groups = {(job.name, group.role): group for job in plan.jobs for group in job.pod_groups}
        needed = {
            margin: _needed(fit, pools[margin.pool], groups[margin.job, margin.role], margin)
            for margin in short
        }
        reachable = [margin for margin in short if needed[margin] <= MAX_RESOURCE_WEIGHT]
        if reachable:
            worst = max(reachable, key=lambda margin: (needed[margin], margin.pool))
            count = pools[worst.pool].allocatable.devices[str(worst.device)]
            yield self.finding(
                plan.span(at),
                f"weight {weight} for {worst.device} can be outvoted by cpu and memory on the {count}-device nodes of pool "
                f'"{worst.pool}" (needs {needed[worst]})',
                f"remove the weight, or state at least {needed[worst]}",
            )
        for margin in short:
            if needed[margin] > MAX_RESOURCE_WEIGHT:
                pool = pools[margin.pool]
                count = pool.allocatable.devices[str(margin.device)]
                yield self.finding(
                    plan.span((*pool.at, "name")),
                    f"no weight up to {MAX_RESOURCE_WEIGHT} lets one of the {count} {margin.device} of a node of pool "
                    f'"{pool.name}" outvote its cpu and memory for job "{margin.job}"',
                    "give jobs cpu and memory in proportion to their devices, so that all fill alike",
                )
                return


def _needed(fit: FitScore, pool: Pool, group: PodGroup, margin: Margin) -> int:
    """The least weight for this margin; more than can be stated where none will do."""
    case = (pool.allocatable, group.request, str(margin.device))
    weight = derive_gpu_weight(fit, [case])

    step = device_step_any_state(fit, weight, *case)
    return weight if step is not None and step >= 1 else MAX_RESOURCE_WEIGHT + 1
