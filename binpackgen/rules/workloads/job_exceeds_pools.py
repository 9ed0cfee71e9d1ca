from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Amount, Plan, PlannedJob, PodGroup, Pool
from ..rule import PlanRule
from ..templates import BUILT_IN_TEMPLATES, makes_jobset


class JobExceedsPools(PlanRule):
    """
    ## What it does
    Reports jobs whose pods never all run side by side, even on an empty cluster at its largest; a master needs
    a node without workers of its job. For pods that do not wait for each other it is a warning.

    ## Why it matters
    Workers of a training job wait for each other. With one pod missing all the others hold their GPUs and do
    nothing until the deadline.

    ## Fails
    ```yaml
    jobs:
      - name: train
        template: pytorch-ddp
        workers: 5  # <-
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 4}}
    ```

    ## Passes
    ```yaml
    jobs:
      - name: train
        template: pytorch-ddp
        workers: 4
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 4}}
    ```

    ## Fix
    Use fewer workers, or let the pool grow.

    ## References
    The profile reference, jobs.workers.
    """

    code = "BP507"

    def check(self, plan: Plan) -> Iterator[Finding]:
        for job in plan.jobs:
            together = job.source.template not in BUILT_IN_TEMPLATES or makes_jobset(job.source)
            for group in job.pod_groups:
                fits = _fits(plan, group)
                if not group.pools or fits >= group.count:
                    continue  # pod-fits-no-pool reports pods that fit nowhere
                nodes = sum(plan.pools_by_name[name].nodes_max for name in group.pools)
                consequence = (
                    "so they never run together" if together else "so the others wait until these end"
                )
                yield self.finding(
                    plan.span((*job.at, "workers" if group.role == "worker" else "master")),
                    f'{group.count} {group.role} pods of job "{job.name}" need more than the {nodes} nodes they fit on, which hold '
                    f"{fits} of them, {consequence}",
                    f"use at most {fits} workers, or let the pools grow" if fits else "let the pools grow",
                    severity=Severity.ERROR if together or fits == 0 else Severity.WARNING,
                )
                break
            else:
                yield from self._with_master(plan, job)

    def _with_master(self, plan: Plan, job: PlannedJob) -> Iterator[Finding]:
        """A master keeps off the nodes of its workers: one of its nodes holds none of them."""
        groups = {group.role: group for group in job.pod_groups}
        master, workers = groups.get("master"), groups.get("worker")
        if master is None or workers is None or _kueue_assigns_nodes(plan, job):
            return
        usable = set(workers.pools)
        lost = min(
            (
                pods_per_node(workers.request, plan.pools_by_name[name]) if name in usable else 0
                for name in master.pools
                if plan.pools_by_name[name].nodes_max
            ),
            default=0,
        )
        fits = _fits(plan, workers, lost) - lost
        if workers.pools and master.pools and fits < workers.count:
            yield self.finding(
                plan.span((*job.at, "workers")),
                f'the master of job "{job.name}" keeps off the nodes of its workers, and the other nodes hold {max(fits, 0)} of '
                f"{workers.count} workers, so they never run together",
                f"use at most {fits} workers, or let the pools grow" if fits > 0 else "let the pools grow",
            )


def _kueue_assigns_nodes(plan: Plan, job: PlannedJob) -> bool:
    return job.queue is not None and "kubernetes.io/hostname" in plan.spec.queueing.topology_levels


def _fits(plan: Plan, group: PodGroup, more: int = 0) -> int:
    """How many pods of the group the empty pools hold; counting ends where it is enough, and `more`."""
    total = 0
    for name in group.pools:
        pool = plan.pools_by_name[name]
        total += pool.nodes_max * pods_per_node(group.request, pool)
        if total >= group.count + more:
            break
    return total


def pods_per_node(request: Amount, pool: Pool) -> int:
    """How many pods of `request` an empty node holds."""
    counts, room = [pool.source.pods], pool.room_for(request)
    if request.cpu:
        counts.append(room.cpu // request.cpu)
    if request.memory:
        counts.append(room.memory // request.memory)
    counts += [room.devices.get(name, 0) // count for name, count in request.devices.items() if count]
    return min(counts)
