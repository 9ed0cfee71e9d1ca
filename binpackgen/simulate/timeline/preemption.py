"""Whom kube-scheduler evicts so that a pod fits: DefaultPreemption.

Sources in kubernetes v1.37.2: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
(SelectVictimsOnNode, calculateNumCandidates), framework/preemption/preemption.go (DryRunPreemption,
pickOneNodeForPreemption). The dry run looks at one node after the other, as with `parallelism: 1`; of candidates that
are equal to the end the first is taken, where upstream's choice is arbitrary. The arguments are the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ...scheduler.plugins import NEWEST_MINOR

#: DefaultPreemptionArgs: minCandidateNodesPercentage and minCandidateNodesAbsolute.
LEAST_PERCENTAGE = 10
FEWEST_CANDIDATES = 100

#: First minor that looks no further once an eviction breaks a budget; before, the other budgets count it as well.
ENDS_AT_BROKEN_SINCE = 37

#: Added to every priority so that sums count pods of negative priority as well.
_LIFT = 2**31


class Victim(NamedTuple):
    """A pod that could go: higher priority and earlier start are more important. `budgets` are indexes."""

    pod: int
    priority: int
    since: float
    budgets: tuple[int, ...] = ()


class Candidate(NamedTuple):
    """A node, the pods that have to go there, most important first, and how many budgets that breaks."""

    node: int
    victims: tuple[Victim, ...]
    violations: int

    @property
    def badness(self) -> tuple[int, int, int, int, float]:
        """The node of the smallest is taken."""
        top = self.victims[0].priority
        earliest = min(victim.since for victim in self.victims if victim.priority == top)
        return (
            self.violations,
            top,
            sum(victim.priority + _LIFT for victim in self.victims),
            len(self.victims),
            -earliest,
        )


def candidates_to_find(nodes: int) -> int:
    """After how many candidates the dry run over `nodes` nodes ends."""
    return min(max(nodes * LEAST_PERCENTAGE // 100, FEWEST_CANDIDATES), nodes)


def victims_on(
    lower: Iterable[Victim],
    allowed: Sequence[int],
    remove: Callable[[int], object],
    put_back: Callable[[int], object],
    fits: Callable[[], bool],
    minor: int = NEWEST_MINOR,
) -> tuple[tuple[Victim, ...], int] | None:
    """The pods of lower priority that have to go from one node, and how many budgets that breaks; None if that fails.

    `remove` and `put_back` take a pod off the node and return it, `fits` says whether the preemptor fits; the node
    is left as it was. `allowed` is how many evictions each budget allows.
    """
    potential = sorted(lower, key=_importance)
    if not potential:
        return None
    for victim in potential:
        remove(victim.pod)
    gone = dict.fromkeys(potential)
    chosen: list[Victim] = []
    violations = 0
    found = fits()
    if found:
        violating, others = _by_budget(potential, allowed, minor)
        for victims, breaks in ((violating, 1), (others, 0)):
            for victim in victims:
                put_back(victim.pod)
                if fits():
                    del gone[victim]
                else:
                    remove(victim.pod)
                    chosen.append(victim)
                    violations += breaks
    for victim in gone:
        put_back(victim.pod)
    return (tuple(sorted(chosen, key=_importance)), violations) if found else None


def choose(
    nodes: Sequence[int], offset: int, evaluate: Callable[[int], tuple[tuple[Victim, ...], int] | None]
) -> Candidate | None:
    """The node to preempt on among those that a pod could use at all, in the scheduler's order from `offset` on."""
    wanted = candidates_to_find(len(nodes))
    clean: list[Candidate] = []
    violating: list[Candidate] = []
    for step in range(len(nodes)):
        node = nodes[(offset + step) % len(nodes)]
        result = evaluate(node)
        if result is None or not result[0]:
            continue
        candidate = Candidate(node, *result)
        (violating if candidate.violations else clean).append(candidate)
        if clean and len(clean) + len(violating) >= wanted:
            break
    return min((*clean, *violating), key=lambda candidate: candidate.badness, default=None)


def _importance(victim: Victim) -> tuple[int, float, int]:
    # upstream leaves the order of pods that started at the same time open
    return -victim.priority, victim.since, victim.pod


def _by_budget(
    victims: Sequence[Victim], allowed: Sequence[int], minor: int
) -> tuple[list[Victim], list[Victim]]:
    """Victims whose eviction would break a budget, and the others.

    Source: FilterVictimsWithPDBViolation in v1.37.2, filterPodsWithPDBViolation in v1.34.4 and v1.36.3.
    """
    left = list(allowed)
    violating: list[Victim] = []
    others: list[Victim] = []
    for victim in victims:
        breaks = False
        for budget in victim.budgets:
            left[budget] -= 1
            if left[budget] < 0:
                breaks = True
                if minor >= ENDS_AT_BROKEN_SINCE:
                    break
        (violating if breaks else others).append(victim)
    return violating, others
