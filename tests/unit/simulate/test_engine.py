"""The fast path decides as the reference does, and says itself where it does not fit."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.cycle import heap_winner
from binpackgen.simulate.engine import (
    LARGEST_AMOUNT,
    MatrixSimulator,
    ReferenceSimulator,
    needs_reference,
    simulator,
)
from binpackgen.simulate.matching import equals
from binpackgen.simulate.model import (
    HOSTNAME,
    ClusterState,
    Node,
    NodeClass,
    PodShape,
    PodTerm,
    SchedulerProfile,
    SpreadConstraint,
    requests_of,
)
from binpackgen.simulate.objects import read_node, read_pod
from tests.conformance.scheduler_scores.cases import configurations, cycles


def plain_pod(cpu: int = 1000, memory: int = 2**30, **rest: Any) -> PodShape:
    requests, scoring = requests_of([{"cpu": cpu, "memory": memory}])
    return PodShape("pod", requests, scoring, **rest)


def some_nodes(count: int = 4) -> list[Node]:
    return list(NodeClass("n", count, {"cpu": 8000, "memory": 32 * 2**30, "pods": 110}).nodes())


def without_owner(pod: dict[str, Any]) -> dict[str, Any]:
    pod["metadata"].pop("ownerReferences", None)
    pod["spec"].pop("topologySpreadConstraints", None)
    affinity = pod["spec"].get("affinity", {})
    affinity.pop("podAffinity", None)
    affinity.pop("podAntiAffinity", None)
    return pod


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), minor=st.sampled_from([31, 33, 34, 35, 36, 37]), length=st.integers(1, 60))
def test_both_paths_take_the_same_nodes(seed: int, minor: int, length: int) -> None:
    """Pods that come and go on random nodes under a random profile end on the same nodes in both paths."""
    rng = random.Random(seed)
    profile = read_profiles(list(configurations(seed, 3))[rng.randrange(3)], minor)["packer"]
    cases = list(cycles(seed, 5))
    state = ClusterState(read_node(node) for node in cases[0]["nodes"])
    shapes = [read_pod(without_owner(case["pod"])) for case in cases]
    shapes += [read_pod(without_owner(pod)) for pod in cases[1]["pods"]]
    for pod in cases[2]["pods"]:
        state.bind(read_pod(without_owner(pod)), rng.randrange(len(state.nodes)))
    if not profile.weights:
        return
    fast = MatrixSimulator(state, profile, shapes, random.Random(seed))
    exact = ReferenceSimulator(state, profile, shapes, random.Random(seed))
    placed: list[tuple[int, int]] = []
    for _ in range(length):
        shape = rng.randrange(len(shapes))
        if placed and rng.random() < 0.3:
            gone, node = placed.pop(rng.randrange(len(placed)))
            fast.release(gone, node)
            exact.release(gone, node)
        # one feasible node is not scored, so that it is the whole top set in both
        assert exact.top(shape) == fast.top(shape)
        node_taken = exact.place(shape)
        assert node_taken == fast.place(shape)
        if node_taken is not None:
            placed.append((shape, node_taken))


@given(totals=st.lists(st.integers(0, 3), min_size=1, max_size=200))
def test_the_first_best_in_preorder_is_the_root_of_the_heap(totals: list[int]) -> None:
    """The fast path's rule for equal totals picks what Go's heap has at its root."""
    state = ClusterState(some_nodes(len(totals)))
    run = MatrixSimulator(state, SchedulerProfile(37, percentage=100), [plain_pod()])
    run._totals[0] = totals

    assert heap_winner(totals) == run._choose(0)


def test_a_plain_run_takes_the_fast_path() -> None:
    """Pods without terms between them, all nodes examined: the matrix."""
    run = simulator(ClusterState(some_nodes()), SchedulerProfile(37), [plain_pod()])

    assert MatrixSimulator is type(run)


AFFINE = plain_pod(required_pods=(PodTerm(HOSTNAME, (), None),))


@pytest.mark.parametrize(
    ("reason", "nodes", "profile", "shape"),
    [
        ("a sample of the nodes", some_nodes(150), SchedulerProfile(37), plain_pod()),
        ("affinity between pods", some_nodes(), SchedulerProfile(37), AFFINE),
        ("topology spread", some_nodes(), SchedulerProfile(37), plain_pod(spread=(SpreadConstraint("z", 1),))),
        ("topology spread", some_nodes(), SchedulerProfile(37), plain_pod(owner_selector=equals({"a": "b"}))),
        ("no scores", some_nodes(), SchedulerProfile(37, weights={}), plain_pod()),
        ("an amount beyond 2^45", [Node("big", {"cpu": 1, "memory": LARGEST_AMOUNT + 1})], SchedulerProfile(37), plain_pod()),
    ],
)  # fmt: skip
def test_the_slow_path_is_chosen_where_the_fast_one_does_not_fit(
    reason: str, nodes: list[Node], profile: SchedulerProfile, shape: PodShape
) -> None:
    """Each obstacle is found by itself and leads to the reference."""
    state = ClusterState(nodes)

    assert reason == needs_reference(state, profile, [shape])
    assert ReferenceSimulator is type(simulator(state, profile, [shape]))


def test_the_fast_path_refuses_what_does_not_fit_it() -> None:
    """Built by hand for a sample of the nodes, the matrix raises instead of deciding wrongly."""
    with pytest.raises(ValueError, match="a sample of the nodes"):
        MatrixSimulator(ClusterState(some_nodes(150)), SchedulerProfile(37), [plain_pod()])


def test_a_sample_of_the_nodes_rotates() -> None:
    """300 empty nodes with the adaptive sample of 144: the placements go back and forth between two windows."""
    run = simulator(
        ClusterState(some_nodes(300)), SchedulerProfile(37, strategy="MostAllocated"), [plain_pod(100, 2**20)]
    )

    assert [0, 144, 0, 144, 0] == [run.place(0) for _ in range(5)]


def test_a_run_leaves_the_state_that_it_started_from_alone() -> None:
    """Placements are the run's own."""
    state = ClusterState(some_nodes())
    for profile in (SchedulerProfile(37), SchedulerProfile(37, weights={})):
        simulator(state, profile, [plain_pod()]).place(0)

    assert [[], [], [], []] == state.pods


def test_bound_pods_count_from_the_start() -> None:
    """What runs already takes room."""
    state = ClusterState(some_nodes(2))
    state.bind(plain_pod(8000), 0)
    run = simulator(state, SchedulerProfile(37), [plain_pod()])

    assert (1,) == run.top(0)


def test_released_room_is_free_again() -> None:
    """A pod that leaves makes way for the next one."""
    run = simulator(ClusterState(some_nodes(1)), SchedulerProfile(37), [plain_pod(8000)])

    assert [0, None] == [run.place(0), run.place(0)]
    run.release(0, 0)
    assert run.place(0) == 0
