from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule, suggestion


class DeviceNotOffered(ProfileRule):
    """
    ## What it does
    Reports jobs that ask for a resource which the nodes of their GPU type do not offer.

    ## Why it matters
    What a node offers depends on sharing and MIG: with `rename` it is nvidia.com/gpu.shared, with MIG strategy
    `mixed` each profile has a name of its own, with `single` all are nvidia.com/gpu. The pod stays Pending:
    `Insufficient nvidia.com/mig-1g.10gb`.

    ## Fails
    ```yaml
    jobs:
      - name: infer
        template: single-gpu
        image: example.com/infer:1
        each:
          cpu: 4
          memory: 16Gi
          gpu: {type: a100, count: 1, resource: nvidia.com/mig-1g.5gb}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4, mig: {strategy: mixed, slices: [{profile: 1g.5gb, count: 28}]}}
    jobs:
      - name: infer
        template: single-gpu
        image: example.com/infer:1
        each:
          cpu: 4
          memory: 16Gi
          gpu: {type: a100, count: 1, resource: nvidia.com/mig-1g.5gb}
    ```

    ## Fix
    Leave `resource` out where the nodes offer one, or name one that they offer.

    ## References
    NVIDIA/gpu-operator issue 637
    """

    code = "BP513"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job, key, shape in draft.pod_shapes():
            gpu = shape.gpu
            if gpu is None or gpu.resource is None:
                continue
            pools = draft.gpu_pools(gpu.type)
            offered = {name for pool in pools for name in pool.allocatable.devices}
            if not pools or gpu.resource in offered:
                continue
            span = draft.span("jobs", index, key, "gpu", "resource")
            whose = f'nodes of GPU type "{gpu.type}"' if gpu.type is not None else "the nodes"
            yield self.finding(
                span,
                f'job "{job.name}" asks for {gpu.resource}, and {whose} offer {", ".join(sorted(offered))}',
                suggestion(span, gpu.resource, offered, "resources"),
            )
