"""Whom a queue evicts so that a workload fits: Kueue's preemption without fair sharing.

Sources in Kueue v0.17.0: pkg/scheduler/preemption/preemption.go (classicalPreemptions, fillBackWorkloads),
preemption/classical/{candidate_generator,hierarchical_preemption}.go, preemption/common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from .quota import QuotaTree

if TYPE_CHECKING:
    from .admission import Admission, Claim

#: Reasons as Kueue's Preempted condition states them.
IN_QUEUE = "InClusterQueue"
IN_COHORT = "InCohortReclamation"
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


class Target(NamedTuple):
    """A workload to evict, and why it may be."""

    claim: Claim
    reason: str


class _Variant(Enum):
    """On what terms a candidate may be evicted; the value is the reason given."""

    WITHIN = IN_QUEUE
    HIERARCHY = IN_COHORT
    WITHOUT_BORROWING = f"{IN_COHORT} "
    BORROWING = WHILE_BORROWING


class _Candidate(NamedTuple):
    claim: Claim
    common: int | None
    variant: _Variant


def find_targets(
    queues: Admission, claim: Claim, usage: Mapping[int, int], lacking: frozenset[int]
) -> list[Target]:
    """The workloads to evict so that `usage` fits into the claim's queue; empty if that can't be had.

    `lacking` are the cells whose quota is not free.
    """
    own = queues.source(claim.queue)
    in_hierarchy, by_priority = _from_cohort(queues, claim, usage, lacking)
    same = _from_queue(queues, claim.queue, None, claim, lacking, has_advantage=False)
    candidates = [*_ordered(in_hierarchy), *_ordered(by_priority), *_ordered(same)]
    tree = queues.tree
    is_under = all(tree.usage[claim.queue][cell] < tree.quotas[claim.queue][cell].nominal for cell in lacking)
    from_others = bool(in_hierarchy or by_priority)
    attempts: tuple[bool, ...]
    if not from_others or (not own.borrow_within and not is_under):
        attempts = (True,)
    elif not own.borrow_within and not in_hierarchy:
        attempts = (False, True)
    else:
        attempts = (True, False)
    for may_borrow in attempts:
        targets = _evict_until_fit(queues, claim, usage, lacking, candidates, may_borrow=may_borrow)
        if targets:
            return targets
    return []


def _evict_until_fit(
    queues: Admission,
    claim: Claim,
    usage: Mapping[int, int],
    lacking: frozenset[int],
    candidates: list[_Candidate],
    *,
    may_borrow: bool,
) -> list[Target]:
    tree = queues.tree
    targets: list[Target] = []
    found = False
    for candidate in candidates:
        if not _is_valid(tree, claim, candidate, lacking, may_borrow=may_borrow):
            continue
        _take(tree, candidate.claim)
        targets.append(Target(candidate.claim, candidate.variant.value.strip()))
        if _fits(tree, claim, usage, may_borrow=may_borrow):
            found = True
            break
    if found:
        # the last one is needed; of the others the latest chosen may come back first
        for position in range(len(targets) - 2, -1, -1):
            _give(tree, targets[position].claim)
            if _fits(tree, claim, usage, may_borrow=may_borrow):
                targets[position] = targets[-1]
                targets.pop()
            else:
                _take(tree, targets[position].claim)
    for target in targets:
        _give(tree, target.claim)
    return targets if found else []


def _take(tree: QuotaTree, claim: Claim) -> None:
    for cell, amount in claim.usage.items():
        tree.remove(claim.queue, cell, amount)


def _give(tree: QuotaTree, claim: Claim) -> None:
    for cell, amount in claim.usage.items():
        tree.add(claim.queue, cell, amount)


def _fits(tree: QuotaTree, claim: Claim, usage: Mapping[int, int], *, may_borrow: bool) -> bool:
    for cell, amount in usage.items():
        if not may_borrow and tree.is_borrowing(claim.queue, cell, amount):
            return False
        if amount > tree.available(claim.queue, cell):
            return False
    return True


def _is_valid(
    tree: QuotaTree, claim: Claim, candidate: _Candidate, lacking: frozenset[int], *, may_borrow: bool
) -> bool:
    """Whether the candidate's queue, and its cohorts up to the common one, still use more than their own."""
    if candidate.claim.queue == claim.queue:
        return True
    if may_borrow and candidate.variant is _Variant.WITHOUT_BORROWING:
        return False
    below: Iterator[int] = iter((candidate.claim.queue, *tree.path(candidate.claim.queue)))
    for member in below:
        if member == candidate.common:
            break
        if _is_within(tree, member, lacking):
            return False
    return True


def _is_within(tree: QuotaTree, member: int, lacking: frozenset[int]) -> bool:
    return all(tree.is_within(member, cell) for cell in lacking)


def _ordered(candidates: list[_Candidate]) -> list[_Candidate]:
    """Lower priority first, of equal ones the latest admitted."""
    return sorted(candidates, key=lambda c: (c.claim.priority, -c.claim.admission))


def _from_queue(
    queues: Admission,
    queue: int,
    common: int | None,
    claim: Claim,
    lacking: frozenset[int],
    *,
    has_advantage: bool,
) -> list[_Candidate]:
    found = []
    for candidate in queues.admitted[queue].values():
        variant = _variant(queues, claim, candidate, lacking, has_advantage=has_advantage)
        if variant is not None:
            found.append(_Candidate(candidate, common, variant))
    return found


def _variant(
    queues: Admission, claim: Claim, candidate: Claim, lacking: frozenset[int], *, has_advantage: bool
) -> _Variant | None:
    own = queues.source(claim.queue)
    is_same = candidate.queue == claim.queue
    policy = own.within if is_same else own.reclaim
    if lacking.isdisjoint(candidate.usage) or not _allows(policy, claim, candidate):
        return None
    if is_same:
        return _Variant.WITHIN
    if has_advantage:
        return _Variant.HIERARCHY
    is_lower = candidate.priority < claim.priority
    threshold = own.borrow_threshold
    if own.borrow_within and is_lower and (threshold is None or candidate.priority <= threshold):
        return _Variant.BORROWING
    return _Variant.WITHOUT_BORROWING


def _allows(policy: str, claim: Claim, candidate: Claim) -> bool:
    if policy == "Any":
        return True
    if policy == "Never":
        return False
    if claim.priority > candidate.priority:
        return True
    is_newer = claim.priority == candidate.priority and claim.created < candidate.created
    return policy == "LowerOrNewerEqualPriority" and is_newer


def _from_cohort(
    queues: Admission, claim: Claim, usage: Mapping[int, int], lacking: frozenset[int]
) -> tuple[list[_Candidate], list[_Candidate]]:
    """Candidates of other queues: those that use what is nearer to the claim's queue, and the others."""
    tree = queues.tree
    near: list[_Candidate] = []
    far: list[_Candidate] = []
    if queues.source(claim.queue).reclaim == "Never":
        return near, far
    rest = dict(usage)
    has_advantage = _take_from(tree, claim.queue, rest)
    below: int | None = None
    for root in tree.path(claim.queue):
        found = near if has_advantage else far
        for queue in _beyond_their_own(queues, root, below, claim.queue, lacking):
            found += _from_queue(queues, queue, root, claim, lacking, has_advantage=has_advantage)
        fits = _take_from(tree, root, rest)
        has_advantage = has_advantage or fits
        below = root
    return near, far


def _take_from(tree: QuotaTree, member: int, rest: dict[int, int]) -> bool:
    """Whether a member's own quota has room for `rest`, which is lessened by what it never lends."""
    fits = all(tree.is_within(member, cell, amount) for cell, amount in rest.items())
    for cell, amount in rest.items():
        rest[cell] = max(0, amount - tree.local_available(member, cell))
    return fits


def _beyond_their_own(
    queues: Admission, cohort: int, skipped: int | None, own: int, lacking: frozenset[int]
) -> Iterator[int]:
    """Queues below a cohort that use more than their own quota, in cohorts that do."""
    tree, count = queues.tree, len(queues.admitted)
    children = tree.children[cohort]
    for child in children:
        if child >= count and child != skipped and not _is_within(tree, child, lacking):
            yield from _beyond_their_own(queues, child, None, own, lacking)
    for child in children:
        if child < count and child != own and not _is_within(tree, child, lacking):
            yield child
