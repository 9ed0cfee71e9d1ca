from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule

_RESOURCE = "nvidia.com/gpu"


class SharingNeedsNvidia(ProfileRule):
    """
    ## What it does
    Reports pools that share or cut GPUs whose resource is not nvidia.com/gpu.

    ## Why it matters
    Time-slicing, MPS and MIG are functions of NVIDIA's device plugin, which offers nvidia.com/gpu under that
    name and no other. Another vendor's plugin would offer whole GPUs, and quotas would count devices that do
    not exist.

    ## Fails
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu:
          type: mi300
          count: 4
          resource: amd.com/gpu  # <-
          sharing: {strategy: time-slicing, replicas: 4}
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: mi300, count: 4, resource: amd.com/gpu}}
    ```

    ## Fix
    Remove `sharing` and `mig`, or correct the resource.

    ## References
    k8s-device-plugin v0.19.0, api/config/v1
    """

    code = "BP118"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            gpu = pool.gpu
            if gpu is None or gpu.resource == _RESOURCE:
                continue
            shared = gpu.sharing is not None and gpu.sharing.replicas > 1
            if gpu.mig is None and not shared:
                continue
            what = "mig" if gpu.mig is not None else "sharing"
            yield self.finding(
                draft.span("nodePools", index, "gpu", "resource"),
                f'pool "{pool.name}" has {what} and the resource {gpu.resource}, which NVIDIA\'s device plugin does not offer',
                f"remove {what}, or use the resource {_RESOURCE}",
            )
