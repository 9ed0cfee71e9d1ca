"""`python -m bench.simulate`: CPU time a pod costs in the simulator's fast path.

The cluster and the pods are synthetic and of the size of the openb trace: 13 kinds of GPU nodes, 98 pod shapes,
half of them with one GPU, most of the rest without. Prints the least of several runs.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator

from binpackgen.simulate.engine import simulator
from binpackgen.simulate.model import ClusterState, Node, NodeClass, PodShape, SchedulerProfile, requests_of

GIB = 2**30
GPU = "nvidia.com/gpu"
RESOURCES = (("cpu", 1), ("memory", 1), (GPU, 5))
#: Cores, GiB and GPUs of a node, and its share of the nodes in percent.
KINDS = (
    ((96, 384, 8), 30),
    ((64, 256, 2), 20),
    ((96, 512, 8), 12),
    ((128, 768, 8), 10),
    ((96, 736, 4), 6),
    ((64, 512, 8), 5),
    ((32, 256, 4), 5),
    ((48, 384, 4), 3),
    ((8, 64, 1), 3),
    ((16, 128, 2), 2),
    ((104, 384, 2), 2),
    ((82, 644, 8), 1),
    ((128, 512, 1), 1),
)
PROFILES = {
    "MostAllocated 1/1/5": SchedulerProfile(
        37, strategy="MostAllocated", resources=RESOURCES, weights={"NodeResourcesFit": 1}, percentage=100
    ),
    "RequestedToCapacityRatio 1/1/5": SchedulerProfile(
        37,
        strategy="RequestedToCapacityRatio",
        resources=RESOURCES,
        shape=((0, 0), (50, 3), (100, 10)),
        weights={"NodeResourcesFit": 1},
        percentage=100,
    ),
    "default profile": SchedulerProfile(37, percentage=100),
}
#: Nodes, pods, and the most microseconds of CPU that a pod may cost with MostAllocated.
SIZES = ((1213, 5074, 15.0), (10_000, 42_000, 22.5))
RUNS = 5


def main() -> None:
    """Measure and print."""
    print(f"{'profile':32} {'nodes':>7} {'pods':>7} {'unplaced':>9} {'us a pod':>9}  target")
    for name, profile in PROFILES.items():
        for nodes, pods, most in SIZES:
            state, shapes, order = cluster(nodes), pod_shapes(98), arrivals(98, pods)
            runs = [run(state, profile, shapes, order) for _ in range(RUNS)]
            cost, unplaced = min(runs)
            target = f"at most {most}" if name.startswith("MostAllocated") else ""
            print(f"{name:32} {nodes:7} {pods:7} {unplaced:9} {cost:9.1f}  {target}")
    print(f"greatest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


def run(
    state: ClusterState, profile: SchedulerProfile, shapes: list[PodShape], order: list[int]
) -> tuple[float, int]:
    """Microseconds of CPU a pod, the start included, and how many pods found no node."""
    start = time.process_time()
    simulation = simulator(state, profile, shapes)
    unplaced = sum(simulation.place(shape) is None for shape in order)
    return (time.process_time() - start) * 1e6 / len(order), unplaced


def cluster(count: int) -> ClusterState:
    """`count` nodes of the 13 kinds, mixed."""
    nodes = [node for (kind, share) in KINDS for node in _nodes(kind, round(count * share / 100) + 1)]
    _chance(1).shuffle(nodes)
    return ClusterState(nodes[:count])


def _nodes(kind: tuple[int, int, int], count: int) -> list[Node]:
    cores, memory, gpus = kind
    allocatable = {"cpu": cores * 1000, "memory": memory * GIB, GPU: gpus, "pods": 250}
    return list(NodeClass("-".join(map(str, kind)), count, allocatable).nodes())


def pod_shapes(count: int) -> list[PodShape]:
    """Shapes without a GPU, with one, and a few with 2, 4 and 8."""
    return [_shape(index, *sizes) for index, sizes in zip(range(count), _sizes(), strict=False)]


def _sizes() -> Iterator[tuple[float, float, int]]:
    rng = _chance(2)
    while True:
        gpus = rng.choices((0, 1, 2, 4, 8), (45, 45, 4, 3, 3))[0]
        cores = rng.choice((1, 2, 3.15, 4, 6, 8, 10, 12, 16)) * max(gpus, 1) ** 0.8
        yield round(cores, 1), rng.choice((2, 4, 8.5, 12, 16, 25, 32)) * max(gpus, 1) ** 0.7, gpus


def _shape(index: int, cores: float, memory: float, gpus: int) -> PodShape:
    container = {"cpu": int(cores * 1000), "memory": int(memory * GIB)} | ({GPU: gpus} if gpus else {})
    requests, scoring = requests_of([container])
    return PodShape(f"shape-{index}", requests, scoring)


def arrivals(shapes: int, count: int) -> list[int]:
    """Shapes in random order, the first ones oftener than the last."""
    rng = _chance(3)
    return rng.choices(range(shapes), [1 / (rank + 3) for rank in range(shapes)], k=count)


def _chance(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  the same numbers every time are what is wanted


if __name__ == "__main__":
    main()
