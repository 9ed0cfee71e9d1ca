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
        return self.repeated_names(
            draft,
            ("nodePools",),
            ((pool.name, f'pool "{pool.name}"') for pool in draft.spec.node_pools),
            "; their nodes would carry one label",
            "give it another name",
        )
