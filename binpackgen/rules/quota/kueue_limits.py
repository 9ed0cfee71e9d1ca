from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.model import Plan
from ..rule import PlanRule, key_span

#: Source: kueue v0.17.0, config/components/crd/bases and pkg/webhooks/clusterqueue_webhook.go.
_FLAVORS = 64
_RESOURCES = 64
_PAIRS = 512
_TAINTS = 8


class KueueLimits(PlanRule):
    """
    ## What it does
    Reports queues and pools beyond what Kueue's objects hold: 64 flavors and 64 resources in a queue, 512
    pairs of them, 8 taints of a flavor.

    ## Why it matters
    The API server refuses the ClusterQueue or the ResourceFlavor.

    ## Fails
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
        taints:  # <-
          - {key: example.com/a}
          - {key: example.com/b}
          - {key: example.com/c}
          - {key: example.com/d}
          - {key: example.com/e}
          - {key: example.com/f}
          - {key: example.com/g}
          - {key: example.com/h}
          - {key: example.com/i}
    queues:
      - {name: research, namespaces: [a], quota: {a100: 100%}}
    ```

    ## Passes
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
        taints: [{key: example.com/a}]
    queues:
      - {name: research, namespaces: [a], quota: {a100: 100%}}
    ```

    ## Fix
    Give kinds of nodes that are alike one GPU type, split the queue, or use fewer taints.

    ## References
    kueue v0.17.0, pkg/webhooks/clusterqueue_webhook.go
    """

    code = "BP410"

    def check(self, plan: Plan) -> Iterator[Finding]:
        if not plan.queues:
            return
        pools = {pool.name: pool for pool in plan.pools}
        for flavor in plan.flavors:
            if len(flavor.taints) > _TAINTS:
                pool = pools[flavor.pools[0]]
                yield self.finding(
                    key_span(plan.loaded, (*pool.at, "taints")),
                    f'the flavor "{flavor.name}" would have {len(flavor.taints)} taints; Kueue takes {_TAINTS}',
                    f"use at most {_TAINTS} taints",
                )
        resources = len(plan.covered_resources)
        for queue in plan.queues:
            flavors = len(queue.quotas)
            for count, most, what in (
                (flavors, _FLAVORS, "flavors"),
                (resources, _RESOURCES, "resources"),
                (flavors * resources, _PAIRS, "pairs of flavor and resource"),
            ):
                if count > most:
                    yield self.finding(
                        key_span(plan.loaded, (*queue.at, "quota")),
                        f'queue "{queue.name}" would have {count} {what}; a Kueue ClusterQueue holds {most}',
                        "split the queue, or give alike nodes one GPU type",
                    )
                    break
