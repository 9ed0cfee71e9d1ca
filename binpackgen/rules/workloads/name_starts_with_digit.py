from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule
from ..templates import makes_jobset


class NameStartsWithDigit(ProfileRule):
    """
    ## What it does
    Reports jobs whose name starts with a digit where a JobSet is made of it.

    ## Why it matters
    A JobSet's name must start with a letter (DNS-1035), while a Job's may start with a digit. The JobSet is
    refused, also where a job worked until it got a second worker.

    ## Fails
    ```yaml
    jobs:
      - name: 70b-finetune  # <-
        template: master-workers
        workers: 2
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Passes
    ```yaml
    jobs:
      - name: finetune-70b
        template: master-workers
        workers: 2
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Fix
    Begin the name with a letter.

    ## References
    kubernetes-sigs/jobset issue 409
    """

    code = "BP509"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job in enumerate(draft.spec.jobs):
            if job.name[0].isdigit() and makes_jobset(job):
                yield self.finding(
                    draft.span("jobs", index, "name"),
                    f'job "{job.name}" becomes a JobSet, whose name cannot start with a digit',
                    "begin the name with a letter",
                )
