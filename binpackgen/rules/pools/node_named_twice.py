from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class NodeNamedTwice(ProfileRule):
    """
    ## What it does
    Reports nodes that stand in two pools, or twice in one.

    ## Why it matters
    A node has one pool label. It would get the labels and taints of whichever patch comes last.

    ## Fails
    ```yaml
    nodePools:
      - {name: gpu, count: 1, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, provisioning: patch, nodes: [n-1]}
      - {name: cpu, count: 1, cpu: 32, memory: 128Gi, provisioning: patch, nodes: [n-1]}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: gpu, count: 1, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, provisioning: patch, nodes: [n-1]}
      - {name: cpu, count: 1, cpu: 32, memory: 128Gi, provisioning: patch, nodes: [n-2]}
    ```

    ## Fix
    Leave the node in one pool.

    ## References
    The profile reference, nodePools.nodes.
    """

    code = "BP112"

    def check(self, draft: Draft) -> Iterator[Finding]:
        first: dict[str, tuple[int, int]] = {}
        for index, pool in enumerate(draft.spec.node_pools):
            for position, node in enumerate(pool.nodes):
                if node not in first:
                    first[node] = (index, position)
                    continue
                owner, place = first[node]
                other = draft.spec.node_pools[owner].name
                yield self.finding(
                    draft.span("nodePools", index, "nodes", position),
                    f'node "{node}" stands in pool "{other}" already, and is named again in "{pool.name}"',
                    "remove one of the two",
                    ((draft.span("nodePools", owner, "nodes", place), "first named here"),),
                )
