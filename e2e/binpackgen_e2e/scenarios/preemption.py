"""Preemption: higher tiers arrive at a full cluster; who has to go, how, and how soon they have their nodes.

Three parts on the same full nodes: plain pods, where kube-scheduler evicts; the same with arrivals of a tier that
does not preempt, which is the negative control; and Jobs behind a full queue, where Kueue evicts.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from binpackgen.metrics.changes import Change
from binpackgen.metrics.golden import NodeUse
from binpackgen.plan.model import Amount, Flavor, Plan, PlannedQueue, Pool, Tier
from binpackgen.report.packing_map import PackingMap
from binpackgen.targets.jobs.manifest import PRIORITY_CLASS as WORKLOAD_PRIORITY
from binpackgen.targets.jobs.manifest import QUEUE_NAME
from binpackgen.targets.scheduler.configuration import has_cap_plugin

from ..api import NODE, POD, PRIORITY_CLASS, WORKLOAD, Object, wait_for
from ..context import Context, is_bound
from ..evictions import Eviction, evictions
from ..invariants import overcommitted, quota_breaches
from ..maps import packing_map
from ..nodes import amounts
from ..outcome import Measure, Outcome
from ..workloads import SUBMISSION
from .scenario import PREEMPTION_SUCCESS, Scenario, above, all_of, at_most, none_of, told

#: Seconds in which an arrival must be bound.
WITHIN = 60.0
#: Nodes that are filled, slots of a node without devices, and the most slots of one with them.
MOST_NODES, CPU_SLOTS, MOST_SLOTS = 8, 4, 8
#: Most jobs that fill a flavor's quotas.
MOST_JOBS = 300
#: Seconds in which arrivals that may not evict anybody are watched.
QUIET = 4.0
#: Seconds until residents run.
PATIENCE = 60.0

_ROLE = "binpackgen.dev/e2e-role"
_NAMESPACE = "default"
_WORKLOAD_OF = "batch.kubernetes.io/job-name"


def lacks(plan: Plan) -> str:
    """Two tiers at least, of which the higher one preempts."""
    return "" if _high(plan) else "a priority tier that preempts a lower one"
