"""Fragmentation as the definition has it."""

from __future__ import annotations

import numpy as np
import pytest

from binpackgen.simulate.matching import Taint
from binpackgen.simulate.model import ClusterState, Node, PodShape, requests_of
from binpackgen.study.fragmentation import Fragments

GPU = "nvidia.com/gpu"
RESOURCES = (GPU, "cpu")


def pod(gpus: int, cpu: int) -> PodShape:
    requests, scoring = requests_of([{GPU: gpus, "cpu": cpu} if gpus else {"cpu": cpu}])
    return PodShape(f"{gpus}-{cpu}", requests, scoring)


SHAPES = (pod(4, 16), pod(1, 6))


def fragments(*nodes: Node) -> Fragments:
    return Fragments(ClusterState(nodes), SHAPES, [2, 1], RESOURCES, ["a100"] * len(nodes))


def test_the_worked_example() -> None:
    """7 GPUs and 20 cores free; two pods of 4 GPUs and 16 cores are asked for, and one of 1 GPU and 6 cores.

    One 4-GPU pod leaves 3 GPUs and 4 cores, three 1-GPU pods leave 4 GPUs and 2 cores.
    """
    node = Node("n", {GPU: 8, "cpu": 36, "pods": 110})
    found = fragments(node).of(np.array([[1, 16, 1]]))["a100"]

    assert (pytest.approx(7 / 8), pytest.approx(10 / 21)) == found[GPU]
    assert (pytest.approx(20 / 36), pytest.approx(10 / 60)) == found["cpu"]


def test_what_nobody_may_use_is_all_of_no_use() -> None:
    """A taint that no pod tolerates: nothing is asked for there."""
    node = Node("n", {GPU: 8, "cpu": 36, "pods": 110}, taints=(Taint("own", "", "NoSchedule"),))

    assert fragments(node).of(np.zeros((1, 3), np.int64))["a100"][GPU].unusable is None


def test_a_full_node_has_no_fragments() -> None:
    """Where nothing is free nothing is unusable."""
    node = Node("n", {GPU: 8, "cpu": 36, "pods": 110})

    assert fragments(node).of(np.array([[8, 36, 8]]))["a100"][GPU] == (0.0, 0.0)
