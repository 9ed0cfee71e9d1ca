from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.model import Plan
from ..rule import PlanRule


class QueueWithoutFlavorForJob(PlanRule):
    """
    ## What it does
    Reports jobs whose pods fit only kinds of nodes for which their queue has no quota.

    ## Why it matters
    Kueue never admits the job; it waits in the queue without an end.

    ## Fails
    ```yaml
    queues:
      - {name: etl, namespaces: [etl], quota: {cpu: 100%}}
    jobs:
      - name: train
        template: single-gpu
        queue: etl  # <-
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Passes
    ```yaml
    queues:
      - {name: etl, namespaces: [etl], quota: {cpu: 100%, a100: 10%}}
    jobs:
      - name: train
        template: single-gpu
        queue: etl
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Fix
    Give the queue a quota for such nodes, or submit the job to another queue.

    ## References
    kueue v0.17.0, pkg/scheduler/flavorassigner
    """

    code = "BP411"

    def check(self, plan: Plan) -> Iterator[Finding]:
        flavor_of = {pool: flavor.name for flavor in plan.flavors for pool in flavor.pools}
        queues = {queue.name: {quota.flavor for quota in queue.quotas} for queue in plan.queues}
        for job in plan.jobs:
            if job.queue is None or job.queue not in queues:
                continue
            has = queues[job.queue]
            for group in job.pod_groups:
                fits = {flavor_of[pool] for pool in group.pools}
                if fits and not fits & has:
                    yield self.finding(
                        plan.span((*job.at, "queue")),
                        f'{group.role} pods of job "{job.name}" fit only "{", ".join(sorted(fits))}", and queue "{job.queue}" '
                        f'has quota for "{", ".join(sorted(has))}" alone',
                        f"give the queue a quota for {min(fits)}, or choose another queue",
                    )
                    break
