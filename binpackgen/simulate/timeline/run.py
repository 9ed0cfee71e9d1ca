"""Run a workload on a cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ...errors import BinpackgenError
from ..cycle import scheduler_order
from ..model import ClusterState, Node, SchedulerProfile
from ..workload.model import Workload
from .budgets import DisruptionBudget
from .events import Events, Gangs, Options, Retry
from .interrupt import Interrupt
from .plain import is_plain, run_plain
from .queues import QueueModel
from .result import Timeline


def run(
    workload: Workload,
    nodes: Sequence[Node] | ClusterState,
    profile: SchedulerProfile,
    *,
    queues: QueueModel | None = None,
    budgets: Iterable[DisruptionBudget] = (),
    gangs: Gangs = "one-by-one",
    preemption: bool = True,
    retry: Retry = "wait",
    until: float | None = None,
    seed: int = 0,
) -> Timeline:
    """What happens to `workload` on `nodes`; pods of a ClusterState stay to the end and are never evicted.

    Without `queues` no submission waits in one. `gangs` says how pods of a gang are bound: "one-by-one" is the stock
    scheduler, whose half-bound gangs hold what they have; "all-or-nothing" an ideal one, which binds all pods or none
    and evicts only where all fit then. `preemption` is whether DefaultPreemption is on. With `retry` "wait" pods that
    fit nowhere wait; with "loss" a submission that cannot have all its pods at once leaves, and so does one that is
    evicted and cannot have them back. `until` ends the timeline, by default the last event does. `seed` settles what
    the scheduler leaves to chance: ties before 1.35 and where preemption begins to look.

    An interrupt (Ctrl-C) ends the timeline between two events, with `partial` saying so; one after the last event is a
    KeyboardInterrupt. Raises BinpackgenError for a
    cluster without nodes or an unknown queue, UnmodeledError for what the model does not have.
    """
    cluster = nodes if isinstance(nodes, ClusterState) else ClusterState(scheduler_order(nodes))
    if not cluster.nodes:
        raise BinpackgenError("there are no nodes to place anything on")
    options = Options(
        queues=queues,
        budgets=tuple(budgets),
        gangs=gangs,
        preemption=preemption,
        retry=retry,
        until=math.inf if until is None else until,
        seed=seed,
    )
    with Interrupt() as interrupt:
        if is_plain(workload, options):
            timeline = run_plain(workload, cluster, profile, options, interrupt)
        else:
            timeline = Events(workload, cluster, profile, options).run(interrupt)
    if interrupt.is_set and timeline.partial is None:
        # it came after the last event: the timeline is whole, and the caller is to stop all the same
        raise KeyboardInterrupt
    return timeline
