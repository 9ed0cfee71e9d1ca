"""Configurations of the stock scheduler that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    """What the trace asks for, and nothing that the profile adds: GPU models are the trace's."""
    return replace(
        pod, preferred_nodes=(), required_nodes=pod.required_nodes if GPU in pod.requests else None
    )
