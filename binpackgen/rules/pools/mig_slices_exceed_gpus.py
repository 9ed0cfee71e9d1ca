from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule

#: Compute slices of one GPU (NVIDIA MIG user guide: at most 7 on A100, H100 and later; fewer on smaller ones).
_COMPUTE_SLICES = 7


class MigSlicesExceedGpus(ProfileRule):
    """
    ## What it does
    Reports MIG slices that add up to more than the node's GPUs can be cut into.

    ## Why it matters
    A GPU has at most 7 compute slices, and a profile Ng takes N of them. A node that claims more never comes
    up with them; jobs and quotas would count on devices that do not exist.

    ## Fails
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu:
          type: a100
          count: 4
          mig: {strategy: single, slices: [{profile: 1g.5gb, count: 56}]}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu:
          type: a100
          count: 4
          mig: {strategy: single, slices: [{profile: 1g.5gb, count: 28}]}
    ```

    ## Fix
    State the slices of one node, over all of its GPUs.

    ## References
    NVIDIA Multi-Instance GPU user guide, supported MIG profiles
    """

    code = "BP116"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            if pool.gpu is None or pool.gpu.mig is None:
                continue
            used = sum(int(entry.profile.partition("g")[0]) * entry.count for entry in pool.gpu.mig.slices)
            have = _COMPUTE_SLICES * pool.gpu.count
            if used > have:
                yield self.finding(
                    draft.key("nodePools", index, "gpu", "mig", "slices"),
                    f'the MIG slices of pool "{pool.name}" take {used} compute slices, and {pool.gpu.count} GPUs have at most {have}',
                    "state the slices of one node",
                )
