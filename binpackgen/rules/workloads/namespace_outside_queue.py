from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule, suggestion


class NamespaceOutsideQueue(ProfileRule):
    """
    ## What it does
    Reports jobs in a namespace that their queue does not serve.

    ## Why it matters
    A job names a LocalQueue of its own namespace. Where there is none, Kueue keeps the job suspended.

    ## Fails
    ```yaml
    queues:
      - {name: research, namespaces: [research], quota: {a100: 100%}}
    jobs:
      - name: train
        template: single-gpu
        queue: research
        namespace: product  # <-
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Passes
    ```yaml
    queues:
      - {name: research, namespaces: [research, product], quota: {a100: 100%}}
    jobs:
      - name: train
        template: single-gpu
        queue: research
        namespace: product
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Fix
    Add the namespace to the queue, or submit the job from one that it serves.

    ## References
    The profile reference, queues.namespaces.
    """

    code = "BP514"

    def check(self, draft: Draft) -> Iterator[Finding]:
        queues = {queue.name: queue.namespaces for queue in reversed(draft.spec.queues)}
        for index, job in enumerate(draft.spec.jobs):
            serves = queues.get(job.queue or "")
            if serves is None or job.namespace is None or job.namespace in serves:
                continue
            span = draft.span("jobs", index, "namespace")
            yield self.finding(
                span,
                f'job "{job.name}" is in namespace "{job.namespace}", which queue "{job.queue}" does not serve',
                suggestion(span, job.namespace, serves, "namespaces of the queue"),
            )
