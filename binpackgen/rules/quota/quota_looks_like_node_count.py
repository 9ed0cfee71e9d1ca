from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan, Pool
from ...plan.queues import quota_keys
from ...profile.types import Share
from ...source import Path
from ..rule import PlanRule, key_span


class QuotaLooksLikeNodeCount(PlanRule):
    """
    ## What it does
    Reports quotas whose number of cores or GPUs equals the number of nodes, where a node has more than one.

    ## Why it matters
    Quotas count cores and devices, not nodes. A quota of 64 GPUs for 64 nodes of 8 is an eighth of them, and
    jobs wait for the rest forever.

    ## Fails
    ```yaml
    nodePools:
      - {name: h100, count: 64, cpu: 32, memory: 128Gi, gpu: {type: h100, count: 8}}
    queues:
      - name: research
        namespaces: [a]
        quota:
          h100: 64  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: h100, count: 64, cpu: 32, memory: 128Gi, gpu: {type: h100, count: 8}}
    queues:
      - name: research
        namespaces: [a]
        quota:
          h100: 512
    ```

    ## Fix
    State GPUs and cores, or a share such as 100%.

    ## References
    AI-Hypercomputer/xpk issue 158
    """

    code = "BP405"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        keys = quota_keys(plan.flavors)
        by_name = {pool.name: pool for pool in plan.pools}
        pools = {flavor.name: [by_name[name] for name in flavor.pools] for flavor in plan.flavors}
        for queue in plan.queues:
            for key, quota in queue.source.quota.items():
                if key not in keys:
                    continue
                at: Path = (*queue.at, "quota", key)
                flavor = keys[key].name
                if isinstance(quota.gpu, int):
                    yield from self._check(plan, at, "gpu", flavor, pools[flavor], quota.gpu)
                if quota.cpu is not None and not isinstance(quota.cpu, Share):
                    millicores = quota.cpu.milli_value()
                    if millicores % 1000 == 0:
                        yield from self._check(plan, at, "cpu", flavor, pools[flavor], millicores // 1000)

    def _check(
        self, plan: Plan, at: Path, what: str, flavor: str, pools: list[Pool], number: int
    ) -> Iterator[Finding]:
        nodes = sum(pool.nodes_max for pool in pools)
        of_node = {
            pool.capacity.cpu // 1000 if what == "cpu" else pool.allocatable.device_count for pool in pools
        }
        # one node's worth is as likely to be meant as the number of nodes
        if number != nodes or nodes < 2 or min(of_node) <= 1 or number in of_node:
            return
        whole = sum(
            (pool.capacity.cpu // 1000 if what == "cpu" else pool.allocatable.device_count) * pool.nodes_max
            for pool in pools
        )
        path = (*at, what) if plan.loaded.root.nearest((*at, what))[1] == (*at, what) else at
        unit = "cores" if what == "cpu" else "GPUs"
        yield self.finding(
            plan.span(path) if path is not at else key_span(plan.loaded, at),
            f'{number} {unit} of "{flavor}" is its number of nodes; its {nodes} nodes have {whole} {unit}',
            f"state {unit}, or a share such as 100%",
        )
