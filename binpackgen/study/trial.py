"""One evaluation of the tuner: a scheduler profile on the workload of one seed, as one number to be raised."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..errors import BinpackgenError
from ..simulate.arrays import ClusterArrays, Ints
from ..simulate.engine import simulator
from ..simulate.model import ClusterState, SchedulerProfile
from ..simulate.timeline.queues import QueueModel
from ..simulate.timeline.result import Timeline
from ..simulate.timeline.run import run
from ..simulate.workload.model import Workload
from . import measures
from .use import capacity, wants

#: What can be aimed at, and in words; all are raised, what should fall is counted negative.
GOALS = {
    "allocation": "share of the scarcest resource in use when 130 % of it are asked for (pods one by one, none leaves)",
    "rejected": "share of jobs that are not turned away (loss)",
    "wait": "mean waiting time in seconds, negative",
    "nodes": "mean number of nodes in use, negative",
}


class Case(NamedTuple):
    """Everything that trials have in common. `orders` are the saturation arrivals by seed."""

    goal: str
    cluster: ClusterState
    workloads: Mapping[int, Workload]
    orders: Mapping[int, tuple[int, ...]]
    resources: tuple[str, ...]
    queues: QueueModel | None


Cases = Mapping[str, Case]

_CASES: dict[str, Case] = {}


def remember(cases: Cases) -> None:
    """Sets up a worker process. Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _CASES.update(cases)


def evaluate(cases: Cases | None, key: str, scheduler: SchedulerProfile, seed: int) -> float:
    """The value of a seed; `cases` None takes those that the process remembers."""
    case = (_CASES if cases is None else cases)[key]
    if case.goal == "allocation":
        return _allocation(case, scheduler, seed)
    retry = "loss" if case.goal == "rejected" else "wait"
    workload = case.workloads[seed]
    last = max((submission.arrives for submission in workload.submissions), default=0.0)
    timeline = run(
        workload,
        case.cluster,
        scheduler,
        queues=None if retry == "loss" else case.queues,
        retry=retry,  # type: ignore[arg-type]
        until=last,
        seed=seed,
    )
    if timeline.partial:
        raise KeyboardInterrupt
    return _value(case.goal, timeline)


class _Arrivals(NamedTuple):
    """What the trials of a case and a seed have in common: each pod's shape and what it holds, and all there is."""

    cluster: ClusterArrays
    order: Ints
    amounts: Ints
    whole: int


#: By case (which its process keeps) and seed.
_ARRIVALS: dict[tuple[int, int], tuple[Case, _Arrivals]] = {}


def _arrivals(case: Case, seed: int) -> _Arrivals:
    known = _ARRIVALS.get((id(case), seed))
    if known is not None and known[0] is case:
        return known[1]
    order = np.array(case.orders[seed], np.int64)
    each = wants(case.workloads[seed].shapes, case.resources[:1])[:, 0]
    whole = int(capacity(case.cluster, case.resources[:1]).sum())
    cluster = next((other.cluster for kept, other in _ARRIVALS.values() if kept is case), None)
    made = _Arrivals(cluster or ClusterArrays(case.cluster), order, each[order], whole)
    _ARRIVALS[id(case), seed] = (case, made)
    return made


def _allocation(case: Case, scheduler: SchedulerProfile, seed: int) -> float:
    arrivals = _arrivals(case, seed)
    nodes = simulator(arrivals.cluster, scheduler, case.workloads[seed].shapes).place_all(arrivals.order)
    return float(arrivals.amounts[nodes >= 0].sum()) / arrivals.whole


def _value(goal: str, timeline: Timeline) -> float:
    if goal == "rejected":
        counts = measures.rejected(timeline).values()
        seen = sum(total for _, total in counts)
        return 1 - sum(gone for gone, _ in counts) / seen if seen else 1.0
    start, end = measures.window(timeline)
    if goal == "wait":
        everyone = np.arange(len(timeline.workload.submissions))
        return -measures.waiting(timeline, everyone).mean
    if goal == "nodes":
        return -timeline.nodes_in_use().mean(start, end)
    raise BinpackgenError(f"there is no goal {goal}; there are {', '.join(GOALS)}")
