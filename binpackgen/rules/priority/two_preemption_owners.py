from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan, PlannedJob
from ..rule import PlanRule


class TwoPreemptionOwners(PlanRule):
    """
    ## What it does
    Reports tiers whose pods make kube-scheduler evict others, where their jobs wait in queues that evict as well.

    ## Why it matters
    Kueue evicts whole jobs by the same priorities. It gives their quota away while their pods still wind down; the
    arriving pods find the nodes full, and kube-scheduler evicts pods of jobs that Kueue had spared. With
    `preempts: false` Kueue alone decides whose work is lost, and the arriving pods wait the seconds until the
    victims have ended.

    ## Fails
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 2000}  # <-
      - {name: batch-low, value: 1000, preempts: false, default: true}
    queues:
      - {name: team, namespaces: [team], quota: {cpu: 100%}}
    jobs:
      - {name: report, template: etl, queue: team, tier: batch-high, each: {cpu: 1, memory: 1Gi}, deadline: 1h, image: registry.example.com/etl:1}
    ```

    ## Passes
    ```yaml
    priorityTiers:
      - {name: batch-high, value: 2000, preempts: false}
      - {name: batch-low, value: 1000, preempts: false, default: true}
    queues:
      - {name: team, namespaces: [team], quota: {cpu: 100%}}
    jobs:
      - {name: report, template: etl, queue: team, tier: batch-high, each: {cpu: 1, memory: 1Gi}, deadline: 1h, image: registry.example.com/etl:1}
    ```

    ## Fix
    Set `preempts: false` on tiers of queued jobs; leave it on for tiers whose pods wait in no queue.

    ## References
    kueue v0.17.0, pkg/controller/jobs/job (IsActive); kubernetes pkg/scheduler/framework/plugins/defaultpreemption
    """

    code = "BP308"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        lowest = min((tier.source.value for tier in plan.tiers), default=0)
        evicting = {
            queue.name
            for queue in plan.queues
            if queue.source.preemption.within_cluster_queue != "Never"
            or queue.source.preemption.reclaim_within_cohort != "Never"
        }
        for tier in plan.tiers:
            queued = [job for job in plan.jobs if job.tier == tier.name and job.queue in evicting]
            if tier.source.preempts and tier.source.value > lowest and queued:
                yield self.finding(
                    plan.span((*tier.at, "name")),
                    f'pods of tier "{tier.name}" evict others by kube-scheduler, and Kueue evicts for {_named(queued)} too',
                    "set preempts: false; Kueue evicts by the same priorities",
                )


def _named(jobs: list[PlannedJob]) -> str:
    first, *rest = jobs
    if not rest:
        return f'job "{first.name}"'
    return f'{len(jobs)} queued jobs ("{first.name}" and {len(rest)} more)'
