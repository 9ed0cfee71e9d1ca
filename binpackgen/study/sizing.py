"""The fewest nodes of each pool that serve a backlog or a level of service, with a bound that no scheduler beats.

The simulator judges a size; the search goes down pool by pool by binary search, from the largest nodes to the smallest
and the other way round, and from the bound's own solution upwards, until one node fewer of any pool fails. Nothing
promises that a greedy scheduler never does better with fewer nodes of one pool and more of another: the distance to the
bound says how much there can be left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from ..errors import BinpackgenError
from ..simulate.model import PodShape
from ..simulate.timeline.result import State, Timeline
from ..simulate.timeline.run import run
from ..simulate.workload.fitting import homeless
from ..simulate.workload.model import Submission, Workload
from ..simulate.workload.synthetic import draw_workload
from . import measures
from .bounds import Fewest, NodeKind, fewest_nodes, node_kinds
from .mix import Rate, rates
from .source import Mix
from .subject import Subject

#: Nodes of one pool at the most.
MOST_NODES = 20_000

Counts = Mapping[str, int]
Progress = Callable[[str], None]

_LEVEL = re.compile(r"(mean|p[0-9]{1,2}|max)\s*<=\s*([0-9]+(?:\.[0-9]+)?)\s*(s|m|min|h|d)?\Z")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


class Demand(Protocol):
    """What must be served."""

    @property
    def words(self) -> str:
        """What it is, in words."""
        ...

    @property
    def bound_words(self) -> str:
        """What the bound rests on, in words."""
        ...

    def is_met(self, subject: Subject, counts: Counts) -> bool:
        """Whether so many nodes serve it. Raises KeyboardInterrupt when the run was interrupted."""
        ...

    def pods(self) -> tuple[Workload, list[float]]:
        """A workload with the shapes, and how many pods of each run at a time at least."""
        ...


class Backlog(NamedTuple):
    """Jobs that come all at once, and none of them may wait."""

    workload: Workload
    words: str

    @property
    def bound_words(self) -> str:
        """What the bound rests on, in words."""
        return "all pods at once"

    def is_met(self, subject: Subject, counts: Counts) -> bool:
        """Whether all pods are bound at once."""
        if not sum(counts.values()):
            return not self.workload.submissions
        timeline = _checked(
            run(self.workload, subject.cluster(counts), subject.scheduler, until=0.0, preemption=False)
        )
        return bool((timeline.states == State.RUNNING).all())

    def pods(self) -> tuple[Workload, list[float]]:
        """All of them."""
        counts = [0.0] * len(self.workload.shapes)
        for submission in self.workload.submissions:
            for shape in submission.shapes:
                counts[shape] += 1
        return self.workload, counts


class Level(NamedTuple):
    """A limit of the waiting time: "mean", "max" or "p95" of it is at most `seconds`."""

    name: str
    seconds: float

    @classmethod
    def read(cls, text: str) -> Level:
        """`p95<=10m`. Raises BinpackgenError."""
        match = _LEVEL.match(text.strip())
        if match is None:
            raise BinpackgenError(f"--wait {text}: is no limit such as p95<=10m, mean<=90s or max<=1h")
        return cls(match[1], float(match[2]) * _SECONDS[match[3] or "s"])

    def holds(self, waits: Sequence[float]) -> bool:
        """Whether waiting times keep it; those of nobody do."""
        if not len(waits):
            return True
        if self.name == "mean":
            return float(np.mean(waits)) <= self.seconds
        share = 100.0 if self.name == "max" else float(self.name[1:])
        return float(np.percentile(waits, share, method="inverted_cdf")) <= self.seconds


class Service(NamedTuple):
    """Jobs that come and go, of each of which none but a stated share may wait long; at every seed."""

    workloads: tuple[Workload, ...]
    rates: tuple[Rate, ...]
    level: Level
    words: str

    @property
    def bound_words(self) -> str:
        """What the bound rests on, in words."""
        return "the mean demand, since with fewer the queue grows without end"

    def is_met(self, subject: Subject, counts: Counts) -> bool:
        """Whether the level is kept at every seed."""
        if not sum(counts.values()):
            return False
        cluster = subject.cluster(counts)
        for seed, workload in enumerate(self.workloads):
            last = max((submission.arrives for submission in workload.submissions), default=0.0)
            timeline = _checked(run(workload, cluster, subject.scheduler, until=last, seed=seed))
            start, _ = measures.window(timeline)
            waits = timeline.waited
            # one that waits still has waited as long as this at least
            waits = np.where(np.isnan(waits), timeline.end - timeline.arrived, waits)
            counted = timeline.arrived >= start
            # of each kind of job: a few big ones that never start would not show among many small ones
            for members in timeline.groups("kind").values():
                if not self.level.holds(waits[members][counted[members]].tolist()):
                    return False
        return True

    def pods(self) -> tuple[Workload, list[float]]:
        """How many pods of each shape run side by side on average if nobody waits; of a job's shapes the first ones."""
        workload = self.workloads[0]
        first = {submission.kind: submission.shapes for submission in reversed(workload.submissions)}
        counts = [0.0] * len(workload.shapes)
        for rate in self.rates:
            for shape in first.get(rate.job, ()):
                counts[shape] += rate.running
        return workload, counts


@dataclass(frozen=True)
class Size:
    """The outcome. `counts` are nodes by pool, `tight` the pools of which one node fewer was seen to fail.

    `bound` is for all pools together in nodes (in money if there are prices), `bounds` for each pool with the others
    as found. `stated` are the profile's own numbers and whether they do. `partial` says why the search ended early:
    the counts serve the demand, but fewer may as well.
    """

    profile: str
    demand: str
    counts: Counts
    tight: frozenset[str]
    bound: float
    bound_words: str
    bounds: Mapping[str, float]
    stated: Counts
    stated_is_enough: bool
    runs: int
    prices: Mapping[str, float] | None = None
    notes: tuple[str, ...] = ()
    partial: str | None = None

    @property
    def nodes(self) -> int:
        """Nodes of all pools."""
        return sum(self.counts.values())

    @property
    def total(self) -> float:
        """What the bound bounds: nodes, or money."""
        return self.nodes if self.prices is None else cost(self.counts, self.prices)


def cost(counts: Counts, prices: Mapping[str, float] | None) -> float:
    """Money an hour, or nodes without prices."""
    if prices is None:
        return float(sum(counts.values()))
    return math.fsum(prices.get(pool, 0.0) * count for pool, count in counts.items())


def backlog(subject: Subject, times: Mapping[str, int]) -> Backlog:
    """Each job so many times at once."""
    shapes: list[PodShape] = []
    made: list[Submission] = []
    for job, count in times.items():
        if not count:
            continue
        drawn = draw_workload(
            subject.plan, subject.outputs, load=1.0, submissions=count, shares={job: 1.0}
        ).workload
        offset = len(shapes)
        shapes += drawn.shapes
        made += [
            submission._replace(
                shapes=tuple(offset + shape for shape in submission.shapes),
                arrives=0.0,
                runs=None,
                queue=None,
                preempts=False,
            )
            for submission in drawn.submissions
        ]
    if not made:
        raise BinpackgenError("there is no job in the backlog")
    words = ", ".join(f"{count} x {job}" for job, count in times.items() if count)
    return Backlog(Workload("", tuple(shapes), tuple(made)), f"{words}, all at once, none waits")


def service(source: Mix, level: Level, seeds: int) -> Service:
    """A level of service for a mix, without queues."""
    workloads = tuple(
        workload._replace(submissions=tuple(one._replace(queue=None) for one in workload.submissions))
        for workload in map(source.workload, range(seeds))
    )
    words = f"{source.words}; {level.name} of each job's waiting time at most {level.seconds:g} s at each of {seeds} seeds"
    return Service(workloads, rates(source.subject.plan, source.load), level, words)


def fewest(
    subject: Subject,
    demand: Demand,
    *,
    prices: Mapping[str, float] | None = None,
    progress: Progress = lambda words: None,
) -> Size:
    """The search. Raises BinpackgenError where no number of nodes is enough."""
    plan = subject.plan
    stated = {pool.name: pool.nodes_max for pool in plan.pools}
    workload, running = demand.pods()
    kinds = _kinds(subject, workload)
    lost = homeless(workload.shapes, subject.cluster(dict.fromkeys(stated, 1)).nodes)
    if lost:
        raise BinpackgenError(
            f"no pool holds pods of {workload.shapes[lost[0]].name}, however many nodes it has"
        )
    resources = subject.resources
    bound = fewest_nodes(kinds, workload.shapes, running, resources, prices)

    def is_possible(counts: Counts) -> bool:
        limited = [kind._replace(most=float(counts[kind.name])) for kind in kinds]
        return math.isfinite(fewest_nodes(limited, workload.shapes, running, resources).bound)

    search = _Search(subject, demand, prices, progress, is_possible)
    partial = None
    best: dict[str, int] | None = None
    enough = False
    try:
        enough = search.serves(stated)
        order = sorted(stated, key=lambda name: _weight(subject, name, prices), reverse=True)
        top = search.enough_from(stated)
        best = top
        for start, way in _starts(search, top, order, bound, kinds):
            found = search.down(start, way)
            if cost(found, prices) < cost(best, prices):
                best = found
            if cost(best, prices) <= bound.bound + 1e-9:
                break
    except KeyboardInterrupt:
        partial = "interrupted: fewer nodes may be enough as well"
        best = search.best or best
        if best is None:
            raise
    return Size(
        profile=plan.name,
        demand=demand.words,
        counts={pool.name: best[pool.name] for pool in plan.pools},
        tight=frozenset(name for name in best if best[name] and search.known(best, name) is False),
        bound=bound.bound,
        bound_words=demand.bound_words,
        bounds=_each(kinds, workload, running, resources, best),
        stated=stated,
        stated_is_enough=enough,
        runs=search.runs,
        prices=prices,
        partial=partial,
    )


@dataclass
class _Search:
    """Asks the simulator, and remembers its answers."""

    subject: Subject
    demand: Demand
    prices: Mapping[str, float] | None
    progress: Progress
    is_possible: Callable[[Counts], bool]
    """Whether any scheduler could: what none can is not asked of the simulator."""
    answers: dict[tuple[tuple[str, int], ...], bool] = field(default_factory=dict)
    best: dict[str, int] | None = None
    runs: int = 0

    def serves(self, counts: Counts) -> bool:
        key = tuple(counts.items())
        if key not in self.answers and not self.is_possible(counts):
            self.answers[key] = False
        if key not in self.answers:
            self.runs += 1
            self.progress(f"run {self.runs}: " + ", ".join(f"{name} {count}" for name, count in key))
            is_met = self.answers[key] = self.demand.is_met(self.subject, counts)
            if is_met and (self.best is None or cost(counts, self.prices) < cost(self.best, self.prices)):
                self.best = dict(counts)
        return self.answers[key]

    def known(self, counts: Counts, pool: str) -> bool | None:
        """What is known about one node fewer of a pool."""
        return self.answers.get(tuple({**counts, pool: counts[pool] - 1}.items()))

    def enough_from(self, counts: Counts) -> dict[str, int]:
        """Doubles all pools until they are enough."""
        tried = {name: max(1, count) for name, count in counts.items()}
        while not self.serves(tried):
            if max(tried.values()) >= MOST_NODES:
                raise BinpackgenError(
                    f"even {MOST_NODES:,} nodes of each pool are not enough: {self.demand.words}"
                )
            tried = {name: min(MOST_NODES, 2 * count) for name, count in tried.items()}
        return tried

    def up(self, counts: Counts) -> dict[str, int]:
        """Adds a twentieth of each pool that has nodes until they are enough."""
        tried = dict(counts)
        while not self.serves(tried):
            tried = {name: count + -(-count // 20) for name, count in tried.items()}
            if max(tried.values(), default=0) > MOST_NODES or not any(tried.values()):
                return self.enough_from({name: max(1, count) for name, count in tried.items()})
        return tried

    def down(self, counts: Counts, order: Sequence[str]) -> dict[str, int]:
        """As few as will do of one pool after the other, until one fewer of any pool fails."""
        current = dict(counts)
        while True:
            before = dict(current)
            for name in order:
                self._least(current, name)
            if current == before:
                return current

    def _least(self, current: dict[str, int], name: str) -> None:
        """The least count of a pool that serves beside the others, next to one that was seen to fail."""
        high = current[name]
        if not high or not self.serves({**current, name: high - 1}):
            return
        low, high = -1, high - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.serves({**current, name: middle}):
                high = middle
            else:
                low = middle
        current[name] = high


def _starts(
    search: _Search, top: Counts, order: Sequence[str], bound: Fewest, kinds: Sequence[NodeKind]
) -> Iterator[tuple[Counts, Sequence[str]]]:
    """Sizes that serve, and the order in which to take nodes away from them."""
    yield top, order
    yield top, order[::-1]
    if bound.counts:
        yield search.up(_by_pool(kinds, bound, top)), order


def _checked(timeline: Timeline) -> Timeline:
    if timeline.partial:
        raise KeyboardInterrupt
    return timeline


def _kinds(subject: Subject, workload: Workload) -> list[NodeKind]:
    """One kind a pool, as many nodes of it as you like."""
    cluster = subject.cluster({pool.name: 1 for pool in subject.plan.pools})
    key = subject.plan.spec.node_labels.pool
    names = [node.labels[key] for node in cluster.nodes]
    found = node_kinds(cluster, workload.shapes, subject.resources, names)
    return [kind._replace(most=math.inf) for kind in found]


def _by_pool(kinds: Sequence[NodeKind], bound: Fewest, stated: Counts) -> dict[str, int]:
    found = dict.fromkeys(stated, 0)
    for kind, count in zip(kinds, bound.counts, strict=True):
        found[kind.name] += count
    return found


def _each(
    kinds: Sequence[NodeKind],
    workload: Workload,
    running: Sequence[float],
    resources: Sequence[str],
    counts: Counts,
) -> dict[str, float]:
    """For each pool the least that will do beside the others as they are."""
    found = {}
    for name in counts:
        limited = [
            kind if kind.name == name else kind._replace(most=float(counts[kind.name])) for kind in kinds
        ]
        prices = {kind.name: 1.0 if kind.name == name else 0.0 for kind in kinds}
        bound = fewest_nodes(limited, workload.shapes, running, resources, prices).bound
        found[name] = bound if math.isinf(bound) else float(math.ceil(bound - 1e-6))
    return found


def _weight(subject: Subject, name: str, prices: Mapping[str, float] | None) -> tuple[float, int, int]:
    amount = subject.plan.pool(name).allocatable
    return (prices or {}).get(name, 0.0), amount.device_count, amount.cpu
