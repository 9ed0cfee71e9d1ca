"""The linear programs bound what brute force finds, and meet it where the hand can check."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from binpackgen.simulate.model import ClusterState, Node, PodShape, requests_of
from binpackgen.study.bounds import NodeKind, fewest_nodes, most_allocated, node_kinds

GPU = "nvidia.com/gpu"
RESOURCES = (GPU, "cpu", "memory")


def pod(gpus: int, cpu: int, memory: int = 1) -> PodShape:
    requests, scoring = requests_of([{GPU: gpus, "cpu": cpu, "memory": memory}])
    return PodShape(f"{gpus}-{cpu}", requests, scoring)


def node(name: str, gpus: int, cpu: int, memory: int = 100) -> Node:
    return Node(name, {GPU: gpus, "cpu": cpu, "memory": memory, "pods": 10})


def best_packing(nodes: list[Node], pods: list[PodShape]) -> tuple[float, int]:
    """The fewest nodes that hold all pods (infinity if none do), and the most GPUs that any of them can hold."""
    fewest, most = math.inf, 0
    for places in itertools.product(range(-1, len(nodes)), repeat=len(pods)):
        held = [dict.fromkeys(RESOURCES, 0) for _ in nodes]
        for one, place in zip(pods, places, strict=True):
            if place >= 0:
                for name in RESOURCES:
                    held[place][name] += one.requests.get(name, 0)
        fits = all(
            used[name] <= there.allocatable[name]
            for used, there in zip(held, nodes, strict=True)
            for name in RESOURCES
        )
        if fits:
            most = max(most, sum(used[GPU] for used in held))
            if -1 not in places:
                fewest = min(fewest, len(set(places)))
    return fewest, most


@pytest.mark.parametrize("seed", range(12))
def test_no_packing_beats_the_bounds(seed: int) -> None:
    """On random small clusters brute force needs at least as many nodes, and allocates at most as many GPUs."""
    rng = random.Random(seed)
    nodes = [node(f"n{i}", *rng.choice(((4, 16), (2, 20), (8, 12)))) for i in range(3)]
    shapes = [pod(1, 4), pod(2, 3), pod(4, 10), pod(0, 7)]
    order = [rng.randrange(4) for _ in range(5)]
    counts = [order.count(shape) for shape in range(4)]
    kinds = node_kinds(ClusterState(nodes), shapes, RESOURCES)
    fewest, most = best_packing(nodes, [shapes[shape] for shape in order])

    assert fewest_nodes(kinds, shapes, counts, RESOURCES).bound <= fewest
    assert most_allocated(kinds, shapes, counts, RESOURCES, GPU) >= most - 1e-6


def test_the_bound_knows_that_pods_are_not_water() -> None:
    """Three pods of 3 GPUs need three nodes of 4, though 9 GPUs would fit on 2.25."""
    shapes = [pod(3, 1)]
    kinds = node_kinds(ClusterState([node(f"n{i}", 4, 100) for i in range(5)]), shapes, RESOURCES)

    found = fewest_nodes(kinds, shapes, [3], RESOURCES)

    assert (3.0, (3,)) == (found.bound, found.counts)


def test_pods_that_fit_nowhere_have_no_number_of_nodes() -> None:
    """The bound is infinite, not 0."""
    shapes = [pod(5, 1)]
    kinds = node_kinds(ClusterState([node("n", 4, 100)]), shapes, RESOURCES)

    assert math.isinf(fewest_nodes(kinds, shapes, [1], RESOURCES).bound)
    assert most_allocated(kinds, shapes, [1], RESOURCES, GPU) == 0.0


def test_prices_choose_between_kinds() -> None:
    """Two cheap small nodes instead of a dear large one."""
    shapes = [pod(1, 1)]
    large = NodeKind("large", math.inf, (4, 100, 100, 10), frozenset({0}))
    small = NodeKind("small", math.inf, (2, 100, 100, 10), frozenset({0}))
    prices = {"large": 5.0, "small": 2.0}

    found = fewest_nodes([large, small], shapes, [4], RESOURCES, prices)

    assert (4.0, (0, 2)) == (found.bound, found.counts)
    assert fewest_nodes([large, small], shapes, [4], RESOURCES).counts == (1, 0)


def test_bytes_are_not_too_large() -> None:
    """Goals in bytes, with terabytes a node, are solved as well."""
    shapes = [pod(0, 1, memory=2**38)]
    cluster = ClusterState([node(f"n{i}", 0, 10, memory=2**40) for i in range(100)])

    assert most_allocated(node_kinds(cluster, shapes, RESOURCES), shapes, [1000], RESOURCES, "memory") == (
        pytest.approx(100 * 2**40)
    )


def test_solving_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Standard output belongs to the command's answer."""
    shapes = [pod(1, 1)]
    fewest_nodes(node_kinds(ClusterState([node("n", 4, 100)]), shapes, RESOURCES), shapes, [1], RESOURCES)

    assert capfd.readouterr() == ("", "")
