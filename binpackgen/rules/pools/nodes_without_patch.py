from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ..rule import Draft, ProfileRule


class NodesWithoutPatch(ProfileRule):
    """
    ## What it does
    Reports pools that name nodes although their labels and taints do not come by patches.

    ## Why it matters
    The names have no effect: no patch is written for them.

    ## Fails
    ```yaml
    nodePools:
      - {name: cpu, count: 2, cpu: 32, memory: 128Gi, nodes: [n-1, n-2]}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: cpu, count: 2, cpu: 32, memory: 128Gi, nodes: [n-1, n-2], provisioning: patch}
    ```

    ## Fix
    State `provisioning: patch`, or remove the names.

    ## References
    The profile reference, nodePools.provisioning.
    """

    code = "BP119"
    severity = Severity.WARNING

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            if pool.nodes and pool.provisioning != "patch":
                yield self.finding(
                    draft.key("nodePools", index, "nodes"),
                    f'pool "{pool.name}" names {len(pool.nodes)} nodes, which provisioning {pool.provisioning} has no use for',
                    "state provisioning: patch, or remove nodes",
                )
