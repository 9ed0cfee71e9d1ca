from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class SharedGpuRequestAboveOne(ProfileRule):
    """
    ## What it does
    Reports pods that ask for more than one share of a shared GPU.

    ## Why it matters
    Two shares are not twice the GPU, and need not be two GPUs. The device plugin refuses such a pod on the
    node, after it was scheduled (`UnexpectedAdmissionError ... maximum request size for shared resources is
    1`), and the Job starts pods until its retries are used up.

    ## Fails
    ```yaml
    nodePools:
      - {name: t4, count: 4, cpu: 32, memory: 128Gi, gpu: {type: t4, count: 2, sharing: {strategy: time-slicing, replicas: 4}}}
    jobs:
      - name: infer
        template: single-gpu
        image: example.com/infer:1
        each:
          cpu: 4
          memory: 16Gi
          gpu: {type: t4, count: 2}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: t4, count: 4, cpu: 32, memory: 128Gi, gpu: {type: t4, count: 2, sharing: {strategy: time-slicing, replicas: 4}}}
    jobs:
      - name: infer
        template: single-gpu
        image: example.com/infer:1
        each:
          cpu: 4
          memory: 16Gi
          gpu: {type: t4, count: 1}
    ```

    ## Fix
    Ask for one, or for a GPU type whose pools do not share.

    ## References
    NVIDIA/k8s-device-plugin issues 353 and 1433
    """

    code = "BP512"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job, key, shape in draft.pod_shapes():
            gpu = shape.gpu
            if gpu is None or gpu.count < 2:
                continue
            for pool in draft.gpu_pools(gpu.type):
                sharing = pool.source.gpu.sharing if pool.source.gpu else None
                if sharing is None or sharing.replicas < 2 or pool.source.gpu is None or pool.source.gpu.mig:
                    continue
                if gpu.resource is not None and gpu.resource not in pool.allocatable.devices:
                    continue
                yield self.finding(
                    draft.span("jobs", index, key, "gpu", "count"),
                    f'a pod of job "{job.name}" asks for {gpu.count} GPUs, and pool "{pool.name}" shares each GPU among '
                    f"{sharing.replicas} pods, where a pod can have 1",
                    "ask for 1, or for a GPU type whose pools do not share",
                )
                break
