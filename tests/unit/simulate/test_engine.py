"""The fast paths decide as the reference does, and the right one is chosen."""

from __future__ import annotations

import builtins
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binpackgen.simulate import engine
from binpackgen.simulate.arrays import ClusterArrays, Tables
from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.cycle import heap_winner
from binpackgen.simulate.engine import (
    LARGEST_AMOUNT,
    MatrixSimulator,
    ReferenceSimulator,
    Simulator,
    needs_reference,
    simulator,
)
from binpackgen.simulate.matching import Requirement, Taint, equals
from binpackgen.simulate.model import (
    HOSTNAME,
    ClusterState,
    Node,
    NodeClass,
    PodShape,
    PodTerm,
    PreferredNodes,
    SchedulerProfile,
    SpreadConstraint,
    requests_of,
)
from binpackgen.simulate.objects import read_node, read_pod
from tests.conformance.scheduler_scores.cases import configurations, cycles

#: The fast paths; the one in machine code is skipped where numba is missing.
PATHS = ("matrix", "compiled")


def fast(
    path: str,
    state: ClusterState,
    profile: SchedulerProfile,
    shapes: list[PodShape],
    chance: random.Random | None = None,
) -> Simulator:
    """A simulator of one of the fast paths."""
    tables = Tables(ClusterArrays(state), profile, shapes)
    if path == "matrix":
        return MatrixSimulator(tables, chance)
    pytest.importorskip("numba", reason="numba (the extra `fast`) is not installed")
    from binpackgen.simulate.compiled import CompiledSimulator

    return CompiledSimulator(tables, chance)


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


def random_case(
    rng: random.Random, seed: int, minor: int
) -> tuple[ClusterState, SchedulerProfile, list[PodShape]]:
    """Up to 99 nodes of few kinds with pods on them, a profile, and shapes for pods without terms on others."""
    profile = read_profiles(list(configurations(seed, 3))[rng.randrange(3)], minor)["packer"]
    cases = list(cycles(seed, 5))
    kinds = [read_node(node) for node in cases[0]["nodes"]]
    nodes = [
        Node(f"{kind.name}-{i}", kind.allocatable, kind.labels, kind.taints, kind.images, kind.unschedulable)
        for i in range(rng.choice([1, 4, 11]))
        for kind in kinds
    ]
    rng.shuffle(nodes)
    state = ClusterState(nodes)
    shapes = [read_pod(without_owner(case["pod"])) for case in cases]
    shapes += [read_pod(without_owner(pod)) for pod in cases[1]["pods"]]
    for pod in cases[2]["pods"]:
        state.bind(read_pod(without_owner(pod)), rng.randrange(len(nodes)))
    return state, profile, shapes


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    minor=st.sampled_from([31, 33, 34, 35, 36, 37]),
    length=st.integers(1, 60),
    by_chance=st.booleans(),
)
def test_a_fast_path_takes_the_same_nodes(
    path: str, seed: int, minor: int, length: int, by_chance: bool
) -> None:
    """Pods that come and go on random nodes under a random profile end on the nodes that the reference takes.

    They are placed, bound without asking, released and played one by one and many at once, and a run starts
    again now and then.
    """
    rng = random.Random(seed)
    state, profile, shapes = random_case(rng, seed, minor)
    if needs_reference(state, profile, shapes):
        return
    runs: list[Simulator] = [
        fast(path, state, profile, shapes, random.Random(seed) if by_chance else None),
        ReferenceSimulator(state, profile, shapes, random.Random(seed) if by_chance else None),
    ]
    placed: list[tuple[int, int]] = []

    def both(act: Callable[[Simulator], Any]) -> Any:
        ours, exact = (act(run) for run in runs)
        assert exact == ours
        return ours

    for _ in range(length):
        shape, kind = rng.randrange(len(shapes)), rng.random()
        # one feasible node is not scored, so that it is the whole top set in both
        both(lambda run, shape=shape: run.top(shape))
        both(lambda run, shape=shape: run.feasible(shape).tolist())
        if placed and kind < 0.25:
            gone = placed.pop(rng.randrange(len(placed)))
            both(lambda run, gone=gone: run.release(*gone))
        elif kind < 0.3:
            placed.append((shape, rng.randrange(len(state.nodes))))
            both(lambda run, put=placed[-1]: run.bind(*put))
        elif kind < 0.4:
            order, events, stay = arrivals(rng, len(shapes))
            nodes = both(lambda run, order=order, events=events: run.play(order, events).tolist())
            placed += [(order[pod], nodes[pod]) for pod in stay if nodes[pod] >= 0]
        elif kind < 0.42:
            placed.clear()
            both(lambda run: run.reset())
        elif (node := both(lambda run, shape=shape: run.place(shape))) is not None:
            placed.append((shape, node))


def arrivals(rng: random.Random, shapes: int) -> tuple[list[int], list[int], list[int]]:
    """The shapes of ten pods, who comes and leaves when, and who stays."""
    events: list[int] = []
    stay: list[int] = []
    for pod in range(10):
        events.append(pod)
        stay.append(pod)
        if rng.random() < 0.4:
            events.append(~stay.pop(rng.randrange(len(stay))))
    return [rng.randrange(shapes) for _ in range(10)], events, stay


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 300))
def test_equal_totals_are_settled_by_the_heap(path: str, seed: int, count: int) -> None:
    """Of equal nodes, some of them full and some fuller than others, Go's heap has the chosen one at its root."""
    rng = random.Random(seed)
    state = ClusterState(some_nodes(count))
    # 100 nodes and more are examined in a sample by default
    profile = SchedulerProfile(37, strategy=rng.choice(["MostAllocated", "LeastAllocated"]), percentage=100)
    for node in range(count):
        for _ in range(rng.choice([0, 0, 1, 4, 8])):
            state.bind(plain_pod(), node)
    run = fast(path, state, profile, [plain_pod()])
    exact = ReferenceSimulator(state, profile, [plain_pod()])

    assert [exact.place(0) for _ in range(5)] == [run.place(0) for _ in range(5)]


@pytest.mark.parametrize("path", PATHS)
def test_the_lowest_index_is_not_the_heaps_choice(path: str) -> None:
    """Negative control: where the first of the equal nodes is not the heap's, no fast path takes the first."""
    state = ClusterState(some_nodes(4))
    for node in (2, 3):
        state.bind(plain_pod(), node)
    run = fast(path, state, SchedulerProfile(37, strategy="MostAllocated"), [plain_pod()])

    assert 3 == heap_winner([1, 1, 9, 9])
    assert (2, 3) == run.top(0)
    assert 3 == run.place(0)


def test_a_wrong_tie_rule_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: with the lowest index instead of the heap the comparison above fails."""

    def by_index(count: int) -> Any:
        return np.arange(count)

    monkeypatch.setattr(engine, "preorder_ranks", by_index)
    state = ClusterState(some_nodes(4))
    for node in (2, 3):
        state.bind(plain_pod(), node)
    profile = SchedulerProfile(37, strategy="MostAllocated")
    exact = ReferenceSimulator(state, profile, [plain_pod()])

    assert exact.place(0) != fast("matrix", state, profile, [plain_pod()]).place(0)


@pytest.mark.parametrize("path", PATHS)
def test_chance_draws_as_the_reference_draws(path: str) -> None:
    """Up to 1.34 the same source gives the same nodes, pod by pod and many at once, and is left in the same state."""
    state = ClusterState(some_nodes(70))
    profile = SchedulerProfile(34)
    sources = [random.Random(7) for _ in range(3)]
    exact = ReferenceSimulator(state, profile, [plain_pod()], sources[0])
    one, many = (fast(path, state, profile, [plain_pod()], source) for source in sources[1:])
    expected = [exact.place(0) for _ in range(400)]

    assert expected == [one.place(0) for _ in range(400)]
    assert expected == many.place_all([0] * 400).tolist()
    assert 1 == len({source.random() for source in sources})


PREFERENCE = (PreferredNodes(10, (Requirement("rank", "In", ("1",)),)), PreferredNodes(4, (Requirement("rank", "In", ("2",)),)))  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_preferences_are_normalized_anew_when_a_class_is_full(path: str) -> None:
    """The best class fills up, so that the second one gets 100 points, and gets room again when a pod leaves."""
    nodes = [
        Node(f"n{i}", {"cpu": 4000, "memory": 2**35, "pods": 110}, {"rank": str(1 + i // 2)})
        for i in range(6)
    ]
    tainted = Node(
        "t", {"cpu": 4000, "memory": 2**35, "pods": 110}, {"rank": "2"}, (Taint("a", "", "PreferNoSchedule"),)
    )
    state, shapes = ClusterState([*nodes, tainted]), [plain_pod(preferred_nodes=PREFERENCE), plain_pod(2000)]
    profile = SchedulerProfile(37)
    run, exact = fast(path, state, profile, shapes), ReferenceSimulator(state, profile, shapes)
    order = [0] * 20 + [1] * 3 + [0] * 3
    expected = [exact.place(shape) for shape in order]

    assert expected == [run.place(shape) for shape in order]
    exact.release(0, 0)
    run.release(0, 0)
    assert 0 == exact.place(0) == run.place(0)


@pytest.mark.parametrize("path", PATHS)
def test_weights_beyond_16_bits(path: str) -> None:
    """Totals of a scorer with weight 1,300 are exact too."""
    profile = SchedulerProfile(37, weights={"NodeResourcesFit": 1300, "NodeResourcesBalancedAllocation": 1})
    state, shapes = ClusterState(some_nodes(40)), [plain_pod(), plain_pod(3000, 2**31)]
    order = [0, 1, 1, 0, 1] * 8

    exact = ReferenceSimulator(state, profile, shapes)
    assert [exact.place(shape) for shape in order] == fast(path, state, profile, shapes).place_all(
        order
    ).tolist()


@pytest.mark.parametrize("path", PATHS)
def test_a_copy_goes_on_by_itself(path: str) -> None:
    """What happens to a copy leaves the original alone."""
    profile = SchedulerProfile(37, strategy="MostAllocated")
    run = fast(path, ClusterState(some_nodes(3)), profile, [plain_pod(4000)])
    run.place(0)
    other = run.copy()

    assert [0, 1, 1, 2, 2, -1] == other.place_all([0] * 6).tolist()
    assert [0, 1, 1, 2, 2, -1] == run.place_all([0] * 6).tolist()


@pytest.mark.parametrize("path", ["matrix", "compiled", "reference"])
def test_many_at_once_are_as_one_by_one(path: str) -> None:
    """Pods bound and released in bulk, with -1 left out; pods that come and go in the order of the events."""
    state, profile, shapes = (
        ClusterState(some_nodes(2)),
        SchedulerProfile(37),
        [plain_pod(8000), plain_pod(4000)],
    )
    run: Simulator = (
        ReferenceSimulator(state, profile, shapes)
        if path == "reference"
        else fast(path, state, profile, shapes)
    )
    run.bind_all([0, 1, 0], np.array([0, -1, 1]))
    assert [] == run.feasible(1).tolist()
    run.release_all(np.array([0, 1]), [1, -1])
    assert [1] == run.feasible(1).tolist()
    run.reset()

    # both nodes are taken; a third finds none and leaves nothing; one goes, and two halves come
    assert [0, 1, -1, 1, 1, -1] == run.play([0, 0, 0, 1, 1, 1], [0, 1, 2, ~2, ~1, 3, 4]).tolist()


@pytest.mark.parametrize("path", PATHS)
def test_a_cluster_without_nodes(path: str) -> None:
    """Nothing is feasible."""
    run = fast(path, ClusterState([]), SchedulerProfile(37), [plain_pod()])

    assert ((), [], None) == (run.top(0), run.feasible(0).tolist(), run.place(0))


@pytest.mark.parametrize(
    "act",
    [
        lambda run: run.place(1),
        lambda run: run.place(-1),
        lambda run: run.bind(0, 4),
        lambda run: run.release(0, -1),
        lambda run: run.place_all([0, 1]),
        lambda run: run.bind_all([0], [4]),
        lambda run: run.play([0], [1]),
        lambda run: run.play([0], [~1]),
    ],
)
def test_machine_code_is_given_no_wrong_index(act: Callable[[Simulator], Any]) -> None:
    """Machine code does not look whether an index exists, so it is looked at before."""
    with pytest.raises(IndexError, match="is not in"):
        act(fast("compiled", ClusterState(some_nodes(4)), SchedulerProfile(37), [plain_pod()]))


def test_shapes_and_nodes_must_be_as_many() -> None:
    """Bulk calls take one node a shape."""
    for path in PATHS:
        run = fast(path, ClusterState(some_nodes(4)), SchedulerProfile(37), [plain_pod()])
        with pytest.raises(ValueError, match=r"shapes and|shorter"):
            run.bind_all([0, 0], [1])


def test_many_profiles_on_the_same_arrays() -> None:
    """Arrays of a cluster serve one profile after the other, each as if it were the first."""
    state = ClusterState(some_nodes(5))
    arrays = ClusterArrays(state)
    for strategy in ("MostAllocated", "LeastAllocated", "MostAllocated"):
        profile = SchedulerProfile(37, strategy=strategy)
        for preferred in ((), PREFERENCE):
            shapes = [plain_pod(preferred_nodes=preferred)]
            expected = simulator(state, profile, shapes).place_all([0] * 12).tolist()

            assert expected == simulator(arrays, profile, shapes).place_all([0] * 12).tolist()


def test_a_plain_run_takes_machine_code() -> None:
    """Pods without terms between them, all nodes examined: the fastest path."""
    pytest.importorskip("numba", reason="numba (the extra `fast`) is not installed")
    from binpackgen.simulate.compiled import CompiledSimulator

    run = simulator(ClusterState(some_nodes()), SchedulerProfile(37), [plain_pod()])

    assert CompiledSimulator is type(run)


def test_without_numba_the_matrix_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numba cannot be imported, numpy does."""
    real = builtins.__import__

    def without_numba(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "numba":
            raise ModuleNotFoundError("No module named 'numba'")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_numba)
    for name in [name for name in sys.modules if name.startswith("binpackgen.simulate.compiled")]:
        monkeypatch.delitem(sys.modules, name)

    assert MatrixSimulator is type(simulator(ClusterState(some_nodes()), SchedulerProfile(37), [plain_pod()]))


@pytest.mark.parametrize("limit", ["LARGEST_TOTAL", "MOST_TOTALS"])
def test_what_is_too_large_for_machine_code_takes_the_matrix(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Totals too great, or too many of them."""
    monkeypatch.setattr(engine, limit, 1)

    assert MatrixSimulator is type(simulator(ClusterState(some_nodes()), SchedulerProfile(37), [plain_pod()]))


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

    assert (
        reason
        == needs_reference(state, profile, [shape])
        == needs_reference(ClusterArrays(state), profile, [shape])
    )
    assert ReferenceSimulator is type(simulator(state, profile, [shape]))


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
