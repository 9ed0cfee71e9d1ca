from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class PatchWithoutNodes(ProfileRule):
    """
    ## What it does
    Reports pools with `provisioning: patch` that do not name as many nodes as they have.

    ## Why it matters
    Labels and taints reach such nodes by one patch each. A node that is not named stays without labels, and
    jobs that select its GPU type never run there. The nodes of an autoscaled pool have no names yet.

    ## Fails
    ```yaml
    nodePools:
      - {name: gpu, count: 3, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, provisioning: patch, nodes: [gpu-1, gpu-2]}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, provisioning: patch, nodes: [gpu-1, gpu-2]}
    ```

    ## Fix
    Name every node of the pool in `nodes`, or use another `provisioning`.

    ## References
    The profile reference, nodePools.provisioning.
    """

    code = "BP111"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            if pool.provisioning != "patch":
                continue
            if pool.count is None and pool.max is not None:
                yield self.finding(
                    draft.span("nodePools", index, "provisioning"),
                    f'pool "{pool.name}" is autoscaled to {pool.max} nodes, which have no names to patch yet',
                    "use provisioning kubelet, karpenter or nfd",
                )
            elif pool.count is not None and len(pool.nodes) != pool.count:
                key = "nodes" if pool.nodes else "provisioning"
                yield self.finding(
                    draft.key("nodePools", index, key),
                    f'pool "{pool.name}" has {pool.count} nodes and names {len(pool.nodes)} of them to patch',
                    f"name {pool.count} nodes in nodes",
                )
