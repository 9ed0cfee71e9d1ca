"""A compiled profile as the simulator sees it: its pools, its jobs' manifests, its queues and its scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..compilation import Compilation
from ..document import Document, TextFile
from ..plan.model import Plan
from ..scheduler.plugins import known_minor
from ..simulate.configuration import read_profiles
from ..simulate.model import ClusterState, SchedulerProfile
from ..simulate.timeline.queues import QueueModel, read_queues
from ..simulate.workload.synthetic import plan_cluster
from ..targets.scheduler.configuration import scheduler_configuration


class Subject(NamedTuple):
    """What is studied."""

    plan: Plan
    outputs: tuple[Document | TextFile, ...]
    scheduler: SchedulerProfile
    queues: QueueModel | None

    @property
    def devices(self) -> tuple[str, ...]:
        """The device resources of all pools."""
        return tuple(sorted({name for pool in self.plan.pools for name in pool.allocatable.devices}))

    @property
    def resources(self) -> tuple[str, ...]:
        """Devices, then cpu and memory: what is allocated and measured."""
        return (*self.devices, "cpu", "memory")

    def cluster(self, counts: Mapping[str, int] | None = None) -> ClusterState:
        """The pools' nodes, all that they may have or `counts` by pool, with the pods that run on every one."""
        return plan_cluster(self.plan if counts is None else with_counts(self.plan, counts))


def read_subject(compiled: Compilation) -> Subject:
    """What `compiled` is to the simulator. Raises UnmodeledError for what the model does not have."""
    plan = compiled.plan
    queues = None
    if plan.queues:
        bodies = (output.body for output in compiled.outputs if isinstance(output, Document))
        queues = read_queues(
            (body for body in bodies if isinstance(body, dict)),
            fair_sharing=plan.spec.queueing.fair_sharing,
        )
    return Subject(plan, compiled.outputs, packing_profile(plan), queues)


def packing_profile(plan: Plan) -> SchedulerProfile:
    """The packing profile as `build` emits it. Raises UnmodeledError."""
    configuration = scheduler_configuration(plan).body
    return read_profiles(configuration, known_minor(plan.minor))[plan.scheduler.name]


def with_counts(plan: Plan, counts: Mapping[str, int]) -> Plan:
    """The plan with other numbers of nodes; nothing else of it follows them."""
    pools = tuple(
        pool._replace(nodes_min=0, nodes_max=counts.get(pool.name, pool.nodes_max)) for pool in plan.pools
    )
    return plan._replace(pools=pools, pools_by_name={pool.name: pool for pool in pools})
