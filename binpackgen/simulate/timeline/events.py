"""The timeline with everything in it: gangs, queues, tiers with preemption."""

from __future__ import annotations

import heapq
import random
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ...errors import BinpackgenError
from ..engine import ReferenceSimulator, Simulator, needs_reference, simulator
from ..filters import FILTERS
from ..model import ClusterState, PodShape, SchedulerProfile
from ..workload.model import Submission, Workload
from .admission import Admission, Admitted, Evicted, PodSet
from .budgets import Allowances, DisruptionBudget
from .interrupt import Interrupt
from .preemption import Candidate, Victim, choose, victims_on
from .queues import ClusterQueue, QueueModel, pinned
from .result import Eviction, Log, State, Timeline
from .room import Room, binding_helps

#: How pods of a gang are bound, see run.run.
Gangs = Literal["one-by-one", "all-or-nothing"]
#: What becomes of pods that fit nowhere, see run.run.
Retry = Literal["wait", "loss"]

SCHEDULER = "scheduler"


class Options(NamedTuple):
    """How a timeline runs; see run.run."""

    queues: QueueModel | None
    budgets: tuple[DisruptionBudget, ...]
    gangs: Gangs
    preemption: bool
    retry: Retry
    until: float
    seed: int


class _Group:
    """Waiting pods (or gangs) that are equal to the scheduler. Items are (position in the queue, pod or gang)."""

    def __init__(self, key: object, priority: int, shapes: tuple[int, ...], *, preempts: bool) -> None:
        self.key = key
        self.priority = priority
        self.shapes = shapes
        self.preempts = preempts
        self.items: deque[tuple[int, int]] = deque()
        self.failed_at = -1
        self.is_queued = False


class Events:
    """One run. Pods have numbers: those of a submission follow each other from `first[submission]` on."""

    def __init__(
        self, workload: Workload, cluster: ClusterState, profile: SchedulerProfile, options: Options
    ) -> None:
        self.workload = workload
        self.cluster = cluster
        self.profile = profile
        self.options = options
        submissions = workload.submissions
        self._chance = random.Random(options.seed)  # noqa: S311  the same numbers every time are what is wanted
        self._is_together = options.gangs == "all-or-nothing"
        self.shapes, self._pinned = _pinned_shapes(workload, options.queues)
        self._is_reference = needs_reference(cluster, profile, self.shapes) is not None
        self._simulator: Simulator = simulator(cluster, profile, self.shapes, self._chance)
        self._room = Room(cluster, profile, self.shapes)
        self._admission = Admission(options.queues) if options.queues else None
        self._allowances = Allowances(options.budgets, self.shapes)
        self._set_up_pods(submissions)
        self._set_up_tiers(submissions)
        self._binding_helps = binding_helps(self.shapes)
        self._set_up_queue()
        self.now = 0.0
        self._departures: list[tuple[float, int, int, int]] = []
        self._order = sorted(range(len(submissions)), key=lambda index: submissions[index].arrives)
        self._arrived = 0
        self._times = array("d")
        self._log: list[array[int]] = [array("i"), array("i"), array("i"), array("b")]
        self.evicted: list[Eviction] = []

    def _set_up_pods(self, submissions: Sequence[Submission]) -> None:
        count = len(submissions)
        self._first: list[int] = []
        self._owner: list[int] = []
        self._shape: list[int] = []
        self._priorities: list[int] = []
        for index, submission in enumerate(submissions):
            self._first.append(len(self._owner))
            self._owner += [index] * len(submission.shapes)
            self._shape += submission.shapes
            self._priorities += [submission.priority] * len(submission.shapes)
        pods = len(self._owner)
        self._node = [-1] * pods
        self._since = [0.0] * pods
        self._is_done = [False] * pods
        #: Pods' positions in the scheduler's queue, -1 outside it. Later entries are higher.
        self._position = [-1] * pods
        #: Counts up whenever a pod or gang is taken off its node before its end.
        self._turn = [0] * pods
        #: The pods on each node, and what preemption looks at in them.
        self._on_node: list[dict[int, Victim]] = [{} for _ in self.cluster.nodes]
        self._unbound = [len(submission.shapes) for submission in submissions]
        self._left = list(self._unbound)
        self._admitted = [float("nan")] * count
        self._bound = [float("nan")] * count
        self._ended = [float("nan")] * count
        self._evictions = [0] * count
        self._gone: dict[int, State] = {}
        self._podset: list[int] = [0] * pods

    def _set_up_tiers(self, submissions: Sequence[Submission]) -> None:
        levels = sorted({submission.priority for submission in submissions})
        self._level = {priority: level for level, priority in enumerate(levels)}
        lowest = levels[0] if levels else 0
        self._preempts = self.options.preemption and any(
            submission.preempts and submission.priority > lowest for submission in submissions
        )
        width = self._room.wanted.shape[1]
        #: What pods of each level hold on each node.
        self._held = [np.zeros((len(self.cluster.nodes), width), np.int64) for _ in levels]
        self._wanted_lists: list[list[int]] = self._room.wanted.tolist()

    def _set_up_queue(self) -> None:
        self._positions = 0
        #: Releases so far; what failed since the last one would fail again.
        self._releases = 0
        self._freed: set[int] = set()
        self._new: list[tuple[int, int, int, object]] = []
        self._groups: dict[object, _Group] = {}

    # ---- the course of events

    def run(self, interrupt: Interrupt) -> Timeline:
        """From the first arrival to the last event, or to `until`."""
        submissions, order = self.workload.submissions, self._order
        partial = None
        while not interrupt.is_set:
            coming = submissions[order[self._arrived]].arrives if self._arrived < len(order) else float("inf")
            going = self._departures[0][0] if self._departures else float("inf")
            time = min(coming, going)
            if time > self.options.until or time == float("inf"):
                break
            self.now = time
            while self._departures and self._departures[0][0] <= time:
                self._depart(*heapq.heappop(self._departures)[2:])
            while self._arrived < len(order) and submissions[order[self._arrived]].arrives <= time:
                self._arrived += 1
                self._arrive(order[self._arrived - 1])
            self._settle()
        else:
            partial = (
                f"interrupted at {self.now:g} s, when {self._arrived} of {len(order)} submissions had arrived"
            )
        until = self.options.until
        end = self.now if partial or until == float("inf") else until
        return self._timeline(end, partial)

    def _arrive(self, index: int) -> None:
        submission = self.workload.submissions[index]
        if self._admission is not None and submission.queue is not None:
            if submission.queue not in self._admission.index:
                raise BinpackgenError(
                    f"{submission.name} asks for queue {submission.queue}, which is not there"
                )
            podsets, of_pod = _podsets(submission, self.workload.shapes, self.options.queues, self._admission)
            self._podset[self._first[index] : self._first[index] + len(of_pod)] = of_pod
            self._admission.submit(index, submission.queue, submission.priority, self.now, podsets)
        else:
            self._admitted[index] = self.now
            self._enqueue_all(index)

    def _settle(self) -> None:
        if self._admission is not None:
            for decision in self._admission.settle(self.now):
                if isinstance(decision, Admitted):
                    self._start(decision)
                else:
                    self._evict_workload(decision)
        self._schedule()
        if self.options.retry == "loss":
            self._turn_away()

    def _start(self, decision: Admitted) -> None:
        index = decision.submission
        if self._admitted[index] != self._admitted[index]:
            self._admitted[index] = self.now
        for pod, base in enumerate(self.workload.submissions[index].shapes, self._first[index]):
            self._shape[pod] = self._pinned[base, decision.flavors[self._podset[pod]]]
        self._enqueue_all(index)

    def _evict_workload(self, decision: Evicted) -> None:
        index = decision.submission
        pods = self._pods(index)
        bound = sum(self._node[pod] >= 0 for pod in pods)
        for pod in pods:
            self._leave_queue(pod)
            self._stop(pod)
        self._evictions[index] += 1
        self.evicted.append(Eviction(self.now, index, decision.by, bound, decision.reason))

    def _turn_away(self) -> None:
        """In a loss system nobody waits."""
        lost = list(self._admission.waiting()) if self._admission is not None else []
        lost += [self._owner[item] for group in self._groups.values() for _, item in self._waiting(group)]
        self._groups.clear()
        for index in dict.fromkeys(lost):
            self._gone[index] = State.LOST if self._evictions[index] else State.REJECTED
            for pod in self._pods(index):
                self._leave_queue(pod)
                self._stop(pod)
            if self._admission is not None and self.workload.submissions[index].queue is not None:
                self._admission.withdraw(index)

    # ---- pods come and go

    def _pods(self, index: int) -> range:
        return range(self._first[index], self._first[index] + len(self.workload.submissions[index].shapes))

    def _put(self, pod: int, node: int, *, is_decided: bool = False, is_back: bool = False) -> None:
        """A pod stands on a node; `is_decided` if the simulator has bound it, `is_back` if it was there before."""
        shape = self._shape[pod]
        if not is_decided:
            self._simulator.bind(shape, node)
        self._room.take(shape, node)
        self._node[pod] = node
        if self._preempts:
            priority = self._priorities[pod]
            # a pod that only tries whether it fits keeps the time of its start
            since = self._since[pod] if is_back else self.now
            self._on_node[node][pod] = Victim(pod, priority, since, self._allowances.of_shape[shape])
            self._held[self._level[priority]][node] += self._room.wanted[shape]
            self._allowances.count(shape, 1)

    def _take(self, pod: int) -> int:
        """A pod is off its node."""
        node, shape = self._node[pod], self._shape[pod]
        self._simulator.release(shape, node)
        self._room.give(shape, node)
        self._node[pod] = -1
        if self._preempts:
            del self._on_node[node][pod]
            self._held[self._level[self._priorities[pod]]][node] -= self._room.wanted[shape]
            self._allowances.count(shape, -1)
        return node

    def _write(self, pod: int, node: int, sign: int) -> None:
        self._times.append(self.now)
        for column, value in zip(self._log, (self._owner[pod], self._shape[pod], node, sign), strict=True):
            column.append(value)

    def _begin(self, pod: int) -> None:
        """A pod that was put on its node runs."""
        index = self._owner[pod]
        self._since[pod] = self.now
        self._position[pod] = -1
        self._write(pod, self._node[pod], 1)
        if self._binding_helps:
            self._releases += 1
            self._freed.add(self._node[pod])
        submission = self.workload.submissions[index]
        self._unbound[index] -= 1
        if self._unbound[index] == 0 and self._bound[index] != self._bound[index]:
            self._bound[index] = self.now
        if submission.runs is None:
            return
        if not submission.gang:
            self._leave_at(pod, submission.runs)
        elif self._unbound[index] == 0:
            self._leave_at(self._first[index], submission.runs)

    def _leave_at(self, pod: int, runs: float) -> None:
        self._positions += 1
        heapq.heappush(self._departures, (self.now + runs, self._positions, pod, self._turn[pod]))

    def _stop(self, pod: int) -> None:
        """A running pod is gone before its end; its submission lacks it."""
        if self._node[pod] < 0:
            return
        node = self._take(pod)
        self._write(pod, node, -1)
        self._freed.add(node)
        self._releases += 1
        index = self._owner[pod]
        self._unbound[index] += 1
        self._turn[pod] += 1
        if self.workload.submissions[index].gang and pod != self._first[index]:
            self._turn[self._first[index]] += 1

    def _depart(self, pod: int, turn: int) -> None:
        """A pod, or the gang whose first pod it is, has come to its end."""
        if turn != self._turn[pod]:
            return
        index = self._owner[pod]
        submission = self.workload.submissions[index]
        leaving = self._pods(index) if submission.gang else (pod,)
        for one in leaving:
            node = self._take(one)
            self._write(one, node, -1)
            self._freed.add(node)
            self._releases += 1
            self._is_done[one] = True
        self._left[index] -= len(leaving)
        queued = self._admission is not None and submission.queue is not None
        if self._left[index] == 0:
            self._ended[index] = self.now
            if queued and self._admission is not None:
                self._admission.withdraw(index)
        elif queued and self._admission is not None:
            self._admission.shrink(index, self._podset[pod])

    # ---- the scheduler's queue

    def _enqueue_all(self, index: int) -> None:
        pods = self._pods(index)
        if self.workload.submissions[index].gang and self._is_together:
            self._enqueue(pods[0], is_gang=True)
        else:
            for pod in pods:
                # a job that starts again keeps what it has done
                if not self._is_done[pod]:
                    self._enqueue(pod)

    def _enqueue(self, pod: int, *, is_gang: bool = False) -> None:
        self._positions += 1
        self._position[pod] = self._positions
        heapq.heappush(self._new, (-self._priorities[pod], self._positions, pod, is_gang))

    def _leave_queue(self, pod: int) -> None:
        self._position[pod] = -1

    def _is_gang_item(self, pod: int) -> bool:
        return self._is_together and self.workload.submissions[self._owner[pod]].gang

    def _group(self, pod: int) -> _Group:
        submission = self.workload.submissions[self._owner[pod]]
        is_gang = self._is_gang_item(pod)
        shapes = (
            tuple(self._shape[one] for one in self._pods(self._owner[pod]))
            if is_gang
            else (self._shape[pod],)
        )
        key = (submission.priority, submission.preempts, is_gang, shapes)
        group = self._groups.get(key)
        if group is None:
            distinct = tuple(dict.fromkeys(shapes))
            group = self._groups[key] = _Group(
                key, submission.priority, distinct, preempts=submission.preempts
            )
        return group

    def _waiting(self, group: _Group) -> list[tuple[int, int]]:
        return [item for item in group.items if self._position[item[1]] == item[0]]

    def _head(self, group: _Group) -> tuple[int, int] | None:
        items = group.items
        while items and self._position[items[0][1]] != items[0][0]:
            items.popleft()
        return items[0] if items else None

    def _schedule(self) -> None:
        """Try all that may fit, in the queue's order, until nothing more does."""
        queue: list[tuple[int, int, int, object]] = []
        while True:
            self._wake(queue)
            while self._new:
                heapq.heappush(queue, heapq.heappop(self._new))
            if not queue:
                return
            _, position, pod, what = heapq.heappop(queue)
            if isinstance(what, _Group):
                what.is_queued = False
                head = self._head(what)
                if head is None or what.failed_at == self._releases:
                    continue
                position, pod = head
                if self._try(pod):
                    self._queue_group(what, queue)
                else:
                    what.failed_at = self._releases
                continue
            if self._position[pod] != position:
                continue
            group = self._group(pod)
            if group.failed_at != self._releases:
                if self._try(pod):
                    continue
                group.failed_at = self._releases
            group.items.append((position, pod))

    def _wake(self, queue: list[tuple[int, int, int, object]]) -> None:
        """Put up again what may fit on the nodes that something has left."""
        if not self._freed or not self._groups:
            self._freed.clear()
            return
        nodes = tuple(self._freed)
        self._freed.clear()
        fitting = None if self._is_reference else self._room.shapes_for(nodes).tolist()
        for group in list(self._groups.values()):
            if group.is_queued:
                continue
            may_fit = fitting is None or any(fitting[shape] for shape in group.shapes)
            if may_fit or (self._preempts and group.preempts and self._may_preempt(group, nodes)):
                self._queue_group(group, queue)

    def _may_preempt(self, group: _Group, nodes: Iterable[int]) -> bool:
        level = self._level[group.priority]
        room = self._room
        for node in nodes:
            reach = room.free[node] + sum(held[node] for held in self._held[:level])
            if any((room.asks[shape] <= reach).all() for shape in group.shapes):
                return True
        return False

    def _queue_group(self, group: _Group, queue: list[tuple[int, int, int, object]]) -> None:
        head = self._head(group)
        if head is None:
            self._groups.pop(group.key, None)
        elif not group.is_queued:
            group.is_queued = True
            heapq.heappush(queue, (-group.priority, head[0], head[1], group))

    # ---- attempts

    def _try(self, pod: int) -> bool:
        return self._try_gang(pod) if self._is_gang_item(pod) else self._try_pod(pod)

    def _try_pod(self, pod: int) -> bool:
        while True:
            node = self._simulator.place(self._shape[pod])
            if node is not None:
                self._put(pod, node, is_decided=True)
                self._begin(pod)
                return True
            candidate = self._candidate(pod) if self._may_evict(pod) else None
            if candidate is None:
                return False
            self._evict(candidate, by=self._owner[pod])
            self._overtake(pod, candidate.node)
            # the nominated node is tried first; a pod that was overtaken makes another attempt
            if self._fits_on(pod, candidate.node):
                self._put(pod, candidate.node)
                self._begin(pod)
                return True

    def _may_evict(self, pod: int) -> bool:
        submission = self.workload.submissions[self._owner[pod]]
        return self._preempts and submission.preempts and self._level[submission.priority] > 0

    def _overtake(self, pod: int, node: int) -> None:
        """Pods of higher priority that may not preempt use the room first."""
        priority = self._priorities[pod]
        higher = [group for group in self._groups.values() if group.priority > priority]
        for group in sorted(higher, key=lambda g: -g.priority):
            while (head := self._head(group)) is not None and self._fits_on(head[1], node):
                if not self._try(head[1]):
                    break
                group.items.popleft()

    def _fits_on(self, pod: int, node: int) -> bool:
        shape = self._shape[pod]
        if not self._is_reference:
            return self._room.fits(shape, node) and bool(self._room.allowed(shape)[node])
        assert isinstance(self._simulator, ReferenceSimulator)  # noqa: S101  needs_reference said so
        state = self._simulator.cluster
        return all(
            plugin(self.shapes[shape], state, self.profile)(node)
            for name, plugin in FILTERS.items()
            if name in self.profile.filters
        )

    def _candidate(self, pod: int) -> Candidate | None:
        """The node to preempt on."""
        shape, level = self._shape[pod], self._level[self._priorities[pod]]
        room = self._room
        possible = np.flatnonzero(room.allowed(shape))
        lower = np.zeros_like(room.free)
        for held in self._held[:level]:
            lower += held
        within = (room.asks[shape] <= room.free + lower).all(axis=1)
        if not within[possible].any():
            return None
        offset = self._chance.randrange(len(possible))
        allowed = self._allowances.left()

        def evaluate(node: int) -> tuple[tuple[Victim, ...], int] | None:
            if not within[node]:
                return None
            return self._victims(pod, node, allowed)

        return choose(possible.tolist(), offset, evaluate)

    def _victims(self, pod: int, node: int, allowed: Sequence[int]) -> tuple[tuple[Victim, ...], int] | None:
        priority = self._priorities[pod]
        lower = [victim for victim in self._on_node[node].values() if victim.priority < priority]
        if self._is_reference:
            return victims_on(
                lower,
                allowed,
                self._take,
                lambda one: self._put(one, node, is_back=True),
                lambda: self._fits_on(pod, node),
            )
        wanted, shapes = self._wanted_lists, self._shape
        # only what the pod asks for can keep it off
        asked = [k for k, amount in enumerate(wanted[shapes[pod]]) if amount > 0]
        row = self._room.free[node].tolist()
        spare = [row[k] - wanted[shapes[pod]][k] for k in asked]

        def remove(one: int) -> None:
            held = wanted[shapes[one]]
            for position, k in enumerate(asked):
                spare[position] += held[k]

        def put_back(one: int) -> None:
            held = wanted[shapes[one]]
            for position, k in enumerate(asked):
                spare[position] -= held[k]

        return victims_on(lower, allowed, remove, put_back, lambda: min(spare) >= 0)

    def _evict(self, candidate: Candidate, by: int) -> None:
        """The victims go, a gang with all its pods, and their replacements wait."""
        affected: dict[int, int] = {}
        for victim in candidate.victims:
            if self._node[victim.pod] < 0:
                # it went with its gang
                continue
            index = self._owner[victim.pod]
            affected[index] = affected.get(index, 0) + 1
            self._stop(victim.pod)
            if not self.workload.submissions[index].gang:
                self._enqueue(victim.pod)
        for index, pods in affected.items():
            if self.workload.submissions[index].gang:
                pods += sum(self._node[pod] >= 0 for pod in self._pods(index))
                for pod in self._pods(index):
                    self._stop(pod)
                self._enqueue_all(index)
            self._evictions[index] += 1
            self.evicted.append(Eviction(self.now, index, by, pods, SCHEDULER))

    def _try_gang(self, first: int) -> bool:
        """All pods of a gang or none; evictions count only if all pods fit then."""
        index = self._owner[first]
        placed: list[int] = []
        evictions: list[tuple[Candidate, list[int]]] = []
        for pod in self._pods(index):
            node = self._simulator.place(self._shape[pod])
            if node is not None:
                self._put(pod, node, is_decided=True)
            else:
                candidate = self._candidate(pod) if self._may_evict(pod) else None
                if candidate is None:
                    break
                for victim in candidate.victims:
                    self._take(victim.pod)
                evictions.append((candidate, [victim.pod for victim in candidate.victims]))
                self._put(pod, candidate.node)
            placed.append(pod)
        is_complete = len(placed) == len(self._pods(index))
        if not is_complete or evictions:
            nodes = {pod: self._take(pod) for pod in placed}
            for candidate, pods in reversed(evictions):
                for pod in pods:
                    self._put(pod, candidate.node, is_back=True)
            if not is_complete:
                return False
            for candidate, _ in evictions:
                self._evict(candidate, by=index)
            for pod, node in nodes.items():
                self._put(pod, node)
        for pod in placed:
            self._begin(pod)
        return True

    # ---- the outcome

    def _timeline(self, end: float, partial: str | None) -> Timeline:
        unseen = {self._order[position] for position in range(self._arrived, len(self._order))}
        states = [self._state(index, unseen) for index in range(len(self.workload.submissions))]
        owners, shapes, nodes = (np.array(column, np.int32) for column in self._log[:3])
        return Timeline(
            workload=self.workload,
            cluster=self.cluster,
            shapes=self.shapes,
            end=end,
            states=np.array(states, np.int8),
            admitted=np.array(self._admitted, np.float64),
            bound=np.array(self._bound, np.float64),
            ended=np.array(self._ended, np.float64),
            evictions=np.array(self._evictions, np.int32),
            log=Log(np.array(self._times), owners, shapes, nodes, np.array(self._log[3], np.int8)),
            evicted=tuple(self.evicted),
            partial=partial,
        )

    def _state(self, index: int, unseen: set[int]) -> State:
        if index in unseen:
            return State.UNSEEN
        if index in self._gone:
            return self._gone[index]
        if self._left[index] == 0:
            return State.ENDED
        return State.WAITING if self._unbound[index] else State.RUNNING


def _pinned_shapes(
    workload: Workload, queues: QueueModel | None
) -> tuple[tuple[PodShape, ...], dict[tuple[int, str], int]]:
    """The workload's shapes and those that admission to a flavor makes of them, by shape and flavor."""
    shapes = list(workload.shapes)
    found: dict[tuple[int, str], int] = {}
    if queues is None:
        return tuple(shapes), found
    by_name = {queue.name: queue for queue in queues.queues}
    pairs = dict.fromkeys((s.queue, shape) for s in workload.submissions if s.queue for shape in s.shapes)
    for name, base in pairs:
        queue = by_name.get(name)
        for flavor, _ in queue.flavors if queue else ():
            if (base, flavor) not in found:
                found[base, flavor] = len(shapes)
                shapes.append(pinned(workload.shapes[base], queues.flavors[flavor]))
    return tuple(shapes), found


def _podsets(
    submission: Submission, shapes: Sequence[PodShape], queues: QueueModel | None, admission: Admission
) -> tuple[tuple[PodSet, ...], list[int]]:
    """The pod sets of a submission (equal pods that follow each other), and the set of each pod."""
    assert queues is not None  # noqa: S101  the caller has queues
    queue: ClusterQueue = queues.queues[admission.index[submission.queue or ""]]
    sets: list[PodSet] = []
    of_pod: list[int] = []
    last = -1
    for shape in submission.shapes:
        if shape != last:
            requests = tuple(sorted(shapes[shape].requests.items()))
            sets.append(PodSet(0, requests, queues.eligible(queue, shapes[shape])))
            last = shape
        sets[-1] = sets[-1]._replace(pods=sets[-1].pods + 1)
        of_pod.append(len(sets) - 1)
    return tuple(sets), of_pod
