from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class MigSlicesUnequal(ProfileRule):
    """
    ## What it does
    Reports pools with MIG strategy `single` and slices of more than one profile.

    ## Why it matters
    Under `single` every slice is offered as nvidia.com/gpu, so all must be equal. The device plugin stops with
    `more than one MIG device type present on node`, and the node offers no GPU at all.

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
          mig:
            strategy: single
            slices:
              - {profile: 1g.5gb, count: 8}
              - {profile: 2g.10gb, count: 8}  # <-
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
          mig: {strategy: mixed, slices: [{profile: 1g.5gb, count: 8}, {profile: 2g.10gb, count: 8}]}
    ```

    ## Fix
    Cut all GPUs of the pool alike, or use strategy `mixed`, where each profile is a resource of its own.

    ## References
    k8s-device-plugin v0.19.0, internal/rm; NVIDIA/gpu-operator issue 518
    """

    code = "BP105"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            mig = pool.gpu.mig if pool.gpu else None
            if mig is None or mig.strategy != "single":
                continue
            first = mig.slices[0].profile
            for position, entry in enumerate(mig.slices):
                if entry.profile != first:
                    yield self.finding(
                        draft.span("nodePools", index, "gpu", "mig", "slices", position, "profile"),
                        f'pool "{pool.name}" has strategy single and slices {first} and {entry.profile}; '
                        "the device plugin then offers no GPU at all",
                        "use strategy mixed, or slices of one profile",
                    )
                    break
