from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...finding import Finding
from ...plan.model import Amount, Plan, PlannedJob, PlannedQueue
from ...plan.pools import cpu_text, memory_text
from ..rule import PlanRule

_NOTHING = Amount(0, 0)


class JobExceedsQuota(PlanRule):
    """
    ## What it does
    Reports jobs that ask for more at once than their queue can ever have: its own quota, and what the other
    queues of its cohorts lend, if it borrows.

    ## Why it matters
    Kueue admits a job as a whole or not at all: `insufficient quota ... > maximum capacity`. The job waits
    without an end.

    ## Fails
    ```yaml
    queues:
      - {name: research, namespaces: [a], quota: {a100: 4}}
      - {name: product, namespaces: [b], quota: {a100: 8}}
    jobs:
      - name: train
        template: pytorch-ddp
        queue: research  # <-
        workers: 2
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 4}}
    ```

    ## Passes
    ```yaml
    queues:
      - {name: research, namespaces: [a], quota: {a100: 4}, borrows: true}
      - {name: product, namespaces: [b], quota: {a100: 8}}
    jobs:
      - name: train
        template: pytorch-ddp
        queue: research
        workers: 2
        image: example.com/train:1
        each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 4}}
    ```

    ## Fix
    Raise the quota, let the queue borrow, or use fewer workers.

    ## References
    kueue v0.17.0, pkg/scheduler/flavorassigner
    """

    code = "BP412"

    def check(self, plan: Plan) -> Iterator[Finding]:
        reach = reachable_quota(plan)
        flavor_of = {pool: flavor.name for flavor in plan.flavors for pool in flavor.pools}
        queues = {queue.name: queue for queue in plan.queues}
        for job in plan.jobs:
            queue = queues.get(job.queue or "")
            if queue is None:
                continue
            have = reach[queue.name]
            # pods of one kind go to one flavor; kinds that fit a single flavor share it
            only: dict[str, tuple[Amount, int]] = {}
            for group in job.pod_groups:
                asked, pods = group.request.times(group.count), group.count
                flavors = sorted({flavor_of[pool] for pool in group.pools} & have.keys())
                if len(flavors) == 1:
                    before, others = only.get(flavors[0], (_NOTHING, 0))
                    asked, pods = only[flavors[0]] = before.plus(asked), others + pods
                if flavors and not any(have[flavor].holds(asked) for flavor in flavors):
                    yield self._finding(plan, job, queue, pods, asked, flavors, have)
                    break

    def _finding(
        self,
        plan: Plan,
        job: PlannedJob,
        queue: PlannedQueue,
        pods: int,
        asked: Amount,
        flavors: list[str],
        have: Mapping[str, Amount],
    ) -> Finding:
        # the flavor that comes nearest
        best = max(flavors, key=lambda name: (have[name].device_count, have[name].cpu, name))
        what, wants, can = _first_short(asked, have[best])
        own = next(quota.nominal for quota in queue.quotas if quota.flavor == best)
        _, _, alone = _first_short(asked, own, what)
        how = f"its own {alone} and what others lend" if queue.source.borrows else "and it does not borrow"
        return self.finding(
            plan.span((*job.at, "queue")),
            f'job "{job.name}" needs {wants} {what} at once for {pods} pods; queue "{queue.name}" can have at most {can} of "{best}" '
            f"({how})",
            "raise the quota, let the queue borrow, or use fewer workers",
        )


def reachable_quota(plan: Plan) -> dict[str, dict[str, Amount]]:
    """Per queue and flavor the most that it can ever hold: its quota, and what its cohorts' queues lend."""
    parents = {cohort.name: cohort.parent for cohort in plan.cohorts}
    roots: dict[str, str] = {}

    def root(cohort: str) -> str:
        trail = []
        while cohort not in roots and parents.get(cohort) is not None and cohort not in trail:
            trail.append(cohort)
            cohort = parents[cohort] or cohort
        top = roots.get(cohort, cohort)
        roots.update(dict.fromkeys([*trail, cohort], top))
        return top

    lent: dict[tuple[str, str], Amount] = defaultdict(lambda: _NOTHING)
    for queue in plan.queues:
        if queue.cohort is not None and queue.source.lends:
            for quota in queue.quotas:
                key = (root(queue.cohort), quota.flavor)
                lent[key] = lent[key].plus(quota.nominal)
    reach: dict[str, dict[str, Amount]] = {}
    for queue in plan.queues:
        mine: dict[str, Amount] = {}
        for quota in queue.quotas:
            total = quota.nominal
            if queue.source.borrows and queue.cohort is not None:
                others = lent[root(queue.cohort), quota.flavor]
                total = others if queue.source.lends else total.plus(others)
            mine[quota.flavor] = total
        reach[queue.name] = mine
    return reach


def _first_short(asked: Amount, have: Amount, what: str | None = None) -> tuple[str, str, str]:
    """The resource of `asked` that `have` lacks (or the one named): name, asked, there."""
    rows = [
        (name, str(count), str(have.devices.get(name, 0)), have.devices.get(name, 0) < count)
        for name, count in sorted(asked.devices.items())
    ]
    rows.append(("cpu", cpu_text(asked.cpu), cpu_text(have.cpu), have.cpu < asked.cpu))
    rows.append(("memory", memory_text(asked.memory), memory_text(have.memory), have.memory < asked.memory))
    name, wants, can, _ = next(row for row in rows if (row[0] == what if what else row[3]))
    return name, wants, can
