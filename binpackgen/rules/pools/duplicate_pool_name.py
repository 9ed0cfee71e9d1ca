from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class DuplicatePoolName(ProfileRule):
    """
    ## What it does
    Reports two node pools of one name.

    ## Why it matters
    The name is the value of the pool label on the nodes, the folder of the pool's files and what quotas refer
    to: two pools of one name cannot be told apart.

    ## Fails
    ```yaml
    nodePools:
      - {name: gpu, count: 4, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: gpu, count: 4, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
      - {name: cpu, count: 2, cpu: 32, memory: 128Gi}
    ```

    ## Fix
    Give each pool a name of its own.

    ## References
    The profile reference, nodePools.name.
    """

    code = "BP101"

    def check(self, draft: Draft) -> Iterator[Finding]:
        first: dict[str, int] = {}
        for index, pool in enumerate(draft.spec.node_pools):
            if pool.name not in first:
                first[pool.name] = index
                continue
            at = draft.span("nodePools", first[pool.name], "name")
            yield self.finding(
                draft.span("nodePools", index, "name"),
                f'pool "{pool.name}" is already defined at line {at.line}; their nodes would carry one label',
                "give it another name",
                ((at, "first defined here"),),
            )
