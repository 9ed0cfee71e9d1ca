from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class MigWithSharing(ProfileRule):
    """
    ## What it does
    Reports pools that cut their GPUs by MIG and share them too.

    ## Why it matters
    MPS refuses MIG devices. Time-slicing takes them, but then a slice is no fixed part of a GPU any more, and
    what a node offers would have to be counted per slice; binpackgen does not model that and rather stops
    than emits wrong numbers.

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
          mig: {strategy: mixed, slices: [{profile: 1g.5gb, count: 28}]}
          sharing: {strategy: mps, replicas: 2}  # <-
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
          mig: {strategy: mixed, slices: [{profile: 1g.5gb, count: 28}]}
    ```

    ## Fix
    Choose one; smaller MIG slices reach what sharing was for.

    ## References
    k8s-device-plugin v0.19.0, internal/rm and api/config/v1
    """

    code = "BP104"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            gpu = pool.gpu
            if gpu is None or gpu.mig is None or gpu.sharing is None:
                continue
            why = (
                "MPS refuses MIG devices"
                if gpu.sharing.strategy == "mps"
                else "what its nodes then offer is not modeled"
            )
            yield self.finding(
                draft.key("nodePools", index, "gpu", "sharing"),
                f'pool "{pool.name}" has MIG slices and {gpu.sharing.strategy} with {gpu.sharing.replicas} replicas; {why}',
                "remove sharing, or mig",
            )
