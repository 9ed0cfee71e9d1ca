"""The scenarios that there are, in the order in which they run."""

from __future__ import annotations

from . import (
    caps,
    containers,
    faults,
    jobset,
    packing,
    preemption,
    queueing,
    sampling,
    topology,
    verification,
)
from .scenario import Scenario

SCENARIOS: tuple[Scenario, ...] = (
    verification.SCENARIO,
    packing.SCENARIO,
    sampling.SCENARIO,
    topology.SCENARIO,
    jobset.SCENARIO,
    caps.SCENARIO,
    queueing.SCENARIO,
    preemption.SCENARIO,
    faults.SCENARIO,
    containers.SCENARIO,
)
