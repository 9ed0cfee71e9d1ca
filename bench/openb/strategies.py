"""Configurations of the stock scheduler that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from binpackgen.simulate.engine import simulator
from binpackgen.simulate.matching import Requirement
from binpackgen.simulate.model import ClusterState, PodShape, SchedulerProfile

from .cluster import GPU, Compiled
from .sampling import SampledRun
from .trace import Request

#: What a packing profile by the book leaves on.
PACKING = {"TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1}
RESOURCES = (("cpu", 1), ("memory", 1), (GPU, 5))


class Strategy(NamedTuple):
    """A scheduler profile, and what it takes away from the compiled pods or adds to them."""

    name: str
    scheduler: SchedulerProfile
    change: Callable[[Compiled, PodShape], PodShape]

    def pod(self, compiled: Compiled, request: Request) -> PodShape:
        """A pod of the compiled template as the strategy has it."""
        return self.change(compiled, compiled.pod(request))


def strategies(compiled: Compiled) -> list[Strategy]:
    """The compiled profile, and others for comparison; every node is scored."""
    minor = compiled.plan.minor
    most = SchedulerProfile(
        minor, strategy="MostAllocated", resources=RESOURCES, weights=PACKING, percentage=100
    )
    ratio = replace(most, strategy="RequestedToCapacityRatio", shape=((0, 0), (50, 3), (100, 10)))
    return [
        Strategy("default", SchedulerProfile(minor, percentage=100), _without_preferences),
        Strategy("MostAllocated 1/1/5", most, _without_preferences),
        Strategy("RequestedToCapacityRatio 1/1/5", ratio, _without_preferences),
        Strategy("compiled, no preferences", compiled.scheduler, _without_preferences),
        Strategy("compiled", compiled.scheduler, lambda _, pod: pod),
        Strategy("compiled + only spare cores", compiled.scheduler, _kept_to_spare_cores),
    ]


def place(
    compiled: Compiled,
    state: ClusterState,
    strategy: Strategy,
    kinds: Sequence[Request],
    arrivals: Sequence[int],
) -> NDArray[np.int64]:
    """The node of each arrival, -1 where there was none."""
    run = simulator(state, strategy.scheduler, [strategy.pod(compiled, kind) for kind in kinds])
    return _nodes(run.place(kind) for kind in arrivals)


def place_sampled(
    compiled: Compiled,
    state: ClusterState,
    strategy: Strategy,
    kinds: Sequence[Request],
    arrivals: Sequence[int],
) -> NDArray[np.int64]:
    """The same where the scheduler itself chooses how many nodes it looks at."""
    scheduler = replace(strategy.scheduler, percentage=0)
    run = SampledRun(state, scheduler, [strategy.pod(compiled, kind) for kind in kinds])
    return _nodes(run.place(kind) for kind in arrivals)


def _nodes(found: Iterable[int | None]) -> NDArray[np.int64]:
    return np.array([-1 if node is None else node for node in found], np.int64)


def _without_preferences(_: Compiled, pod: PodShape) -> PodShape:
    return replace(pod, preferred_nodes=())


def _kept_to_spare_cores(compiled: Compiled, pod: PodShape) -> PodShape:
    """CPU-only pods are kept off the pools whose GPUs need all cores: stock, and not in the compiled profile.

    A pool has spare cores if the smallest CPU-only job fits on a node whose GPUs all work for the job that asks for
    most cores a GPU.
    """
    if GPU in pod.requests:
        return pod
    groups = [group for job in compiled.plan.jobs for group in job.pod_groups]
    hungriest = max(-(-g.request.cpu // g.request.device_count) for g in groups if not g.cpu_only)
    least = min(group.request.cpu for group in groups if group.cpu_only)
    names = tuple(
        pool.name
        for pool in compiled.plan.pools
        if pool.allocatable.cpu - hungriest * pool.allocatable.device_count >= least or not pool.has_gpus
    )
    selector = (Requirement(compiled.plan.spec.node_labels.pool, "In", names),)
    return replace(pod, required_nodes=(selector,))
