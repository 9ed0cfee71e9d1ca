"""The derived weights against brute force over every state of small nodes.

The oracle shares no code with the compiler: it scores with its own few lines and tries every pair of states.
"""

from __future__ import annotations

import itertools

import pytest

from binpackgen.plan.model import Amount
from binpackgen.plan.steps import FitScore, device_step, device_step_any_state, job_step
from binpackgen.plan.weights import derive_gpu_weight

DEVICE = "nvidia.com/gpu"
CURVES = {
    "MostAllocated": None,
    "linear": ((0, 0), (100, 10)),
    "late": ((0, 0), (50, 3), (100, 10)),
    "floor": ((0, 1), (100, 10)),
    "falling": ((0, 0), (80, 10), (100, 4)),
}


def most(used: int, capacity: int) -> int:
    return 100 * min(used, capacity) // capacity


def on_curve(curve: tuple[tuple[int, int], ...], used: int, capacity: int) -> int:
    percent = most(used, capacity)
    points = [(x, 10 * y) for x, y in curve]
    if percent <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if percent <= x1:
            return y0 + int((y1 - y0) * (percent - x0) / (x1 - x0))
    return points[-1][1]


def node_score(curve: tuple[tuple[int, int], ...] | None, parts: list[tuple[int, int, int]]) -> int:
    """Score of a node from (used, capacity, weight) of each scored resource."""
    if curve is None:
        total = sum(most(used, capacity) * weight for used, capacity, weight in parts)
        return total // sum(weight for _, _, weight in parts)
    scored = [(on_curve(curve, used, capacity), weight) for used, capacity, weight in parts]
    scored = [(score, weight) for score, weight in scored if score]
    if not scored:
        return 0
    exact = sum(score * weight for score, weight in scored) / sum(weight for _, weight in scored)
    return int(exact + 0.5)


def fit(name: str, cpu: int = 1, memory: int = 1) -> FitScore:
    curve = CURVES[name]
    strategy = "MostAllocated" if curve is None else "RequestedToCapacityRatio"
    return FitScore(strategy, curve or (), cpu, memory)


def brute_any_state(
    name: str, weights: tuple[int, int, int], node: tuple[int, int, int], pod: tuple[int, int, int]
) -> int:
    """The least score difference over every pair of nodes of which one has one more device in use."""
    curve = CURVES[name]
    least = None
    for devices in range(pod[2], node[2]):
        fuller = min(
            node_score(
                curve,
                [(c, node[0], weights[0]), (m, node[1], weights[1]), (devices + 1, node[2], weights[2])],
            )
            for c in range(pod[0], node[0] + 1)
            for m in range(pod[1], node[1] + 1)
        )
        emptier = max(
            node_score(
                curve, [(c, node[0], weights[0]), (m, node[1], weights[1]), (devices, node[2], weights[2])]
            )
            for c in range(pod[0], node[0] + 1)
            for m in range(pod[1], node[1] + 1)
        )
        least = fuller - emptier if least is None else min(least, fuller - emptier)
    assert least is not None
    return least


SHAPES = [
    ((100, 100, 3), (0, 0, 1)),
    ((40, 25, 8), (5, 2, 1)),
    ((64, 50, 4), (8, 7, 2)),
    ((7, 13, 3), (1, 2, 1)),
    ((50, 20, 16), (3, 1, 10)),
]


@pytest.mark.parametrize("name", ["MostAllocated", "linear", "late", "floor"])
@pytest.mark.parametrize(("node", "pod"), SHAPES)
@pytest.mark.parametrize("weights", [(1, 1, 5), (1, 1, 19), (3, 1, 50)])
def test_step_in_the_worst_state_is_what_brute_force_finds(
    name: str, node: tuple[int, int, int], pod: tuple[int, int, int], weights: tuple[int, int, int]
) -> None:
    """The step against any state of cpu and memory is the least difference over all pairs of states."""
    expected = brute_any_state(name, weights, node, pod)

    actual = device_step_any_state(
        fit(name, weights[0], weights[1]),
        weights[2],
        Amount(node[0], node[1], {DEVICE: node[2]}),
        Amount(pod[0], pod[1], {DEVICE: pod[2]}),
        DEVICE,
    )

    # a node of 100 units reaches every share; on coarser ones the bound may be lower than what occurs
    if node[:2] == (100, 100) or name == "MostAllocated":
        assert expected == actual
    else:
        assert actual is not None
        assert actual <= expected


@pytest.mark.parametrize("name", list(CURVES))
@pytest.mark.parametrize(("node", "pod"), SHAPES)
def test_step_with_equal_cpu_and_memory_is_never_more_than_brute_force_finds(
    name: str, node: tuple[int, int, int], pod: tuple[int, int, int]
) -> None:
    """With equal cpu and memory one more device makes at least the computed step, in every state."""
    weights = (1, 1, 19)
    least = min(
        node_score(CURVES[name], [(c, node[0], 1), (m, node[1], 1), (used + 1, node[2], 19)])
        - node_score(CURVES[name], [(c, node[0], 1), (m, node[1], 1), (used, node[2], 19)])
        for used in range(pod[2], node[2])
        for c in range(pod[0], node[0] + 1)
        for m in range(pod[1], node[1] + 1)
    )

    actual = device_step(
        fit(name),
        weights[2],
        Amount(node[0], node[1], {DEVICE: node[2]}),
        Amount(pod[0], pod[1], {DEVICE: pod[2]}),
        DEVICE,
    )

    assert actual is not None
    if name == "MostAllocated":
        assert least == actual
    else:
        assert actual <= least


@pytest.mark.parametrize("name", list(CURVES))
@pytest.mark.parametrize(("node", "pod"), [((50, 100), (5, 3)), ((64, 50), (2, 2)), ((50, 200), (1, 3))])
def test_step_of_a_job_is_never_more_than_brute_force_finds(
    name: str, node: tuple[int, int], pod: tuple[int, int]
) -> None:
    """One more smallest pod makes at least the computed step on every node that can hold it."""
    curve = CURVES[name]
    least = min(
        node_score(curve, [(c + pod[0], node[0], 1), (m + pod[1], node[1], 1)])
        - node_score(curve, [(c, node[0], 1), (m, node[1], 1)])
        for c in range(pod[0], node[0] - pod[0] + 1)
        for m in range(pod[1], node[1] - pod[1] + 1)
    )

    actual = job_step(fit(name), Amount(*node), Amount(*pod))

    if name == "MostAllocated":
        assert least == actual
    else:
        assert actual <= least


@pytest.mark.parametrize(("node", "pod"), SHAPES)
def test_derived_gpu_weight_is_the_least_that_wins(
    node: tuple[int, int, int], pod: tuple[int, int, int]
) -> None:
    """The derived GPU weight wins in every state, and one less loses in some: it is no round number."""
    amounts = (Amount(node[0], node[1], {DEVICE: node[2]}), Amount(pod[0], pod[1], {DEVICE: pod[2]}), DEVICE)

    weight = derive_gpu_weight(fit("MostAllocated"), [amounts])

    assert brute_any_state("MostAllocated", (1, 1, weight), node, pod) >= 1
    assert brute_any_state("MostAllocated", (1, 1, weight - 1), node, pod) < 1


def test_an_eight_gpu_node_needs_nineteen() -> None:
    """On eight devices, with pods that ask for nothing else, cpu and memory are outvoted from weight 19 on."""
    node, pod = Amount(64_000, 2**38, {DEVICE: 8}), Amount(0, 0, {DEVICE: 1})

    assert derive_gpu_weight(fit("MostAllocated"), [(node, pod, DEVICE)]) == 19


def test_the_articles_weight_five_loses_to_cpu_and_memory() -> None:
    """With GPU weight 5 a node that is a device behind but full in cpu and memory wins: the step is negative."""
    node, pod = Amount(64_000, 2**38, {DEVICE: 8}), Amount(0, 0, {DEVICE: 1})

    assert device_step_any_state(fit("MostAllocated"), 5, node, pod, DEVICE) == -20


def test_a_pod_that_takes_every_device_has_no_step() -> None:
    """Where a pod takes the whole node there is no fuller node to prefer."""
    assert (
        device_step(fit("MostAllocated"), 19, Amount(8, 8, {DEVICE: 8}), Amount(1, 1, {DEVICE: 8}), DEVICE)
        is None
    )


def test_many_slices_take_the_least_weight_with_which_one_counts() -> None:
    """With 48 slices no weight outvotes cpu and memory in every state; a slice still counts among equals."""
    node, pod = Amount(64_000, 2**38, {DEVICE: 48}), Amount(0, 0, {DEVICE: 1})
    fit_score = fit("MostAllocated")

    weight = derive_gpu_weight(fit_score, [(node, pod, DEVICE)])

    worst = device_step_any_state(fit_score, 100, node, pod, DEVICE)
    assert worst is not None
    assert worst < 1
    assert 1 == device_step(fit_score, weight, node, pod, DEVICE)
    assert 0 == device_step(fit_score, weight - 1, node, pod, DEVICE)
