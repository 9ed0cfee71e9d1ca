from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule
from ..templates import BUILT_IN_TEMPLATES


class MasterWithoutWorkersTemplate(ProfileRule):
    """
    ## What it does
    Reports a `master` on jobs whose built-in template has none.

    ## Why it matters
    Only master-workers makes a master. Elsewhere the shape would be ignored, and the job would lack the pod
    that it counts on.

    ## Fails
    ```yaml
    jobs:
      - name: train
        template: pytorch-ddp
        workers: 2
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
        master: {cpu: 2, memory: 8Gi}  # <-
    ```

    ## Passes
    ```yaml
    jobs:
      - name: train
        template: master-workers
        workers: 2
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
        master: {cpu: 2, memory: 8Gi}
    ```

    ## Fix
    Use template master-workers, or remove `master`.

    ## References
    The profile reference, jobs.master.
    """

    code = "BP516"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job in enumerate(draft.spec.jobs):
            facts = BUILT_IN_TEMPLATES.get(job.template)
            if job.master is not None and facts is not None and not facts.master:
                yield self.finding(
                    draft.key("jobs", index, "master"),
                    f'job "{job.name}" has a master, and template "{job.template}" makes none',
                    "use template master-workers, or remove master",
                )
