from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule


class MisleadingPoolName(PlanRule):
    """
    ## What it does
    Reports pools that are called like the GPU type of other pools, or `cpu` although they have GPUs.

    ## Why it matters
    Quotas and jobs name GPU types. A quota for `a100` goes to the nodes of that type, and not to the pool of
    that name, whatever its GPUs are.

    ## Fails
    ```yaml
    nodePools:
      - {name: a100, count: 2, cpu: 32, memory: 128Gi, gpu: {type: v100, count: 4}}  # <-
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: v100, count: 2, cpu: 32, memory: 128Gi, gpu: {type: v100, count: 4}}
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
    ```

    ## Fix
    Rename the pool, or correct its GPU type.

    ## References
    The profile reference, queues.quota.
    """

    code = "BP114"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        flavors = {name: flavor for flavor in plan.flavors for name in (flavor.gpu_type, flavor.name)}
        for pool in plan.pools:
            named = flavors.get(pool.name)
            if named is None or named.gpu_type == pool.gpu_type:
                continue
            kind = f"GPU type {pool.gpu_type}" if pool.has_gpus else "no GPUs"
            yield self.finding(
                plan.span((*pool.at, "name")),
                f'pool "{pool.name}" has {kind}, and "{pool.name}" in quotas means the nodes of pool "{named.pools[0]}"',
                "rename the pool, or correct its GPU type",
            )
