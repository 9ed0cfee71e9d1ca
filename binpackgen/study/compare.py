"""Strategies side by side on one workload, over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from ..simulate.model import ClusterState, PodShape
from ..simulate.timeline.queues import QueueModel
from ..simulate.timeline.result import Timeline
from ..simulate.timeline.run import run
from ..simulate.workload.model import Submission, Workload
from . import measures
from .bounds import fewest_nodes, most_allocated, node_kinds, require_solver
from .fragmentation import Fragments
from .source import Source
from .strategies import Strategy
from .subject import Subject
from .use import PODS, capacity, running_at, used_at, wants

#: Arrivals of the saturation run in percent of the cluster's scarcest resource, as in the FGD paper.
SATURATION = 130
#: Without devices a saturation run ends after so many pods at the latest.
MOST_PODS = 2_000_000


class Options(NamedTuple):
    """How strategies are compared. `prices` are an hour's price of a node by pool."""

    retry: Literal["wait", "loss"] = "wait"
    seeds: int = 3
    queues: QueueModel | None = None
    prices: Mapping[str, float] | None = None


class Figure(NamedTuple):
    """A figure at each seed, NaN at seeds that have none."""

    values: tuple[float, ...]

    @property
    def known(self) -> tuple[float, ...]:
        """The values that are there."""
        return tuple(value for value in self.values if not math.isnan(value))

    @property
    def mean(self) -> float:
        """NaN without any value."""
        return math.fsum(self.known) / len(self.known) if self.known else math.nan

    @property
    def deviation(self) -> float:
        """The standard deviation of one seed; NaN of fewer than two."""
        return deviation(self.known)

    def less(self, other: Figure) -> Figure:
        """The differences seed by seed: both met the same arrivals."""
        return Figure(tuple(one - two for one, two in zip(self.values, other.values, strict=True)))

    @property
    def is_noise(self) -> bool:
        """Whether the mean may be 0 all the same: it is within two standard errors, or there is but one seed."""
        if len(self.known) < 2:
            return True
        return abs(self.mean) <= 2 * self.deviation / math.sqrt(len(self.known))


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; NaN of fewer than two."""
    if len(values) < 2:
        return math.nan
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True)
class Row:
    """One figure of all strategies: `group` and `name` say what it is; None where a strategy has none.

    `unit` is "share", "s", "nodes", "pods", "submissions", "money" or "". `better` says which way is good: "more",
    "less" or "". `bound` is what no scheduler can beat, and whether it is reached by more or by less.
    """

    group: str
    name: str
    unit: str
    better: str
    figures: tuple[Figure, ...]
    bound: float | None = None


class Course(NamedTuple):
    """A curve of one strategy at the first seed: (time in seconds or arrived demand, share in use)."""

    strategy: str
    resource: str
    points: tuple[tuple[float, float], ...]


class MapNode(NamedTuple):
    """A node at the end of the first seed: kinds by device (None: free), and shares of cpu and memory."""

    name: str
    pool: str
    slots: tuple[str | None, ...]
    cpu: float
    memory: float


@dataclass(frozen=True)
class Comparison:
    """The outcome. `partial` says why it is not whole, None if it is; `seeds` are those that came to their end."""

    profile: str
    workload: str
    retry: str
    strategies: tuple[Strategy, ...]
    nodes: int
    seeds: int
    rows: tuple[Row, ...]
    over_time: tuple[Course, ...]
    saturation: tuple[Course, ...]
    maps: Mapping[str, tuple[MapNode, ...]]
    notes: tuple[str, ...]
    partial: str | None = None

    def row(self, group: str, name: str) -> Row | None:
        """The row of that name."""
        return next((row for row in self.rows if (row.group, row.name) == (group, name)), None)


@dataclass
class _Seed:
    """Values of one strategy at one seed, by (group, name), in order of first appearance."""

    values: dict[tuple[str, str], float] = field(default_factory=dict)
    courses: list[Course] = field(default_factory=list)
    saturation: list[Course] = field(default_factory=list)
    map: tuple[MapNode, ...] = ()
    bounds: dict[tuple[str, str], float] = field(default_factory=dict)


#: Unit and better direction of rows, by group and the start of the name.
_UNITS: tuple[tuple[str, str, str, str], ...] = (
    ("allocation", "", "share", "more"),
    ("saturation", "placed", "share", "more"),
    ("saturation", "hit rate", "share", "more"),
    ("saturation", "", "share", "more"),
    ("packing", "hit rate", "share", "more"),
    ("packing", "nodes in use", "nodes", "less"),
    ("packing", "cost", "money", "less"),
    ("free", "", "share", ""),
    ("unusable", "", "share", "less"),
    ("rejected", "", "share", "less"),
    ("waiting", "still", "submissions", "less"),
    ("waiting", "", "s", "less"),
    ("preemption", "success", "share", "more"),
    ("preemption", "", "submissions", ""),
)

Progress = Callable[[str], None]


def compare(
    subject: Subject,
    strategies: Sequence[Strategy],
    source: Source,
    options: Options,
    *,
    notes: Sequence[str] = (),
    progress: Progress = lambda words: None,
) -> Comparison:
    """Run every strategy on the workload of every seed.

    After an interrupt (Ctrl-C) the seeds that all strategies have come to the end of are compared, and `partial` says
    how far it came.
    """
    require_solver()
    done: list[list[_Seed]] = []
    partial = None
    try:
        for seed in range(options.seeds):
            of_seed: list[_Seed] = []
            workload = source.workload(seed)
            for strategy in strategies:
                progress(f"seed {seed + 1} of {options.seeds}: {strategy.name}")
                found, stopped = _one(subject, strategy, source, workload, options, seed)
                if stopped:
                    partial = stopped
                    break
                of_seed.append(found)
            if partial:
                if not done and of_seed:
                    # better some strategies than none
                    done.append(of_seed)
                break
            done.append(of_seed)
    except KeyboardInterrupt:
        partial = "interrupted"
    if partial:
        partial = f"{partial}; {len(done)} of {options.seeds} seeds"
    count = min((len(of_seed) for of_seed in done), default=0)
    shown = tuple(strategies[:count])
    return Comparison(
        profile=subject.plan.name,
        workload=source.words,
        retry=options.retry,
        strategies=shown,
        nodes=len(source.cluster.nodes),
        seeds=len(done),
        rows=tuple(_rows(done, count)),
        over_time=tuple(course for one in (done[0] if done else ()) for course in one.courses),
        saturation=tuple(course for one in (done[0] if done else ()) for course in one.saturation),
        maps={strategy.name: one.map for strategy, one in zip(shown, done[0] if done else (), strict=False)},
        notes=tuple(notes),
        partial=partial,
    )


def _rows(done: Sequence[Sequence[_Seed]], strategies: int) -> Iterator[Row]:
    names: dict[tuple[str, str], None] = {}
    for of_seed in done:
        for one in of_seed:
            names |= dict.fromkeys(one.values)
    order = list(dict.fromkeys(group for group, _, _, _ in _UNITS))
    for group, name in sorted(names, key=lambda key: order.index(key[0])):
        figures = tuple(
            Figure(tuple(of_seed[index].values.get((group, name), math.nan) for of_seed in done))
            for index in range(strategies)
        )
        limits = [one.bounds[group, name] for seed in done for one in seed if (group, name) in one.bounds]
        unit, better = next(
            (unit, better) for g, start, unit, better in _UNITS if g == group and name.startswith(start)
        )
        bound = None
        if limits:
            bound = math.fsum(limits) / len(limits)
        yield Row(group, name, unit, better, figures, bound)


def _one(
    subject: Subject,
    strategy: Strategy,
    source: Source,
    workload: Workload,
    options: Options,
    seed: int,
) -> tuple[_Seed, str | None]:
    found = _Seed()
    cluster = source.cluster
    own = workload._replace(shapes=strategy.shapes(workload.shapes))
    last = max((submission.arrives for submission in own.submissions), default=0.0)
    timeline = run(
        own,
        cluster,
        strategy.scheduler,
        queues=options.queues if options.retry == "wait" else None,
        retry=options.retry,
        until=last,
        seed=seed,
    )
    if timeline.partial:
        return found, timeline.partial
    resources = [name for name in subject.resources if capacity(cluster, [name]).sum()]
    kinds = node_kinds_of(subject, cluster)
    weights = shape_weights(own)
    fragments = Fragments(cluster, own.shapes, weights, resources, kinds)
    short = {name: short_name(name) for name in resources}
    if last > 0:
        _over_time(found, subject, timeline, resources, fragments, options)
    _saturate(found, subject, strategy, source, own, resources, fragments, seed)
    if last > 0:
        found.map = _map(subject, timeline, measures.window(timeline)[1])
        found.courses = [
            Course(strategy.name, short[name], measures.curve(timeline, name)) for name in resources
        ]
    elif not found.map:
        found.map = _map(subject, timeline, timeline.end)
    return found, None


def _over_time(
    found: _Seed,
    subject: Subject,
    timeline: Timeline,
    resources: Sequence[str],
    fragments: Fragments,
    options: Options,
) -> None:
    values = found.values
    for name, share in measures.allocation(timeline, resources).items():
        values["allocation", short_name(name)] = share
    hit = measures.hits(timeline, subject.scheduler)
    values["packing", "hit rate"] = hit.rate
    start, end = measures.window(timeline)
    in_use = timeline.nodes_in_use()
    values["packing", "nodes in use (mean)"] = in_use.mean(start, end)
    busiest = _busiest(timeline, resources[0])
    values["packing", "nodes in use (busiest)"] = float(in_use.at(busiest))
    counts = running_at(timeline, busiest)
    kinds = node_kinds(timeline.cluster, timeline.shapes, resources)
    found.bounds["packing", "nodes in use (busiest)"] = fewest_nodes(
        kinds, timeline.shapes, counts.tolist(), resources
    ).bound
    pools = pools_of(subject, timeline.cluster)
    if options.prices is not None:
        hours = measures.node_hours(timeline, pools)
        span = max((end - start) / 3600, 1e-9)
        values["packing", "cost an hour"] = (
            math.fsum(options.prices.get(pool, 0.0) * time for pool, time in hours.items()) / span
        )
    _fragmentation(found, timeline, fragments, resources, measures.moments(timeline))
    if options.retry == "loss":
        lost = total = 0
        for kind, (gone, seen) in measures.rejected(timeline).items():
            values["rejected", kind] = gone / seen
            lost, total = lost + gone, total + seen
        values["rejected", "all"] = lost / total if total else math.nan
    else:
        _waiting(found, subject, timeline)
    made = measures.preemption(timeline)
    if made.attempts:
        values["preemption", "success"] = made.rate
        values["preemption", "attempts"] = float(made.attempts)
        values["preemption", "evictions"] = float(made.evicted)


def _fragmentation(
    found: _Seed,
    timeline: Timeline,
    fragments: Fragments,
    resources: Sequence[str],
    times: Sequence[float],
) -> None:
    shares = measures.fragmentation(timeline, fragments, resources, times)
    for kind, by_resource in shares.items():
        for resource, (free, unusable) in by_resource.items():
            name = f"{short_name(resource)} of {kind}"
            found.values["free", name] = free
            if not math.isnan(unusable):
                found.values["unusable", name] = unusable


def _waiting(found: _Seed, subject: Subject, timeline: Timeline) -> None:
    values = found.values
    everyone = np.arange(len(timeline.workload.submissions))
    tiers = {tier.source.value: tier.name for tier in subject.plan.tiers}
    groups: list[tuple[str, measures.Waiting]] = [("all", measures.waiting(timeline, everyone))]
    for by in ("priority", "queue", "kind"):
        members = timeline.groups(by)
        if len(members) < 2 and by != "kind":
            continue
        for key, indexes in members.items():
            if by == "priority":
                label = f"tier {tiers.get(int(key or 0), key)}"
            elif by == "queue":
                label = f"queue {key}" if key is not None else "no queue"
            else:
                label = f"job {key}"
            groups.append((label, measures.waiting(timeline, indexes)))
    for label, waits in groups:
        if waits.submissions:
            values["waiting", f"{label}, mean"] = waits.mean
            values["waiting", f"{label}, p95"] = waits.p95
    values["waiting", "still waiting at the end"] = float(groups[0][1].unbound)


def _saturate(
    found: _Seed,
    subject: Subject,
    strategy: Strategy,
    source: Source,
    workload: Workload,
    resources: Sequence[str],
    fragments: Fragments,
    seed: int,
) -> None:
    """Pods one by one until their demand is 130 % of the scarcest resource; none leaves, none waits."""
    cluster = source.cluster
    order = saturation_order(source, workload, resources, seed)
    if not order:
        return
    submissions = tuple(
        Submission(f"pod-{index}", "", (shape,), arrives=float(index)) for index, shape in enumerate(order)
    )
    timeline = run(
        Workload("", workload.shapes, submissions),
        cluster,
        strategy.scheduler,
        preemption=False,
        retry="loss",
        until=float(len(order)),
        seed=seed,
    )
    if timeline.partial:
        raise KeyboardInterrupt
    whole = capacity(cluster, resources).sum(axis=0)
    counts = np.bincount(order, minlength=len(workload.shapes)).tolist()
    kinds = node_kinds(cluster, workload.shapes, resources)
    for place, name in enumerate(resources):
        key = ("saturation", short_name(name))
        found.values[key] = timeline.usage(name).at(timeline.end) / float(whole[place])
        bound = most_allocated(kinds, workload.shapes, counts, resources, name) / float(whole[place])
        found.bounds[key] = min(1.0, bound)
    placed = np.zeros(len(workload.shapes), np.int64)
    np.add.at(placed, timeline.log.shapes, timeline.log.signs.astype(np.int64))
    for label, members in _sizes(workload.shapes, subject.devices).items():
        asked = sum(counts[index] for index in members)
        if asked:
            found.values["saturation", f"placed: {label}"] = float(placed[members].sum()) / asked
    found.values["saturation", "hit rate"] = measures.hits(timeline, subject.scheduler).rate
    if not workload.submissions or max(one.arrives for one in workload.submissions) <= 0:
        _fragmentation(found, timeline, fragments, resources, [timeline.end])
        found.map = _map(subject, timeline, timeline.end)
    asked_for = wants(workload.shapes, resources)
    for place, name in enumerate(resources[:1]):
        demand = np.cumsum(asked_for[np.array(order), place]) / float(whole[place])
        usage = timeline.usage(name)
        picks = np.unique(np.linspace(0, len(order) - 1, 140).astype(int))
        points = tuple((float(demand[i]), usage.at(float(i)) / float(whole[place])) for i in picks.tolist())
        found.saturation.append(Course(strategy.name, short_name(name), points))


def saturation_order(source: Source, workload: Workload, resources: Sequence[str], seed: int) -> list[int]:
    """Shapes in the order of arrival, until the demand is 130 % of a resource.

    The resource is the first one, a device where there are any; if nobody asks for it, the one that is asked for
    most.
    """
    pods = [shape for submission in workload.submissions for shape in submission.shapes]
    if not pods:
        return []
    whole = capacity(source.cluster, resources).sum(axis=0)
    each = wants(workload.shapes, resources)
    asked = each[np.array(pods)].sum(axis=0)
    place = 0 if asked[0] and whole[0] else int(np.argmax(asked / np.maximum(whole, 1)))
    if not asked[place]:
        return []
    amounts = each[:, place].tolist()
    target = SATURATION * int(whole[place])
    demand = 0
    order: list[int] = []
    for shape in source.population(workload, seed):
        if demand * 100 >= target or len(order) >= MOST_PODS:
            break
        order.append(shape)
        demand += amounts[shape]
    return order


def shape_weights(workload: Workload) -> list[int]:
    """How many pods of each shape are asked for."""
    pods = [shape for submission in workload.submissions for shape in submission.shapes]
    return np.bincount(pods, minlength=len(workload.shapes)).tolist() if pods else [0] * len(workload.shapes)


def node_kinds_of(subject: Subject, cluster: ClusterState) -> list[str]:
    """The GPU type of each node, "none" without GPUs."""
    key = subject.plan.spec.node_labels.gpu_type
    return [node.labels.get(key, "none") for node in cluster.nodes]


def pools_of(subject: Subject, cluster: ClusterState) -> list[str]:
    """The pool of each node, "" for nodes of none."""
    key = subject.plan.spec.node_labels.pool
    return [node.labels.get(key, "") for node in cluster.nodes]


def short_name(resource: str) -> str:
    """A resource as tables name it: `GPU` for nvidia.com/gpu and its like."""
    name = resource.rpartition("/")[2]
    return "GPU" if name == "gpu" else name


def _busiest(timeline: Timeline, resource: str) -> float:
    start, end = measures.window(timeline)
    usage = timeline.usage(resource)
    inside = (usage.times >= start) & (usage.times <= end)
    if not inside.any():
        return end
    times = usage.times[inside]
    return float(times[int(np.argmax(usage.values[inside]))])


def _sizes(shapes: Sequence[PodShape], devices: Sequence[str]) -> dict[str, list[int]]:
    sizes: dict[int, list[int]] = {}
    for index, shape in enumerate(shapes):
        sizes.setdefault(sum(shape.requests.get(device, 0) for device in devices), []).append(index)
    return {
        "CPU pods" if not size else f"{size} GPU" if size == 1 else f"{size} GPUs": members
        for size, members in sorted(sizes.items())
    }


def _map(subject: Subject, timeline: Timeline, time: float) -> tuple[MapNode, ...]:
    """The nodes at a time, with the kind of submission that holds each device."""
    log = timeline.log
    until = int(np.searchsorted(log.times, time, side="right"))
    devices = subject.devices
    held: list[dict[str, int]] = [{} for _ in timeline.cluster.nodes]
    kind_of = [submission.kind for submission in timeline.workload.submissions]
    amounts = [sum(shape.requests.get(device, 0) for device in devices) for shape in timeline.shapes]
    for submission, shape, node, sign in zip(
        log.submissions[:until].tolist(),
        log.shapes[:until].tolist(),
        log.nodes[:until].tolist(),
        log.signs[:until].tolist(),
        strict=True,
    ):
        if amounts[shape]:
            name = kind_of[submission] or timeline.shapes[shape].name
            held[node][name] = held[node].get(name, 0) + sign * amounts[shape]
    pools = pools_of(subject, timeline.cluster)
    [used] = used_at(timeline, [time], ["cpu", "memory", PODS])
    rows = []
    for index, node in enumerate(timeline.cluster.nodes):
        total = sum(node.allocatable.get(device, 0) for device in devices)
        slots: list[str | None] = [name for name, count in sorted(held[index].items()) for _ in range(count)]
        slots += [None] * (total - len(slots))
        shares = [
            min(1.0, float(used[index, place]) / node.allocatable[name])
            if node.allocatable.get(name)
            else 0.0
            for place, name in enumerate(("cpu", "memory"))
        ]
        rows.append(MapNode(node.name, pools[index], tuple(slots), *shares))
    order = {pool.name: place for place, pool in enumerate(subject.plan.pools)}
    return tuple(sorted(rows, key=lambda row: (order.get(row.pool, len(order)), row.name)))
