"""The timeline of single pods that come and go, without queues and preemption: the same outcome for less."""

from __future__ import annotations

import heapq
import random
from collections import deque
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..engine import MatrixSimulator, ReferenceSimulator, Simulator, needs_reference, simulator
from ..model import ClusterState, SchedulerProfile
from ..workload.model import Workload
from .interrupt import Interrupt
from .result import Log, State, Timeline
from .room import Room, binding_helps

if TYPE_CHECKING:
    from .events import Options

_NEVER = float("inf")

Number = TypeVar("Number", bound=np.generic)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def is_plain(workload: Workload, options: Options) -> bool:
    """Whether nothing but single pods come and go, of which none evicts another."""
    submissions = workload.submissions
    if any(len(submission.shapes) != 1 for submission in submissions):
        return False
    if binding_helps(workload.shapes):
        return False
    if options.queues is not None and any(submission.queue is not None for submission in submissions):
        return False
    if not options.preemption:
        return True
    lowest = min((submission.priority for submission in submissions), default=0)
    return not any(submission.preempts and submission.priority > lowest for submission in submissions)


def run_plain(
    workload: Workload,
    cluster: ClusterState,
    profile: SchedulerProfile,
    options: Options,
    interrupt: Interrupt,
) -> Timeline:
    """See run.run. Whether the workload is plain is not looked at."""
    run = _Plain(workload, cluster, profile, options)
    run.play(interrupt)
    if options.retry == "wait":
        run.wait(interrupt)
    return run.timeline(interrupt)


class _Plain:
    """Submissions in the order of their arrival, then priority: entry i of an array is the i-th of `order`.

    As long as nobody waits, a pod leaves at a time that is known when it comes, so that all events can be written
    down beforehand. The arrays are filled up to the `seen` submissions and the events until `now`.
    """

    def __init__(
        self, workload: Workload, cluster: ClusterState, profile: SchedulerProfile, options: Options
    ) -> None:
        self.workload = workload
        self.cluster = cluster
        self.profile = profile
        self.options = options
        submissions = workload.submissions
        order = sorted(
            range(len(submissions)), key=lambda i: (submissions[i].arrives, -submissions[i].priority)
        )
        self.order = np.array(order, np.int64)
        self.arrives = np.array([submissions[index].arrives for index in order], np.float64)
        self.shapes = np.array([submissions[index].shapes[0] for index in order], np.int64)
        self.priorities = [submissions[index].priority for index in order]
        # who never leaves has no time to leave at
        lengths = [submissions[index].runs for index in order]
        self.runs = np.array([_NEVER if length is None else length for length in lengths], np.float64)
        count = len(order)
        self.nodes = np.full(count, -1, np.int64)
        self.bound = np.full(count, np.nan)
        self.ended = np.full(count, np.nan)
        self.now = 0.0
        self.seen = 0

    def start(self) -> Simulator:
        """A simulator at the beginning."""
        chance = random.Random(self.options.seed)  # noqa: S311  the same numbers every time are what is wanted
        return simulator(self.cluster, self.profile, self.workload.shapes, chance)

    def play(self, interrupt: Interrupt) -> None:
        """All events, with everybody leaving at once who finds no node."""
        events, _ = self._events()
        done = _play(self.start(), self.shapes, events, self.nodes, interrupt)
        self._take_over(events[:done])

    def _events(self) -> tuple[Ints, Floats]:
        """Arrivals as indexes and departures as their inversions, with their times."""
        until = self.options.until
        coming = np.flatnonzero(self.arrives <= until)
        leaves = self.arrives + self.runs
        going = np.flatnonzero((leaves <= until) & (leaves < _NEVER))
        times = np.concatenate((leaves[going], self.arrives[coming]))
        # of one moment: who leaves, who comes, and who comes and leaves
        turns = np.concatenate((np.where(self.runs[going] > 0, 0, 2), np.full(len(coming), 1)))
        pods = np.concatenate((going, coming))
        sequence = np.lexsort((pods, turns, times))
        events = np.concatenate((~going, coming))
        return events[sequence], times[sequence]

    def _take_over(self, events: Ints) -> None:
        """Fill the arrays with what has happened in these events."""
        comers, goers = events >= 0, events < 0
        came, went = events[comers], ~events[goers]
        self.seen = len(came)
        self.nodes[self.seen :] = -1
        placed = came[self.nodes[came] >= 0]
        self.bound[:] = np.nan
        self.bound[placed] = self.arrives[placed]
        self.ended[:] = np.nan
        left = went[self.nodes[went] >= 0]
        self.ended[left] = (self.arrives + self.runs)[left]
        self.now = max(self.arrives[came].max(initial=0.0), self.ended[left].max(initial=0.0))

    def wait(self, interrupt: Interrupt) -> None:
        """From the moment on in which somebody finds no node: they wait for one."""
        refused = np.flatnonzero(self.nodes[: self.seen] < 0)
        if not len(refused):
            return
        moment = self.arrives[refused[0]]
        events, times = self._events()
        before = int(np.searchsorted(times, moment, side="left"))
        # also where the user has interrupted: those who were refused have not left but waited
        machine = self.start()
        _play(machine, self.shapes, events[:before], self.nodes, Interrupt())
        self._take_over(events[:before])
        line = _Line(self, machine)
        line.run(interrupt)

    def timeline(self, interrupt: Interrupt) -> Timeline:
        """What has been found, by submission."""
        count = len(self.order)
        partial = None
        if interrupt.is_set:
            partial = f"interrupted at {self.now:g} s, when {self.seen} of {count} submissions had arrived"
        elif self.options.until != _NEVER:
            self.now = self.options.until
        arrived = np.arange(count) < self.seen
        refused = State.REJECTED if self.options.retry == "loss" else State.WAITING
        states = np.where(self.nodes >= 0, State.RUNNING, refused)
        states = np.where(np.isnan(self.ended), states, State.ENDED)
        states = np.where(arrived, states, State.UNSEEN)
        return Timeline(
            workload=self.workload,
            cluster=self.cluster,
            shapes=self.workload.shapes,
            end=self.now,
            states=self._by_submission(states.astype(np.int8)),
            admitted=self._by_submission(np.where(arrived, self.arrives, np.nan)),
            bound=self._by_submission(self.bound),
            ended=self._by_submission(self.ended),
            evictions=np.zeros(count, np.int32),
            log=self._log(),
            partial=partial,
        )

    def _by_submission(self, values: NDArray[Number]) -> NDArray[Number]:
        found = np.empty_like(values)
        found[self.order] = values
        return found

    def _log(self) -> Log:
        starts, ends = np.flatnonzero(self.nodes >= 0), np.flatnonzero(~np.isnan(self.ended))
        which = np.concatenate((ends, starts))
        times = np.concatenate((self.ended[ends], self.bound[starts]))
        signs = np.concatenate((np.full(len(ends), -1, np.int8), np.ones(len(starts), np.int8)))
        # of one moment, departures come first
        sequence = np.argsort(times, kind="stable")
        which = which[sequence]
        return Log(
            times[sequence],
            self.order[which].astype(np.int32),
            self.shapes[which].astype(np.int32),
            self.nodes[which].astype(np.int32),
            signs[sequence],
        )


def _play(machine: Simulator, shapes: Ints, events: Ints, nodes: Ints, interrupt: Interrupt) -> int:
    """Let pods come (p) and go (~p), note their nodes, and return how many events there were time for."""
    if not isinstance(machine, (MatrixSimulator, ReferenceSimulator)):
        # the compiled one takes all at once, in a few seconds for a million
        nodes[:] = machine.play(shapes, events)
        return len(events)
    place, release = machine.place, machine.release
    of_pod, found = shapes.tolist(), nodes.tolist()
    done = 0
    for event in events.tolist():
        if interrupt.is_set:
            break
        done += 1
        if event >= 0:
            node = place(of_pod[event])
            found[event] = -1 if node is None else node
        elif found[~event] >= 0:
            release(of_pod[~event], found[~event])
    nodes[:] = found
    return done


class _Line:
    """Pods that wait for room, by priority and shape, in the order in which they came."""

    def __init__(self, plain: _Plain, machine: Simulator) -> None:
        self._plain = plain
        self._machine = machine
        shapes = plain.workload.shapes
        self._room = Room(plain.cluster, plain.profile, shapes)
        self._is_reference = needs_reference(plain.cluster, plain.profile, shapes) is not None
        self._shapes: list[int] = plain.shapes.tolist()
        self._nodes: list[int] = plain.nodes.tolist()
        running = np.flatnonzero((plain.nodes >= 0) & np.isnan(plain.ended)).tolist()
        for pod in running:
            self._room.take(self._shapes[pod], self._nodes[pod])
        leaves = (plain.arrives + plain.runs).tolist()
        self._going = [(leaves[pod], pod) for pod in running if leaves[pod] < _NEVER]
        heapq.heapify(self._going)
        self._waiting: dict[tuple[int, int], deque[int]] = {}
        self._freed: set[int] = set()
        #: Shapes that failed since something was released.
        self._failed: set[int] = set()

    def run(self, interrupt: Interrupt) -> None:
        """From where the plain course has come to."""
        plain, going, until = self._plain, self._going, self._plain.options.until
        arrives = plain.arrives.tolist()
        seen = plain.seen
        while not interrupt.is_set:
            coming = arrives[seen] if seen < len(arrives) else _NEVER
            time = min(coming, going[0][0]) if going else coming
            if time > until or time == _NEVER:
                break
            plain.now = time
            while going and going[0][0] <= time:
                self._leave()
            first = seen
            while seen < len(arrives) and arrives[seen] <= time:
                seen += 1
            self._serve(range(first, seen), time)
        plain.seen = seen
        plain.nodes[:] = self._nodes

    def _leave(self) -> None:
        """The next pod comes to its end."""
        time, gone = heapq.heappop(self._going)
        self._plain.ended[gone] = time
        shape, node = self._shapes[gone], self._nodes[gone]
        self._machine.release(shape, node)
        self._room.give(shape, node)
        self._freed.add(node)

    def _serve(self, new: range, time: float) -> None:
        """Place what fits of those who wait and those who come, by priority and then by age."""
        plain, place, failed = self._plain, self._machine.place, self._failed
        if self._freed:
            failed.clear()
        queue: list[tuple[int, int, bool]] = [(-plain.priorities[i], i, False) for i in new]
        if self._freed and self._waiting:
            fitting = None if self._is_reference else self._room.shapes_for(self._freed).tolist()
            for (rank, shape), members in self._waiting.items():
                if fitting is None or fitting[shape]:
                    queue.append((rank, members[0], True))
            heapq.heapify(queue)
        self._freed.clear()
        while queue:
            rank, index, waits = heapq.heappop(queue)
            shape = self._shapes[index]
            node = None if shape in failed else place(shape)
            if node is None:
                failed.add(shape)
                if not waits:
                    self._waiting.setdefault((rank, shape), deque()).append(index)
                continue
            self._room.take(shape, node)
            self._nodes[index] = node
            plain.bound[index] = time
            if plain.runs[index] < _NEVER:
                heapq.heappush(self._going, (time + plain.runs[index], index))
            if waits:
                members = self._waiting[rank, shape]
                members.popleft()
                if members:
                    heapq.heappush(queue, (rank, members[0], True))
                else:
                    del self._waiting[rank, shape]
