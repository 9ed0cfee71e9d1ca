"""Whom the scheduler evicts: the order of framework/preemption, step by step, then whole courses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binpackgen.simulate.matching import equals
from binpackgen.simulate.model import HOSTNAME, ClusterState, PodShape, PodTerm, UnmodeledError
from binpackgen.simulate.timeline.budgets import DisruptionBudget, read_budgets
from binpackgen.simulate.timeline.preemption import Candidate, Victim, candidates_to_find, choose, victims_on
from binpackgen.simulate.timeline.result import Eviction
from binpackgen.simulate.timeline.run import run
from binpackgen.simulate.workload.model import Submission
from tests.unit.simulate.timeline.clusters import (
    PACK,
    assert_lawful,
    nodes_of,
    random_workload,
    shape_of,
    states,
    submit,
    times,
    workload_of,
)


def evicted_on(
    size: int, wanted: int, pods: dict[int, tuple[int, Victim]], allowed: tuple[int, ...] = ()
) -> tuple[list[int], int] | None:
    """The pods that go, and violations, on a node of `size` where pod p takes pods[p][0]; all are of lower priority."""
    free = [size - sum(amount for amount, _ in pods.values())]

    def move(pod: int, sign: int) -> None:
        free[0] += sign * pods[pod][0]

    found = victims_on(
        [victim for _, victim in pods.values()],
        allowed,
        lambda pod: move(pod, 1),
        lambda pod: move(pod, -1),
        lambda: wanted <= free[0],
    )
    assert free == [size - sum(amount for amount, _ in pods.values())]
    return None if found is None else ([victim.pod for victim in found[0]], found[1])


def test_as_many_as_possible_stay_the_most_important_first() -> None:
    """8 of 8 taken by 4 + 2 + 2, 2 wanted: the most important one is put back first and stays, the next as well."""
    pods = {1: (4, Victim(1, 5, 0.0)), 2: (2, Victim(2, 3, 0.0)), 3: (2, Victim(3, 1, 0.0))}

    assert ([3], 0) == evicted_on(8, 2, pods)
    assert ([2, 3], 0) == evicted_on(8, 4, pods)
    # 6: the first one would leave 4, so it goes, and of the others both must go too or one may stay
    assert ([1, 3], 0) == evicted_on(8, 6, pods)
    assert ([1, 2, 3], 0) == evicted_on(8, 8, pods)


def test_of_equal_priority_the_earlier_start_is_more_important() -> None:
    """The pod that has run longest stays."""
    pods = {1: (4, Victim(1, 0, 7.0)), 2: (4, Victim(2, 0, 3.0))}

    assert ([1], 0) == evicted_on(8, 4, pods)


def test_a_node_where_all_of_lower_priority_do_not_suffice_is_none() -> None:
    """Nobody goes where it would not help."""
    assert evicted_on(8, 9, {1: (8, Victim(1, 0, 0.0))}) is None
    assert evicted_on(8, 8, {}) is None


def test_pods_whose_budget_would_break_are_put_back_first() -> None:
    """The unimportant pod is protected by a budget that allows nothing, so the important one goes instead."""
    pods = {1: (4, Victim(1, 5, 0.0)), 2: (4, Victim(2, 1, 0.0, budgets=(0,)))}

    assert ([2], 0) == evicted_on(8, 4, pods, allowed=(1,))
    assert ([1], 0) == evicted_on(8, 4, pods, allowed=(0,))
    # both have to go: one violation
    assert ([1, 2], 1) == evicted_on(8, 8, pods, allowed=(0,))


def test_a_budget_is_used_up_by_the_most_important_pods() -> None:
    """Of three pods of a budget that allows one, the first in importance does not violate it, the others do."""
    pods = {n: (2, Victim(n, 9 - n, 0.0, budgets=(0,))) for n in (1, 2, 3)}

    # 2 and 3 violate and are put back first: they stay, and 1 goes
    assert ([1], 0) == evicted_on(6, 2, pods, allowed=(1,))
    assert ([1, 2, 3], 2) == evicted_on(6, 6, pods, allowed=(1,))


def node_chosen(*candidates: Candidate) -> int:
    by_node = {candidate.node: (candidate.victims, candidate.violations) for candidate in candidates}
    found = choose(sorted(by_node), 0, by_node.__getitem__)
    assert found is not None
    return found.node


def test_the_steps_of_the_choice_between_nodes() -> None:
    """Each step decides where all before it are equal: violations, the highest priority, the sum, the number, the start."""
    low, high = Victim(1, 1, 5.0), Victim(2, 9, 5.0)
    late, early = Victim(3, 9, 6.0), Victim(4, 9, 4.0)

    assert 1 == node_chosen(Candidate(0, (low,), 1), Candidate(1, (high, low), 0))
    assert 1 == node_chosen(Candidate(0, (high,), 0), Candidate(1, (low, low, low), 0))
    assert 1 == node_chosen(Candidate(0, (high, high), 0), Candidate(1, (high, low), 0))
    # every priority is lifted by 2^31, so that fewer pods have the smaller sum
    assert 1 == node_chosen(
        Candidate(0, (Victim(1, 0, 5.0), Victim(2, -5, 5.0)), 0), Candidate(1, (Victim(3, 0, 5.0),), 0)
    )
    assert 1 == node_chosen(Candidate(0, (early,), 0), Candidate(1, (late,), 0))
    assert 1 == node_chosen(Candidate(0, (late, early), 0), Candidate(1, (high, late), 0))
    # equal to the end: the first
    assert 0 == node_chosen(Candidate(0, (high,), 0), Candidate(1, (high,), 0))


def test_the_number_of_victims_decides_where_sums_are_equal() -> None:
    """Two pods can weigh what three do, at negative priorities: -2^31 counts 0."""
    lowest = -(2**31)
    three = tuple(Victim(n, p, 5.0) for n, p in enumerate((0, lowest, lowest)))
    two = tuple(Victim(n, p, 5.0) for n, p in enumerate((0, lowest)))

    assert 1 == node_chosen(Candidate(0, three, 0), Candidate(1, two, 0))


def test_the_dry_run_ends_after_a_tenth_of_the_nodes_or_a_hundred() -> None:
    """GetOffsetAndNumCandidates with the default arguments."""
    assert [5, 100, 100, 121] == [candidates_to_find(nodes) for nodes in (5, 100, 1000, 1213)]


def test_the_dry_run_goes_on_until_a_node_breaks_no_budget() -> None:
    """A hundred candidates that all break one are not enough."""
    seen: list[int] = []

    def evaluate(node: int) -> tuple[tuple[Victim, ...], int]:
        seen.append(node)
        return (Victim(node, 0, 0.0),), 0 if node == 150 else 1

    found = choose(list(range(200)), 0, evaluate)

    assert found is not None
    assert (150, 151) == (found.node, len(seen))


def test_the_dry_run_begins_at_its_offset() -> None:
    """The nodes from the offset on come first, and the search wraps around."""
    seen: list[int] = []
    choose([3, 5, 7], 2, lambda node: seen.append(node))

    assert [7, 3, 5] == seen


def test_a_tier_evicts_a_lower_one() -> None:
    """The victim is replaced by a pod that starts from the beginning when there is room again."""
    jobs = [submit("low", 0, 0.0, 10.0), submit("high", 0, 4.0, 10.0, priority=1)]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK)

    assert {"low": 24.0, "high": 14.0} == times(timeline, "ended")
    assert {"low": 0.0, "high": 4.0} == times(timeline, "bound")
    assert [1, 0] == timeline.evictions.tolist()
    assert (Eviction(4.0, 0, 1, 1, "scheduler"),) == timeline.evicted


@pytest.mark.parametrize("change", ["never", "equal", "off"])
def test_who_may_not_evict_waits(change: str) -> None:
    """preemptionPolicy Never, an equal priority, and a scheduler without DefaultPreemption."""
    rest = {"priority": 0 if change == "equal" else 1, "preempts": change != "never"}
    jobs = [submit("low", 0, 0.0, 10.0), submit("high", 0, 4.0, 10.0, **rest)]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK, preemption=change != "off")

    assert {"low": 10.0, "high": 20.0} == times(timeline, "ended")
    assert () == timeline.evicted


def test_an_evicted_pod_goes_to_another_node_at_once() -> None:
    """Its replacement is a new pod in the queue: it runs where there is room."""
    jobs = [
        submit("small", 1, 0.0, 10.0),
        submit("low", 0, 0.0, 10.0),
        submit("wide", 2, 4.0, 10.0, priority=1),
    ]
    # the wide pod wants the 8 cores of one node: low (4) runs there, and the small one (2) on either
    timeline = run(workload_of([shape_of(4), shape_of(2), shape_of(8)], jobs), nodes_of(2), PACK)

    assert {"small": "ENDED", "low": "ENDED", "wide": "ENDED"} == states(timeline)
    assert 4.0 == times(timeline, "bound")["wide"]
    assert 0 == timeline.evictions.sum()


def test_a_loss_system_loses_who_is_evicted() -> None:
    """There is no room for the replacement, and nobody waits."""
    jobs = [submit("low", 0, 0.0, 10.0), submit("high", 0, 4.0, 10.0, priority=1)]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK, retry="loss")

    assert {"low": "LOST", "high": "ENDED"} == states(timeline)


def test_a_gang_that_loses_a_pod_starts_again_as_a_whole() -> None:
    """The pod on the other node goes as well: its work is of no use alone."""
    jobs = [
        Submission("gang", "gang", (0, 0), 0.0, 10.0, gang=True),
        submit("high", 0, 4.0, 10.0, priority=1),
    ]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(2), PACK)

    assert {"gang": 24.0, "high": 14.0} == times(timeline, "ended")
    assert (Eviction(4.0, 0, 1, 2, "scheduler"),) == timeline.evicted


def test_an_ideal_gang_scheduler_evicts_only_where_the_whole_gang_fits_then() -> None:
    """Two nodes, one held by an equal: the stock scheduler evicts for half a gang, the ideal one does not."""
    jobs = [
        submit("equal", 0, 0.0, 100.0, priority=1),
        submit("low", 0, 0.0, 100.0),
        Submission("gang", "gang", (0, 0), 4.0, 10.0, gang=True, priority=1),
    ]

    stock = run(workload_of([shape_of(8)], jobs), nodes_of(2), PACK, until=50.0)
    ideal = run(workload_of([shape_of(8)], jobs), nodes_of(2), PACK, until=50.0, gangs="all-or-nothing")

    assert {"equal": "RUNNING", "low": "WAITING", "gang": "WAITING"} == states(stock)
    assert {"equal": "RUNNING", "low": "RUNNING", "gang": "WAITING"} == states(ideal)
    both_low = [jobs[0]._replace(priority=0), *jobs[1:]]
    ideal = run(workload_of([shape_of(8)], both_low), nodes_of(2), PACK, until=50.0, gangs="all-or-nothing")
    assert 14.0 == times(ideal, "ended")["gang"]
    assert [1, 1, 0] == ideal.evictions.tolist()


def test_a_higher_tier_that_may_not_evict_overtakes_the_preemptor() -> None:
    """The room that a victim leaves belongs to nobody of lower priority than those who wait."""
    jobs = [
        submit("low", 0, 0.0, 100.0),
        submit("patient", 0, 1.0, 10.0, priority=9, preempts=False),
        submit("preemptor", 0, 2.0, 10.0, priority=5),
    ]

    timeline = run(workload_of([shape_of(8)], jobs), nodes_of(1), PACK, until=30.0)

    assert {"low": 0.0, "patient": 2.0, "preemptor": 12.0} == times(timeline, "bound")


def test_pods_that_belong_to_no_submission_are_no_victims() -> None:
    """What was there before stays, at whatever priority."""
    state = ClusterState(nodes_of(1))
    state.bind(shape_of(8), 0)
    jobs = [submit("low", 1, 0.0), submit("high", 0, 1.0, priority=1)]

    timeline = run(workload_of([shape_of(8), shape_of(0)], jobs), state, PACK)

    assert {"low": "RUNNING", "high": "WAITING"} == states(timeline)
    assert () == timeline.evicted


def budget(minimum: int, app: str = "kept") -> DisruptionBudget:
    return DisruptionBudget("pdb", minimum, equals({"app": app}))


def test_a_budget_turns_the_choice_to_another_node() -> None:
    """Two nodes with one pod of lower priority each: the unprotected one goes, though it is more important."""
    kept, other = (
        shape_of(8, name="kept", labels={"app": "kept"}),
        shape_of(8, name="other", labels={"app": "x"}),
    )
    jobs = [
        submit("kept", 0, 0.0, 100.0),
        submit("other", 1, 0.0, 100.0, priority=1, preempts=False),
        submit("high", 1, 4.0, 10.0, priority=2),
    ]
    workload = workload_of([kept, other], jobs)

    free = run(workload, nodes_of(2), PACK, until=5.0)
    bound = run(workload, nodes_of(2), PACK, until=5.0, budgets=[budget(1)])

    assert [0] == [eviction.victim for eviction in free.evicted]
    assert [1] == [eviction.victim for eviction in bound.evicted]


def test_a_budget_is_no_guarantee() -> None:
    """Where every candidate breaks one, the pod goes all the same."""
    kept = shape_of(8, labels={"app": "kept"})
    jobs = [submit("kept", 0, 0.0, 100.0), submit("high", 0, 4.0, 10.0, priority=2)]

    timeline = run(workload_of([kept], jobs), nodes_of(1), PACK, until=5.0, budgets=[budget(1)])

    assert [0] == [eviction.victim for eviction in timeline.evicted]


def test_a_budget_allows_what_runs_beyond_its_minimum() -> None:
    """Three run and two must: the first eviction breaks nothing, the second one would."""
    kept, other = shape_of(8, name="kept", labels={"app": "kept"}), shape_of(8, name="other")
    jobs = [
        *(submit(f"kept-{n}", 0, 0.0, 100.0) for n in range(3)),
        submit("other", 1, 0.0, 100.0, priority=1, preempts=False),
        submit("first", 1, 4.0, 10.0, priority=2),
        submit("second", 1, 5.0, 10.0, priority=2),
    ]

    timeline = run(workload_of([kept, other], jobs), nodes_of(4), PACK, until=6.0, budgets=[budget(2)])

    assert [True, False] == [eviction.victim < 3 for eviction in timeline.evicted]


def test_budgets_without_numbers_for_jobs_are_refused() -> None:
    """maxUnavailable and shares need a scale subresource, which Jobs do not have."""
    objects = [
        {"kind": "PodDisruptionBudget", "metadata": {"name": "share"}, "spec": {"minAvailable": "50%"}},
        {"kind": "PodDisruptionBudget", "metadata": {"name": "most"}, "spec": {"maxUnavailable": 1}},
        {"kind": "Pod", "metadata": {"name": "p"}, "spec": {}},
    ]

    with pytest.raises(UnmodeledError, match=r"share.*most"):
        read_budgets(objects)


def test_a_budget_is_read() -> None:
    """minAvailable as a number, with a selector."""
    item = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "pdb", "namespace": "ml"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "kept"}}},
    }

    assert (DisruptionBudget("pdb", 2, equals({"app": "kept"}), "ml"),) == read_budgets([item])
    assert not DisruptionBudget("pdb", 2, (), "ml").selects(PodShape("p", {}, {}, "ml", {"app": "kept"}))


def test_preemption_sees_what_pods_want_of_each_other() -> None:
    """A pod that keeps off the pods of its kind fits once the one of lower priority is gone (reference path)."""
    alone = shape_of(1, labels={"app": "a"})
    keeps_off = PodTerm(HOSTNAME, equals({"app": "a"}), frozenset({"default"}))
    shy = PodShape(
        "shy", alone.requests, alone.scoring_requests, labels={"app": "b"}, required_anti=(keeps_off,)
    )
    jobs = [submit("low", 0, 0.0, 100.0), submit("high", 1, 4.0, 10.0, priority=1)]

    timeline = run(workload_of([alone, shy], jobs), nodes_of(1), PACK, until=5.0)

    # there is room for both, so only the affinity can be why low goes
    assert [0] == [eviction.victim for eviction in timeline.evicted]
    assert {"low": "WAITING", "high": "RUNNING"} == states(timeline)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_both_ways_to_look_at_a_node_evict_the_same(seed: int) -> None:
    """With arithmetic on resources, and with the scheduler's filters on the state itself."""
    workload = random_workload(seed, jobs=True)

    fast = run(workload, workload.nodes, PACK, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("binpackgen.simulate.engine.needs_reference", lambda *_: "for the test")
        patch.setattr("binpackgen.simulate.timeline.events.needs_reference", lambda *_: "for the test")
        exact = run(workload, workload.nodes, PACK, seed=seed)

    assert exact.evicted == fast.evicted
    assert exact.states.tolist() == fast.states.tolist()
    assert exact.log.nodes.tolist() == fast.log.nodes.tolist()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_only_lower_tiers_are_evicted_and_only_for_pods_that_may(seed: int) -> None:
    """Every eviction is by a submission of higher priority whose class preempts."""
    workload = random_workload(seed, jobs=True)

    timeline = run(workload, workload.nodes, PACK, seed=seed)

    assert_lawful(timeline)
    for eviction in timeline.evicted:
        by, victim = workload.submissions[eviction.by], workload.submissions[eviction.victim]
        assert by.preempts
        assert victim.priority < by.priority
