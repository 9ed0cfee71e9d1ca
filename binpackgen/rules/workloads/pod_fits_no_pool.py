from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...finding import Finding
from ...plan.model import Amount, Plan, PlannedJob, PodGroup, Pool
from ...plan.pools import cpu_text, memory_text
from ..rule import PlanRule


class PodFitsNoPool(PlanRule):
    """
    ## What it does
    Reports pods that fit on no empty node they may run on, after reserves, DaemonSets and headroom.

    ## Why it matters
    The pod stays Pending whatever else ends; an autoscaler adds no node for it either. Quotas do not notice,
    since they count sums over nodes.

    ## Fails
    ```yaml
    jobs:
      - name: train
        template: single-gpu
        image: example.com/train:1
        each: {cpu: 36, memory: 16Gi, gpu: {type: a100, count: 1}}  # <-
    ```

    ## Passes
    ```yaml
    jobs:
      - name: train
        template: single-gpu
        image: example.com/train:1
        each: {cpu: 8, memory: 16Gi, gpu: {type: a100, count: 1}}
    ```

    ## Fix
    Ask for less than a node has, split the work over more pods, or add a pool of larger nodes.

    ## References
    kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go
    """

    code = "BP506"

    def check(self, plan: Plan) -> Iterator[Finding]:
        with_gpus = [pool for pool in plan.pools if pool.has_gpus]
        for job in plan.jobs:
            for group in job.pod_groups:
                if not group.pools:
                    key = "master" if group.role == "master" and job.source.master is not None else "each"
                    yield self.finding(
                        plan.span((*job.at, key)),
                        self._message(plan, job, group, with_gpus),
                        "ask for less than a node has, or add a pool of larger nodes",
                    )

    def _message(self, plan: Plan, job: PlannedJob, group: PodGroup, with_gpus: Sequence[Pool]) -> str:
        who = f'a {group.role} pod of job "{job.name}"'
        if group.cpu_only:
            policy = plan.spec.packing.cpu_only_pods
            candidates = [plan.pool(name) for name in plan.cpu_only_pools]
            none = f"may not run on GPU pools (cpuOnlyPods: {policy}), and there are no others"
        else:
            candidates = [pool for pool in with_gpus if group.gpu_type in (None, pool.gpu_type)]
            none = f"asks for {group.request.device_count} GPUs, and no pool has any"
        if not candidates:
            return f"{who} {none}"
        # the node that lacks the fewest resources, and then the largest
        nearest = min(
            candidates,
            key=lambda pool: (
                len(_short(group.request, pool.room_for(group.request))),
                -pool.room.device_count,
                -pool.room.cpu,
                -pool.room.memory,
                pool.name,
            ),
        )
        lacks = " and ".join(
            f"{asked} {name} of {has}"
            for name, asked, has in _short(group.request, nearest.room_for(group.request))
        )
        return f'{who} fits on no node: on an empty node of pool "{nearest.name}" it asks for {lacks}'


def _short(asked: Amount, room: Amount) -> list[tuple[str, str, str]]:
    """Every resource of which `room` has too little: name, asked, there."""
    found = [
        (name, str(count), str(room.devices.get(name, 0)))
        for name, count in sorted(asked.devices.items())
        if count > room.devices.get(name, 0)
    ]
    if asked.cpu > room.cpu:
        found.append(("cpu", cpu_text(asked.cpu), cpu_text(room.cpu)))
    if asked.memory > room.memory:
        found.append(("memory", memory_text(asked.memory), memory_text(room.memory)))
    return found
