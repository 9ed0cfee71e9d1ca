"""How a cycle searches and chooses: samples, rotation, zones, ties and the single feasible node."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from binpackgen.simulate.cycle import decide, find_feasible, heap_winner, nodes_to_find, scheduler_order
from binpackgen.simulate.model import (
    ZONE,
    ClusterState,
    Node,
    NodeClass,
    PodShape,
    SchedulerProfile,
    requests_of,
)

PACKING = SchedulerProfile(37, strategy="MostAllocated")


def pod(cpu: int = 100) -> PodShape:
    requests, scoring = requests_of([{"cpu": cpu, "memory": 2**20}])
    return PodShape("pod", requests, scoring)


def empty(count: int) -> ClusterState:
    return ClusterState(NodeClass("n", count, {"cpu": 8000, "memory": 2**35, "pods": 110}).nodes())


@pytest.mark.parametrize(
    ("count", "found"),
    [
        (99, 99),
        (100, 100),
        (150, 100),
        (200, 100),
        (300, 144),
        (500, 230),
        (1000, 420),
        (2000, 680),
        (5000, 500),
        (6000, 300),
    ],
)
def test_the_adaptive_sample(count: int, found: int) -> None:
    """Nodes that are looked for where percentageOfNodesToScore is not stated."""
    assert found == nodes_to_find(count, 0)


@pytest.mark.parametrize(("percentage", "found"), [(100, 1000), (50, 500), (5, 100)])
def test_a_stated_sample(percentage: int, found: int) -> None:
    """Of 1,000 nodes the stated share, and never fewer than 100."""
    assert found == nodes_to_find(1000, percentage)


def test_placements_alternate_between_two_windows() -> None:
    """300 empty nodes and the adaptive sample make two piles; with 100 % there is one."""
    for percentage, expected in ((0, [0, 144, 0, 144, 0]), (100, [0, 0, 0, 0, 0])):
        state, start, taken = empty(300), 0, []
        profile = SchedulerProfile(37, strategy="MostAllocated", percentage=percentage)
        for _ in range(5):
            decision = decide(state, pod(), profile, start)
            assert decision.node is not None
            state.bind(pod(), decision.node)
            start = decision.next_start
            taken.append(decision.node)

        assert expected == taken


def test_the_search_looks_past_the_last_node_that_it_needs() -> None:
    """The index moves over rejected nodes up to the first feasible one that is too many."""
    state = empty(150)
    for full in (*range(3), *range(103, 110)):
        state.bind(pod(8000), full)

    feasible, next_start = find_feasible(state, pod(), PACKING)

    assert tuple(range(3, 103)) == feasible
    assert next_start == 110


def test_the_index_stands_still_while_all_nodes_are_examined() -> None:
    """A full round ends where it began."""
    assert find_feasible(empty(50), pod(), PACKING, start=7)[1] == 7


@pytest.mark.parametrize(
    ("totals", "winner"),
    [([9, 9, 9], 0), ([1, 9, 9], 1), ([1, 1, 9, 9], 3), ([1, 2, 3, 9, 9, 9, 9], 3), ([5], 0)],
)
def test_the_heap_settles_equal_totals(totals: list[int], winner: int) -> None:
    """Go's heap, not the lowest index, decides since 1.35."""
    assert winner == heap_winner(totals)


@pytest.mark.parametrize("minor", [31, 34, 35, 37])
def test_a_tie_is_a_tie(minor: int) -> None:
    """Equal nodes are all reported; up to 1.34 none is named unless chance is given."""
    decision = decide(empty(3), pod(), SchedulerProfile(minor))

    assert decision.is_tie
    assert (0, 1, 2) == decision.top
    assert (0 if minor >= 35 else None) == decision.node


def test_up_to_1_34_every_best_node_is_as_likely() -> None:
    """A source of chance draws evenly among the best."""
    chance = random.Random(1)
    drawn = Counter(decide(empty(3), pod(), SchedulerProfile(34), chance=chance).node for _ in range(300))

    assert {0, 1, 2} == set(drawn)
    assert min(drawn.values()) > 70


def test_a_single_feasible_node_is_not_scored() -> None:
    """There is nothing to compare."""
    state = empty(2)
    state.bind(pod(8000), 0)

    decision = decide(state, pod(), PACKING)

    assert ((1,), {}, (), (1,), 1) == (
        decision.feasible,
        decision.scores,
        decision.totals,
        decision.top,
        decision.node,
    )


def test_no_feasible_node() -> None:
    """Neither a node nor a top set; the same in a cluster without nodes."""
    for state in (empty(2), empty(0)):
        decision = decide(state, pod(9000), PACKING)

        assert ((), (), None, 0) == (decision.feasible, decision.top, decision.node, decision.next_start)


def test_without_score_plugins_the_first_feasible_node_is_taken() -> None:
    """The search stops at one node and goes on after it next time."""
    profile = SchedulerProfile(37, weights={})

    decision = decide(empty(5), pod(), profile, start=2)

    assert ((2,), 2, 3) == (decision.feasible, decision.node, decision.next_start)


def test_pods_are_counted() -> None:
    """A node without room for another pod is not feasible, whatever its resources."""
    state = ClusterState([Node("n", {"cpu": 8000, "memory": 2**35, "pods": 1})])

    assert decide(state, pod(0), PACKING).node == 0
    state.bind(pod(0), 0)
    assert decide(state, pod(0), PACKING).node is None


def test_zones_take_turns() -> None:
    """One node of each zone after the other, zones in order of first sight."""
    zones = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "c1": "c", "c2": "c"}
    nodes = [Node(name, {}, {ZONE: zone}) for name, zone in zones.items()]

    assert ["a1", "b1", "c1", "a2", "c2", "a3"] == [node.name for node in scheduler_order(nodes)]


def test_a_region_is_part_of_a_zone() -> None:
    """The same zone name in two regions is two zones; the labels of old come first."""
    region, old = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"
    nodes = [
        Node("x1", {}, {ZONE: "a", region: "x"}),
        Node("x2", {}, {ZONE: "b", old: "a", region: "x"}),
        Node("y1", {}, {ZONE: "a", region: "y"}),
    ]

    assert ["x1", "y1", "x2"] == [node.name for node in scheduler_order(nodes)]
