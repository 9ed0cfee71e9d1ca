"""Which waiting workload a queue admits next, to which flavors, and whom it evicts for it.

Sources in Kueue v0.17.0: pkg/scheduler/scheduler.go (schedule, nominate, quotaResourcesToReserve, makeClassicalIterator),
pkg/scheduler/flavorassigner/flavorassigner.go, pkg/cache/queue/cluster_queue.go. Cycles follow each other at once,
evictions and admissions take effect at the end of their cycle, and creation times are not cut to whole seconds.

Kueue can go in a circle: a workload evicts another one, and by the order of its queues admits that one again with the
quota that became free. Here a workload takes part in that ROUNDS times at one moment; then the one that evicts it is
admitted before it is back in its queue.

Workloads that ask for the same at the same priority are kept together: where one can't be admitted, the later ones of
its kind can't either until something is released (SchedulingEquivalenceHashing does the same and is off in 0.17, where
each is tried in turn with the same outcome).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from ...errors import BinpackgenError
from .queues import ClusterQueue, QueueModel
from .quota import Quota, QuotaTree
from .reclaim import Target, find_targets

#: Evictions of one workload at one moment after which it comes back to its queue a cycle later.
ROUNDS = 10
#: Evictions of one workload at one moment after which queues are taken to evict each other for ever.
MOST_EVICTIONS = 100


class PodSet(NamedTuple):
    """`pods` equal pods of a workload, what each asks for by resource, and which flavors of the queue they can get."""

    pods: int
    requests: tuple[tuple[str, int], ...]
    eligible: tuple[int, ...]


@dataclass(eq=False)
class Claim:
    """A workload in a queue. `created` and then `order` settle who is first among equal priorities.

    While it is admitted `flavors` has the flavor of each pod set, `usage` its amounts by cell, and `admission` counts
    admissions, later ones higher. `tried` are the last flavors that were tried, -1 after a whole round.
    """

    submission: int
    queue: int
    priority: int
    created: float
    order: int
    podsets: tuple[PodSet, ...]
    flavors: tuple[int, ...] = ()
    usage: dict[int, int] = field(default_factory=dict)
    admission: int = 0
    tried: tuple[int, ...] = ()
    evictions: int = 0
    evicted_at: float = -1.0
    waits: bool = True

    @property
    def rank(self) -> tuple[int, float, int]:
        """Lower comes first."""
        return -self.priority, self.created, self.order


class Mode(IntEnum):
    """How a flavor can be had, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


class Assignment(NamedTuple):
    """Flavors by pod set with the worst mode, how far borrowing reaches, and the cells whose quota is not free."""

    mode: Mode
    borrowing: int = 0
    flavors: tuple[int, ...] = ()
    usage: Mapping[int, int] = MappingProxyType({})
    lacking: frozenset[int] = frozenset()
    tried: tuple[int, ...] = ()


class Admitted(NamedTuple):
    """Pods of the submission may start, with the flavor of each pod set as a name."""

    submission: int
    flavors: tuple[str, ...]


class Evicted(NamedTuple):
    """The submission's pods are to be deleted; it waits in its queue again."""

    submission: int
    by: int
    reason: str


class _Kind:
    """Waiting workloads that are equal but for their age.

    `is_spent` says that the first one has tried all since something was released, `tried` what it has tried.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[tuple[int, float, int], Claim]] = []
        self.is_spent = False
        self.tried: set[tuple[int, ...]] = set()

    def wake(self) -> None:
        """Something was released."""
        self.is_spent = False
        self.tried.clear()

    def head(self) -> Claim | None:
        """The first one that still waits."""
        while self.heap and not self.heap[0][1].waits:
            heapq.heappop(self.heap)
        return self.heap[0][1] if self.heap else None


class _Queue:
    """The waiting workloads of one cluster queue, by kind."""

    def __init__(self, source: ClusterQueue) -> None:
        self.source = source
        self.kinds: dict[object, _Kind] = {}
        self.sticky: Claim | None = None
        self.covered = tuple(dict.fromkeys(r for _, quotas in source.flavors for r in quotas))

    def push(self, claim: Claim) -> _Kind:
        kind = self.kinds.setdefault((claim.podsets, claim.priority), _Kind())
        claim.waits = True
        heapq.heappush(kind.heap, (claim.rank, claim))
        return kind

    def forget(self, claim: Claim) -> None:
        if self.sticky is claim:
            self.sticky = None

    def head(self) -> tuple[Claim, _Kind] | None:
        """The first workload; the one that others are evicted for comes before all."""
        best: tuple[Claim, _Kind] | None = None
        for kind in self.kinds.values():
            # a strict queue does not pass over its first workload
            if kind.is_spent and not self.source.is_strict:
                continue
            claim = kind.head()
            if claim is None:
                continue
            if claim is self.sticky:
                return claim, kind
            if best is None or claim.rank < best[0].rank:
                best = claim, kind
        return best


class Admission:
    """The queues over time. Submissions are indexes; podsets are as `QueueModel.eligible` sees their shapes."""

    def __init__(self, model: QueueModel) -> None:
        self.model = model
        names = [queue.name for queue in model.queues]
        self.index = {name: index for index, name in enumerate(names)}
        self._queues = [_Queue(queue) for queue in model.queues]
        cells: dict[tuple[str, str], int] = {}
        own: list[dict[int, Quota]] = [
            {
                cells.setdefault((flavor, resource), len(cells)): quota
                for flavor, quotas in queue.flavors
                for resource, quota in quotas.items()
            }
            for queue in model.queues
        ]
        parents: list[int | None] = [None] * len(names)
        cohorts: dict[str, int] = {}
        stated = {cohort.name: cohort for cohort in model.cohorts}

        def member(name: str) -> int:
            if name not in cohorts:
                cohorts[name] = len(parents)
                parents.append(None)
                cohort = stated.get(name)
                quotas = cohort.quotas if cohort else {}
                own.append({cells.setdefault(key, len(cells)): quota for key, quota in quotas.items()})
                if cohort and cohort.parent:
                    parents[cohorts[name]] = member(cohort.parent)
            return cohorts[name]

        for index, queue in enumerate(model.queues):
            if queue.cohort:
                parents[index] = member(queue.cohort)
        _refuse_circles(parents)
        self.cells = cells
        self.tree = QuotaTree(parents, own, len(cells))
        #: Admitted workloads of each queue.
        self.admitted: list[dict[int, Claim]] = [{} for _ in names]
        self._claims: dict[int, Claim] = {}
        self._roots = [(self.tree.path(index) or (index,))[-1] for index in range(len(names))]
        self._admissions = 0
        self._orders = 0
        #: Evicted in the last cycle and not back in their queue yet.
        self._returning: list[Claim] = []

    def submit(
        self, submission: int, queue: str, priority: int, time: float, podsets: tuple[PodSet, ...]
    ) -> None:
        """A workload comes to a queue."""
        self._orders += 1
        claim = Claim(submission, self.index[queue], priority, time, self._orders, podsets)
        self._claims[submission] = claim
        self._queues[claim.queue].push(claim)

    def withdraw(self, submission: int) -> None:
        """A waiting or admitted workload goes away, or an admitted one has finished."""
        claim = self._claims.pop(submission)
        claim.waits = False
        self._queues[claim.queue].forget(claim)
        if claim.submission in self.admitted[claim.queue]:
            self._release(claim)

    def shrink(self, submission: int, podset: int, pods: int = 1) -> None:
        """Some pods of an admitted workload have finished; their quota is free (ReclaimablePods)."""
        claim = self._claims[submission]
        queue = self._queues[claim.queue]
        own = claim.podsets[podset]
        flavor = queue.source.flavors[claim.flavors[podset]][0]
        for resource, amount in (*own.requests, ("pods", 1)):
            cell = self.cells.get((flavor, resource))
            if cell in claim.usage:
                claim.usage[cell] -= amount * pods
                self.tree.remove(claim.queue, cell, amount * pods)
        podsets = list(claim.podsets)
        podsets[podset] = own._replace(pods=own.pods - pods)
        claim.podsets = tuple(podsets)
        self._wake(claim.queue)

    def waiting(self) -> Iterator[int]:
        """Submissions that wait in a queue."""
        return (claim.submission for claim in self._claims.values() if claim.waits)

    def settle(self, time: float) -> Iterator[Admitted | Evicted]:
        """Run cycles until nothing moves any more; what they decide, in order."""
        moved = True
        while moved:
            decisions, moved = self._cycle(time)
            yield from decisions

    def _release(self, claim: Claim) -> None:
        for cell, amount in claim.usage.items():
            self.tree.remove(claim.queue, cell, amount)
        claim.usage = {}
        del self.admitted[claim.queue][claim.submission]
        self._wake(claim.queue)

    def _wake(self, queue: int) -> None:
        """Something was released: what waits in the whole cohort tree may be tried again."""
        root = self._roots[queue]
        for index, other in enumerate(self._queues):
            if self._roots[index] == root:
                for kind in other.kinds.values():
                    kind.wake()

    def _cycle(self, time: float) -> tuple[list[Admitted | Evicted], bool]:
        entries: list[tuple[Claim, _Kind, Assignment, list[Target]]] = []
        moved = False
        for queue in self._queues:
            head = queue.head()
            if head is None:
                continue
            claim, kind = head
            assignment = self._assign(claim)
            targets: list[Target] = []
            if Mode.NO_FIT < assignment.mode < Mode.FIT:
                targets = find_targets(self, claim, assignment.usage, assignment.lacking)
            claim.tried = assignment.tried
            entries.append((claim, kind, assignment, targets))
        entries.sort(key=lambda e: (e[2].borrowing, -e[0].priority, e[0].created))
        decisions: list[Admitted | Evicted] = []
        #: Usage that counts in this cycle only: of workloads that wait for evictions or for room.
        assumed: list[tuple[int, Mapping[int, int]]] = []
        victims: dict[int, tuple[Claim, Claim, str]] = {}
        for claim, kind, assignment, targets in entries:
            queue = self._queues[claim.queue]
            requeued = False
            if assignment.mode == Mode.NO_FIT:
                pass
            elif assignment.mode < Mode.FIT and not targets:
                if queue.source.reclaim != "Any":
                    assumed.append((claim.queue, self._reserve(claim, assignment)))
                    self._count(*assumed[-1])
            elif any(target.claim.submission in victims for target in targets) or not self._fits(
                claim,
                assignment,
                [*(victim for victim, _, _ in victims.values()), *(t.claim for t in targets)],
            ):
                # skipped: another entry of this cycle was faster
                requeued = True
            elif assignment.mode < Mode.FIT:
                for target in targets:
                    victims[target.claim.submission] = (target.claim, claim, target.reason)
                assumed.append((claim.queue, assignment.usage))
                self._count(*assumed[-1])
                claim.tried = ()
                requeued = moved = True
                if not queue.source.is_strict:
                    queue.sticky = claim
            else:
                heapq.heappop(kind.heap)
                kind.tried.clear()
                self._admit(claim, assignment)
                names = [name for name, _ in queue.source.flavors]
                decisions.append(Admitted(claim.submission, tuple(names[f] for f in assignment.flavors)))
                moved = True
                continue
            if any(index != -1 for index in claim.tried) and claim.tried not in kind.tried:
                # there are flavors left to try; Kueue would go round for ever
                kind.tried.add(claim.tried)
                requeued = moved = True
            if not requeued and not kind.is_spent:
                kind.is_spent = moved = True
        for queue_index, usage in assumed:
            for cell, amount in usage.items():
                self.tree.remove(queue_index, cell, amount)
        for claim in self._returning:
            self._queues[claim.queue].push(claim)
        moved = moved or bool(self._returning)
        self._returning = []
        for victim, by, reason in victims.values():
            self._evict(victim, time)
            decisions.append(Evicted(victim.submission, by.submission, reason))
        return decisions, moved

    def _admit(self, claim: Claim, assignment: Assignment) -> None:
        self._admissions += 1
        claim.waits = False
        claim.tried = ()
        claim.admission = self._admissions
        claim.flavors = assignment.flavors
        claim.usage = dict(assignment.usage)
        self._queues[claim.queue].forget(claim)
        self._count(claim.queue, claim.usage)
        self.admitted[claim.queue][claim.submission] = claim

    def _evict(self, claim: Claim, time: float) -> None:
        claim.evictions = claim.evictions + 1 if claim.evicted_at == time else 1
        claim.evicted_at = time
        if claim.evictions > MOST_EVICTIONS:
            name = self._queues[claim.queue].source.name
            raise BinpackgenError(f"queue {name} and others evict each other's workloads without end")
        self._release(claim)
        claim.flavors = ()
        if claim.evictions <= ROUNDS:
            self._queues[claim.queue].push(claim)
        else:
            self._returning.append(claim)

    def _count(self, queue: int, usage: Mapping[int, int]) -> None:
        for cell, amount in usage.items():
            self.tree.add(queue, cell, amount)

    def _fits(self, claim: Claim, assignment: Assignment, gone: Sequence[Claim]) -> bool:
        for victim in gone:
            for cell, amount in victim.usage.items():
                self.tree.remove(victim.queue, cell, amount)
        fits = all(
            self.tree.available(claim.queue, cell) >= amount for cell, amount in assignment.usage.items()
        )
        for victim in gone:
            self._count(victim.queue, victim.usage)
        return fits

    def _reserve(self, claim: Claim, assignment: Assignment) -> dict[int, int]:
        """What a workload without candidates keeps from others in this cycle."""
        reserved = {}
        for cell, amount in assignment.usage.items():
            quota, used = self.tree.quotas[claim.queue][cell], self.tree.usage[claim.queue][cell]
            if assignment.borrowing == 0:
                reserved[cell] = max(0, min(amount, quota.nominal - used))
            elif quota.borrowing is None:
                reserved[cell] = amount
            else:
                reserved[cell] = min(amount, quota.nominal + quota.borrowing - used)
        return reserved

    def _assign(self, claim: Claim) -> Assignment:
        """The first flavor that will do for each pod set, or the best."""
        usage: dict[int, int] = {}
        flavors: list[int] = []
        lacking: set[int] = set()
        tried: list[int] = []
        mode, borrowing = Mode.FIT, 0
        for position, podset in enumerate(claim.podsets):
            found = self._flavor(claim, position, podset, usage)
            if found is None:
                tried.append(-1)
                return Assignment(Mode.NO_FIT, borrowing, tried=tuple(tried))
            flavors.append(found.flavor)
            borrowing = max(borrowing, *found.borrows, 0)
            tried.append(found.tried)
            mode = min(mode, *found.modes, Mode.FIT)
            for (cell, amount), one in zip(found.amounts.items(), found.modes, strict=True):
                usage[cell] = usage.get(cell, 0) + amount
                if one < Mode.FIT:
                    lacking.add(cell)
        return Assignment(
            mode,
            borrowing,
            tuple(flavors),
            {cell: amount for cell, amount in usage.items() if amount},
            frozenset(lacking),
            tuple(tried),
        )

    def _flavor(self, claim: Claim, position: int, podset: PodSet, usage: dict[int, int]) -> _Choice | None:
        queue = self._queues[claim.queue]
        source = queue.source
        requests = dict(podset.requests)
        if "pods" in queue.covered:
            requests["pods"] = 1
        if any(amount and resource not in queue.covered for resource, amount in requests.items()):
            return None
        wanted = {r: amount * podset.pods for r, amount in requests.items() if r in queue.covered}
        start = claim.tried[position] + 1 if position < len(claim.tried) else 0
        best: _Choice | None = None
        attempted = -1
        for index in range(start, len(source.flavors)):
            attempted = index
            if index not in podset.eligible:
                continue
            choice = self._try(claim, index, wanted, usage)
            if choice is None:
                continue
            if not _tries_next(choice, source):
                best = choice
                break
            if best is None or _is_preferred(choice.worst, best.worst, source):
                best = choice
        if best is None:
            return None
        return best._replace(tried=-1 if attempted == len(source.flavors) - 1 else attempted)

    def _try(
        self, claim: Claim, flavor: int, wanted: dict[str, int], usage: dict[int, int]
    ) -> _Choice | None:
        """What the flavor would mean; None if it can never hold the pods."""
        source = self._queues[claim.queue].source
        name = source.flavors[flavor][0]
        amounts: dict[int, int] = {}
        modes: list[Mode] = []
        borrows: list[int] = []
        worst = (Mode.FIT, 0)
        for resource, amount in wanted.items():
            cell = self.cells[name, resource]
            mode, borrow = self._quota_mode(claim, cell, usage.get(cell, 0) + amount)
            if _is_preferred(worst, (mode, borrow), source):
                worst = (mode, borrow)
            if mode == Mode.NO_FIT:
                return None
            amounts[cell] = amount
            modes.append(mode)
            borrows.append(borrow)
        return _Choice(flavor, amounts, tuple(modes), tuple(borrows), worst, -1)

    def _quota_mode(self, claim: Claim, cell: int, amount: int) -> tuple[Mode, int]:
        tree, queue = self.tree, claim.queue
        if amount > tree.potential(queue, cell):
            return Mode.NO_FIT, 0
        borrow, may_reclaim = tree.level(queue, cell, amount)
        if amount <= tree.available(queue, cell):
            return Mode.FIT, borrow
        source = self._queues[queue].source
        if amount > tree.quotas[queue][cell].nominal and not may_reclaim and not source.borrow_within:
            return Mode.NO_FIT, borrow
        return self._preemption_mode(claim, cell, amount)

    def _preemption_mode(self, claim: Claim, cell: int, amount: int) -> tuple[Mode, int]:
        """Whether evictions could free one cell, and how far borrowing reaches then. SimulatePreemption."""
        tree, queue = self.tree, claim.queue
        targets = find_targets(self, claim, {cell: amount}, frozenset({cell}))
        if not targets:
            return Mode.NO_CANDIDATES, tree.level(queue, cell, amount)[0]
        for target in targets:
            self.tree.remove(target.claim.queue, cell, target.claim.usage.get(cell, 0))
        after, _ = tree.level(queue, cell, amount)
        for target in targets:
            self.tree.add(target.claim.queue, cell, target.claim.usage.get(cell, 0))
        own = any(target.claim.queue == queue for target in targets)
        return Mode.PREEMPT if own else Mode.RECLAIM, after

    def source(self, queue: int) -> ClusterQueue:
        """The queue with this index."""
        return self._queues[queue].source


class _Choice(NamedTuple):
    """One flavor for a pod set: amounts, modes and borrowing by cell, and the worst of them."""

    flavor: int
    amounts: dict[int, int]
    modes: tuple[Mode, ...]
    borrows: tuple[int, ...]
    worst: tuple[Mode, int]
    tried: int


def _is_preferred(one: tuple[Mode, int], other: tuple[Mode, int], queue: ClusterQueue) -> bool:
    """Whether mode and borrowing `one` are better."""
    if one[0] == Mode.NO_FIT or other[0] == Mode.NO_FIT:
        return one[0] != Mode.NO_FIT
    if queue.prefers_preemption:
        return (-one[1], one[0]) > (-other[1], other[0])
    return (one[0], -one[1]) > (other[0], -other[1])


def _tries_next(choice: _Choice, queue: ClusterQueue) -> bool:
    mode, borrow = choice.worst
    if mode <= Mode.NO_CANDIDATES:
        return True
    if mode < Mode.FIT and queue.next_when_preempting:
        return True
    return borrow > 0 and queue.next_when_borrowing


def _refuse_circles(parents: Sequence[int | None]) -> None:
    for member in range(len(parents)):
        seen = {member}
        parent = parents[member]
        while parent is not None:
            if parent in seen:
                raise BinpackgenError("cohorts are their own ancestors, which stops all their queues")
            seen.add(parent)
            parent = parents[parent]
