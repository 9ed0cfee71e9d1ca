"""The scenarios that there are, in the order in which they run."""

from __future__ import annotations

from . import containers, packing
from .scenario import Scenario

SCENARIOS: tuple[Scenario, ...] = (packing.SCENARIO, containers.SCENARIO)
