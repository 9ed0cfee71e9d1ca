"""Configurations of the stock scheduler that are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from binpackgen.simulate.engine import simulator
from binpackgen.simulate.model import ClusterState, PodShape, SchedulerProfile

from .cluster import GPU, Compiled
from .sampling import SampledRun
from .trace import Request

#: What a packing profile by the book leaves on.
PACKING = {"TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1}
RESOURCES = (("cpu", 1), ("memory", 1), (GPU, 5))


class Strategy(NamedTuple):
    """A scheduler profile, and the compiled profile whose pods it gets: as they are, or as the trace alone has them."""

    name: str
    scheduler: SchedulerProfile
    profile: Compiled
    has_compiled_pods: bool = False

    def pod(self, request: Request) -> PodShape:
        """A pod of the compiled template as the strategy has it."""
        pod = self.profile.pod(request)
        if self.has_compiled_pods:
            return pod
        # GPU models are the trace's
        required = pod.required_nodes if GPU in pod.requests else None
        return replace(pod, preferred_nodes=(), required_nodes=required)


def strategies(profile: Compiled, spare: Compiled) -> list[Strategy]:
    """The compiled profile, the same with CPU-only pods kept to spare cores, and others; every node is scored."""
    minor = profile.plan.minor
    most = SchedulerProfile(
        minor, strategy="MostAllocated", resources=RESOURCES, weights=PACKING, percentage=100
    )
    ratio = replace(most, strategy="RequestedToCapacityRatio", shape=((0, 0), (50, 3), (100, 10)))
    return [
        Strategy("default", SchedulerProfile(minor, percentage=100), profile),
        Strategy("MostAllocated 1/1/5", most, profile),
        Strategy("RequestedToCapacityRatio 1/1/5", ratio, profile),
        Strategy("compiled, no preferences", profile.scheduler, profile),
        Strategy("compiled", profile.scheduler, profile, has_compiled_pods=True),
        Strategy("compiled, spare-cores", spare.scheduler, spare, has_compiled_pods=True),
    ]


def place(
    state: ClusterState,
    strategy: Strategy,
    kinds: Sequence[Request],
    arrivals: Sequence[int],
) -> NDArray[np.int64]:
    """The node of each arrival, -1 where there was none."""
    run = simulator(state, strategy.scheduler, [strategy.pod(kind) for kind in kinds])
    return _nodes(run.place(kind) for kind in arrivals)


def place_sampled(
    state: ClusterState,
    strategy: Strategy,
    kinds: Sequence[Request],
    arrivals: Sequence[int],
) -> NDArray[np.int64]:
    """The same where the scheduler itself chooses how many nodes it looks at."""
    scheduler = replace(strategy.scheduler, percentage=0)
    run = SampledRun(state, scheduler, [strategy.pod(kind) for kind in kinds])
    return _nodes(run.place(kind) for kind in arrivals)


def _nodes(found: Iterable[int | None]) -> NDArray[np.int64]:
    return np.array([-1 if node is None else node for node in found], np.int64)
