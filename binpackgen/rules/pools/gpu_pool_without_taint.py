from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule, key_span


class GpuPoolWithoutTaint(PlanRule):
    """
    ## What it does
    Reports GPU pools that no taint keeps free of other pods.

    ## Why it matters
    Pods of other schedulers, serving pods and whatever names no scheduler fill the cores and the memory of the
    GPU nodes, and their GPUs stay idle for lack of cores.

    ## Fails
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
        taints: []  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
    ```

    ## Fix
    Leave `taints` out; the default is nvidia.com/gpu=present:NoSchedule.

    ## References
    The profile reference, nodePools.taints.
    """

    code = "BP115"
    severity = Severity.NOTE

    def check(self, plan: Plan) -> Iterator[Finding]:
        for pool in plan.pools:
            if not pool.has_gpus or any(taint.effect != "PreferNoSchedule" for taint in pool.taints):
                continue
            yield self.finding(
                key_span(plan.loaded, (*pool.at, "taints")),
                f'no taint keeps pods without GPUs off the {pool.allocatable.device_count} devices a node of pool "{pool.name}" has',
                "leave taints out to get the default",
            )
