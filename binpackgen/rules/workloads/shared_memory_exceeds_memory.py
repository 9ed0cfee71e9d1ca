from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class SharedMemoryExceedsMemory(ProfileRule):
    """
    ## What it does
    Reports jobs whose `sharedMemory` is more than the memory of a pod.

    ## Why it matters
    /dev/shm counts against the container's memory limit: filling it kills the process (OOMKilled) long before
    it is full.

    ## Fails
    ```yaml
    jobs:
      - name: train
        template: single-gpu
        image: example.com/train:1
        sharedMemory: 32Gi  # <-
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Passes
    ```yaml
    jobs:
      - name: train
        template: single-gpu
        image: example.com/train:1
        sharedMemory: 4Gi
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Fix
    State less than the pod's memory; leave it out to get a quarter of it for pods with GPUs.

    ## References
    kubernetes pkg/volume/emptydir; the profile reference, jobs.sharedMemory.
    """

    code = "BP517"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job, key, shape in draft.pod_shapes():
            if job.shared_memory is not None and job.shared_memory > shape.memory:
                who = "a pod" if key == "each" else "the master"
                yield self.finding(
                    draft.span("jobs", index, "sharedMemory"),
                    f'job "{job.name}" has {job.shared_memory} of shared memory, which counts against the {shape.memory} of {who}',
                    "state less than the pod's memory",
                )
                break
