from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule, suggestion


class UnknownTemplate(ProfileRule):
    """
    ## What it does
    Reports jobs that name a template which is neither built in nor in the template folder.

    ## Why it matters
    Nothing can be made of the job.

    ## Fails
    ```yaml
    jobs:
      - name: etl
        template: elt  # <-
        image: example.com/etl:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Passes
    ```yaml
    jobs:
      - name: etl
        template: etl
        image: example.com/etl:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Fix
    Name a built-in template, or give the folder of your own with `--templates`.

    ## References
    The profile reference, jobs.template.
    """

    code = "BP504"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job in enumerate(draft.spec.jobs):
            if job.template not in draft.templates:
                span = draft.span("jobs", index, "template")
                yield self.finding(
                    span,
                    f'job "{job.name}" names template "{job.template}", which does not exist',
                    suggestion(span, job.template, draft.templates, "templates"),
                )
