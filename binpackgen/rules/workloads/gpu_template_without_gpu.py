from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule
from ..templates import BUILT_IN_TEMPLATES


class GpuTemplateWithoutGpu(ProfileRule):
    """
    ## What it does
    Reports jobs of a GPU template whose pods ask for no GPU.

    ## Why it matters
    The device plugin gives such a pod no GPU. Where the NVIDIA runtime is the default it may see all of the
    node's GPUs all the same, and share them with jobs that asked for them: CUDA out of memory in both.

    ## Fails
    ```yaml
    jobs:
      - name: train
        template: single-gpu
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi}  # <-
    ```

    ## Passes
    ```yaml
    jobs:
      - name: train
        template: single-gpu
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Fix
    State `gpu` in `each`, or use a template for CPU work, array or etl.

    ## References
    The profile reference, jobs.template.
    """

    code = "BP518"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job in enumerate(draft.spec.jobs):
            facts = BUILT_IN_TEMPLATES.get(job.template)
            if facts is not None and facts.needs_gpu and job.each.gpu is None:
                yield self.finding(
                    draft.key("jobs", index, "each"),
                    f'job "{job.name}" has template "{job.template}" and asks for no GPU',
                    "state gpu in each, or use template array or etl",
                )
