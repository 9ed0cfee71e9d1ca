from __future__ import annotations

from collections.abc import Iterator

from ...finding import Edit, Finding, Fix
from ..rule import Draft, ProfileRule, scalar_text, suggestion


class UnknownGpuType(ProfileRule):
    """
    ## What it does
    Reports jobs that ask for a GPU type which no pool has.

    ## Why it matters
    The pods select nodes by a label value that no node carries, and stay Pending.

    ## Fails
    ```yaml
    jobs:
      - name: train
        template: single-gpu
        image: example.com/train:1
        each:
          cpu: 4
          memory: 16Gi
          gpu: {type: a10, count: 1}  # <-
    ```

    ## Passes
    ```yaml
    jobs:
      - name: train
        template: single-gpu
        image: example.com/train:1
        each:
          cpu: 4
          memory: 16Gi
          gpu: {type: a100, count: 1}
    ```

    ## Fix
    Name the GPU type of a pool, or leave `type` out where any will do.

    ## References
    The profile reference, nodePools.gpu.type.
    """

    code = "BP505"

    def check(self, draft: Draft) -> Iterator[Finding]:
        types = draft.pools_by_type
        by_pool = {pool.name: pool for pools in types.values() for pool in pools}
        for index, job, key, shape in draft.pod_shapes():
            gpu_type = shape.gpu.type if shape.gpu else None
            if gpu_type is None or gpu_type in types:
                continue
            span = draft.span("jobs", index, key, "gpu", "type")
            pool = by_pool.get(gpu_type)
            if pool is not None:
                yield self.finding(
                    span,
                    f'job "{job.name}" asks for GPU type "{gpu_type}", which is the name of a pool of type "{pool.gpu_type}"',
                    Fix(f"name the type, {pool.gpu_type}", (Edit(span, scalar_text(pool.gpu_type)),)),
                )
            else:
                yield self.finding(
                    span,
                    f'job "{job.name}" asks for GPU type "{gpu_type}", which no pool has',
                    suggestion(span, gpu_type, types, "GPU types"),
                )
