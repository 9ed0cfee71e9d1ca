from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule


class JobBypassesQueues(PlanRule):
    """
    ## What it does
    Reports jobs without a queue in profiles that have queues.

    ## Why it matters
    The job starts at once, outside of every quota. Kueue does not know of the nodes it takes and admits
    others for the same room, whose pods then wait in the scheduler.

    ## Fails
    ```yaml
    queues:
      - {name: research, namespaces: [research], quota: {a100: 100%}}
    jobs:
      - name: train  # <-
        template: single-gpu
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
    Name a queue, or keep the job out of quotas on purpose and waive this.

    ## References
    kubernetes-sigs/kueue issue 1527
    """

    code = "BP520"
    severity = Severity.NOTE

    def check(self, plan: Plan) -> Iterator[Finding]:
        if not plan.queues:
            return
        for job in plan.jobs:
            if job.queue is None:
                yield self.finding(
                    plan.span((*job.at, "name")),
                    f'job "{job.name}" has no queue, so it starts at once and none of the {len(plan.queues)} quotas counts it',
                    "name a queue",
                )
