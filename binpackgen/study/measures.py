"""What a timeline and a saturation run say in figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..scheduler.arithmetic import MAX_NODE_SCORE
from ..scheduler.plugins import FIT, NODE_AFFINITY
from ..simulate.engine import Simulator, simulator
from ..simulate.model import ClusterState, PodShape, PreferredNodes, SchedulerProfile
from ..simulate.scores import preferred_weight
from ..simulate.timeline.result import Log, State, Timeline
from .fragmentation import Fragments
from .use import PODS, capacity, used_at

#: Share of the time before the last arrival that is not counted: the cluster fills.
WARM_UP = 1 / 3
#: Moments at which fragmentation is looked at.
MOMENTS = 12
#: Placements of one timeline that are judged for the hit rate; of more, a stretch of this length in the middle.
JUDGED = 4000
#: Within so many seconds a preemption succeeds (the golden metric).
PREEMPTION_SECONDS = 60.0


class Hits(NamedTuple):
    """Placements with a choice, and those that went to a node of the highest packing score."""

    choices: int = 0
    hits: int = 0

    @property
    def rate(self) -> float:
        """NaN without a choice."""
        return self.hits / self.choices if self.choices else math.nan


class Waiting(NamedTuple):
    """How submissions of a group waited, in seconds: those that were bound, and those that wait at the end."""

    submissions: int
    mean: float
    p95: float
    unbound: int


class Preemption(NamedTuple):
    """Submissions for which room was made, how many were bound within 60 s, and how many lost pods to them."""

    attempts: int
    successes: int
    evicted: int

    @property
    def rate(self) -> float:
        """NaN where nothing preempted."""
        return self.successes / self.attempts if self.attempts else math.nan


def window(timeline: Timeline) -> tuple[float, float]:
    """The stretch of time that counts: from when the cluster has filled to the last arrival."""
    arrived = timeline.arrived
    last = min(float(arrived.max(initial=0.0)), timeline.end)
    return last * WARM_UP, last


def allocation(timeline: Timeline, resources: Sequence[str]) -> dict[str, float]:
    """The mean share of each resource that the workload's pods hold within the window."""
    start, end = window(timeline)
    total = capacity(timeline.cluster, resources).sum(axis=0)
    return {
        name: timeline.usage(name).mean(start, end) / float(total[place])
        for place, name in enumerate(resources)
        if total[place]
    }


def curve(timeline: Timeline, resource: str, points: int = 120) -> tuple[tuple[float, float], ...]:
    """(time, share in use) at evenly spread times up to the last arrival."""
    total = int(capacity(timeline.cluster, [resource]).sum())
    _, end = window(timeline)
    if not total or end <= 0:
        return ()
    usage = timeline.usage(resource)
    times = np.linspace(0, end, points)
    return tuple((float(time), usage.at(float(time)) / total) for time in times)


def rejected(timeline: Timeline) -> dict[str, tuple[int, int]]:
    """By kind: submissions within the window that found no room or lost it, of how many that were seen."""
    start, _ = window(timeline)
    counted = (timeline.arrived >= start) & (timeline.states != State.UNSEEN)
    gone = (timeline.states == State.REJECTED) | (timeline.states == State.LOST)
    return {
        str(kind): (int((gone & counted)[members].sum()), int(counted[members].sum()))
        for kind, members in timeline.groups("kind").items()
        if counted[members].any()
    }


def waiting(timeline: Timeline, members: NDArray[np.int64]) -> Waiting:
    """How these submissions waited; one that waits still counts with its time so far, which is too short."""
    start, _ = window(timeline)
    seen = (timeline.states != State.UNSEEN) & (timeline.arrived >= start)
    chosen = members[seen[members]]
    waits = timeline.waited[chosen]
    unbound = np.isnan(waits)
    waits = np.where(unbound, timeline.end - timeline.arrived[chosen], waits)
    if not len(waits):
        return Waiting(0, math.nan, math.nan, 0)
    p95 = float(np.percentile(waits, 95, method="inverted_cdf"))
    return Waiting(len(waits), float(waits.mean()), p95, int(unbound.sum()))


def preemption(timeline: Timeline) -> Preemption:
    """Preemption by the scheduler; what queues evict is theirs."""
    rooms: dict[int, float] = {}
    victims = 0
    for eviction in timeline.evicted:
        if eviction.cause == "scheduler":
            victims += 1
            rooms[eviction.by] = eviction.time
    bound = timeline.bound
    successes = sum(bool(bound[by] - time <= PREEMPTION_SECONDS) for by, time in rooms.items())
    return Preemption(len(rooms), successes, victims)


def hits(timeline: Timeline, yardstick: SchedulerProfile) -> Hits:
    """Placements by the packing score alone: that of NodeResourcesFit in `yardstick`.

    Where a pod prefers nodes, those that it prefers most are the ones to compare, as in `metrics.golden`. Pods that the scheduler made room for by eviction have no choice: their node is tried first.
    """
    forced = {(one.time, one.by) for one in timeline.evicted if one.cause == "scheduler"}
    return hits_of(timeline.cluster, timeline.shapes, timeline.log, yardstick, forced)


def hits_of(
    cluster: ClusterState,
    shapes: Sequence[PodShape],
    log: Log,
    yardstick: SchedulerProfile,
    forced: set[tuple[float, int]] | None = None,
) -> Hits:
    """The same of a log. Of long ones JUDGED placements in the middle are judged."""
    # a weight that packing cannot outvote keeps apart what pods prefer more and less
    alone = replace(yardstick, weights={FIT: 1, NODE_AFFINITY: MAX_NODE_SCORE + 1}, percentage=100)
    run = simulator(cluster, alone, shapes)
    preferred = _preferred(shapes, cluster, alone)
    comes = np.flatnonzero(log.signs > 0)
    first = max(0, (len(comes) - JUDGED) // 2)
    start, end = (
        (int(comes[first]), int(comes[min(first + JUDGED, len(comes)) - 1]) + 1) if len(comes) else (0, 0)
    )
    _bind_net(run, log, start, len(shapes))
    choices = found = 0
    part = slice(start, end)
    rows = zip(
        log.times[part].tolist(),
        log.submissions[part].tolist(),
        log.shapes[part].tolist(),
        log.nodes[part].tolist(),
        log.signs[part].tolist(),
        strict=True,
    )
    for time, submission, shape, node, sign in rows:
        if sign < 0:
            run.release(shape, node)
            continue
        if not (forced and (time, submission) in forced):
            top = run.top(shape)
            wish, feasible = preferred[shape], run.feasible(shape)
            if wish is not None and top:
                feasible = feasible[wish[feasible] == wish[top[0]]]
            if len(top) < len(feasible):
                choices += 1
                found += node in top
        run.bind(shape, node)
    return Hits(choices, found)


def _bind_net(run: Simulator, log: Log, end: int, shapes: int) -> None:
    """Bind what is on the nodes after the first `end` entries of a log: who has come and gone leaves nothing behind."""
    where = log.nodes[:end].astype(np.int64) * shapes + log.shapes[:end]
    places, position = np.unique(where, return_inverse=True)
    counts = np.bincount(position, weights=log.signs[:end], minlength=len(places)).astype(np.int64)
    standing = np.repeat(places, counts)
    run.bind_all(standing % shapes, standing // shapes)


def _preferred(
    shapes: Sequence[PodShape], cluster: ClusterState, profile: SchedulerProfile
) -> list[NDArray[np.int64] | None]:
    """By shape the weight of its preferred terms on each node, None without such terms."""
    known: dict[tuple[PreferredNodes, ...], NDArray[np.int64]] = {}
    found: list[NDArray[np.int64] | None] = []
    for shape in shapes:
        terms = shape.preferred_nodes
        if terms and terms not in known:
            keys = sorted({requirement.key for term in terms for requirement in term.selector})
            weights: dict[tuple[str | None, ...], int] = {}
            for node in cluster.nodes:
                look = tuple(node.labels.get(key) for key in keys)
                if look not in weights:
                    weights[look] = preferred_weight(shape, node, profile)
            looks = (tuple(node.labels.get(key) for key in keys) for node in cluster.nodes)
            known[terms] = np.array([weights[look] for look in looks], np.int64)
        found.append(known[terms] if terms else None)
    return found


def fragmentation(
    timeline: Timeline, fragments: Fragments, resources: Sequence[str], times: Sequence[float]
) -> dict[str, dict[str, tuple[float, float]]]:
    """By kind of node and resource: free share and the share of it that is of no use, means over `times`.

    The second is NaN where no pod of the workload asks for the resource there.
    """
    sums: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for used in used_at(timeline, times, [*resources, PODS]):
        for kind, by_resource in fragments.of(used).items():
            for resource, found in by_resource.items():
                unusable = math.nan if found.unusable is None else found.unusable
                sums.setdefault(kind, {}).setdefault(resource, []).append((found.free_share, unusable))
    return {
        kind: {
            resource: (
                math.fsum(free for free, _ in values) / len(values),
                math.fsum(unusable for _, unusable in values) / len(values),
            )
            for resource, values in by_resource.items()
        }
        for kind, by_resource in sums.items()
    }


def moments(timeline: Timeline) -> list[float]:
    """Times within the window at which states are looked at."""
    start, end = window(timeline)
    return np.linspace(start, end, MOMENTS).tolist() if end > start else [end]


def node_hours(timeline: Timeline, pools: Sequence[str]) -> Mapping[str, float]:
    """Hours that nodes of each pool were in use within the window; `pools` by node."""
    start, end = window(timeline)
    hours = dict.fromkeys(pools, 0.0)
    if end <= start:
        return hours
    log = timeline.log
    order = np.lexsort((np.arange(len(log.nodes)), log.nodes))
    running, since, current = 0, 0.0, -1
    for index in order.tolist():
        node, time, sign = int(log.nodes[index]), float(log.times[index]), int(log.signs[index])
        if node != current:
            if running and current >= 0:
                hours[pools[current]] += max(0.0, end - max(since, start)) / 3600
            running, current = 0, node
        if sign > 0 and not running:
            since = time
        running += sign
        if not running and time > start:
            hours[pools[node]] += max(0.0, min(time, end) - max(since, start)) / 3600
    if running and current >= 0:
        hours[pools[current]] += max(0.0, end - max(since, start)) / 3600
    return hours
