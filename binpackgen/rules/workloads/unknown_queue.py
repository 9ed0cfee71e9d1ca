from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule, suggestion


class UnknownQueue(ProfileRule):
    """
    ## What it does
    Reports jobs that name a queue which the profile does not have.

    ## Why it matters
    Kueue keeps a job suspended whose queue does not exist, and says so only in an event.

    ## Fails
    ```yaml
    queues:
      - {name: research, namespaces: [research], quota: {a100: 100%}}
    jobs:
      - name: train
        template: single-gpu
        queue: reserach  # <-
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Passes
    ```yaml
    queues:
      - {name: research, namespaces: [research], quota: {a100: 100%}}
    jobs:
      - name: train
        template: single-gpu
        queue: research
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Fix
    Name one of the profile's queues.

    ## References
    The profile reference, jobs.queue.
    """

    code = "BP502"

    def check(self, draft: Draft) -> Iterator[Finding]:
        known = set(draft.queue_names)
        for index, job in enumerate(draft.spec.jobs):
            if job.queue is not None and job.queue not in known:
                span = draft.span("jobs", index, "queue")
                yield self.finding(
                    span,
                    f'job "{job.name}" names queue "{job.queue}", which the profile does not have',
                    suggestion(span, job.queue, known, "queues"),
                )
