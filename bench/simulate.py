"""`python -m bench.simulate`: what the simulator costs, with numpy and with numba.

CPU time a pod on a synthetic cluster of the openb trace's size and mix (13 kinds of GPU nodes, 98 pod shapes, half of
them with one GPU, most of the rest without), at 1,213 and 10,000 nodes; 100,000 pods on 10,000 nodes; a million pods
that come and go on 10,000 nodes in one command; and the tuner's evaluations a second on the openb trace. The least of
several runs, compilation by numba left out.
"""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from binpackgen.compilation import compile_profile
from binpackgen.simulate.arrays import ClusterArrays, Tables
from binpackgen.simulate.compiled import CompiledSimulator
from binpackgen.simulate.engine import MatrixSimulator, Simulator
from binpackgen.simulate.model import ClusterState, Node, NodeClass, PodShape, SchedulerProfile, requests_of
from binpackgen.study.source import read_trace
from binpackgen.study.subject import read_subject
from binpackgen.study.trial import Case, evaluate
from binpackgen.study.tuning import case_of

from .measure import measure
from .openb.trace import FOLDER, SOURCE, folder

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
#: Of each path: how it is made, and the most microseconds that a pod may cost at 1,213 nodes with MostAllocated.
PATHS: dict[str, tuple[Callable[[Tables], Simulator], float]] = {
    "numpy": (MatrixSimulator, 15.0),
    "numba": (CompiledSimulator, 1.5),
}
#: Nodes and pods, and how much more a pod may cost there.
SIZES = ((1213, 5074, 1.0), (10_000, 42_000, 1.5))
#: Pods on 10,000 nodes, and the most seconds by path.
MANY, MANY_SECONDS = 100_000, {"numpy": 3.0, "numba": 0.4}
#: Pods that come and go on 10,000 nodes in one command, its most seconds and MiB.
MILLION, MILLION_SECONDS, MILLION_MIB = 1_000_000, 30.0, 2048
#: Full openb evaluations a second.
EVALUATIONS = 150
RUNS = 5

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Measure and print."""
    print(f"{'profile':32} {'path':6} {'nodes':>7} {'pods':>9} {'unplaced':>9} {'us a pod':>9}  target")
    for name, profile in PROFILES.items():
        for path, (make, most) in PATHS.items():
            for nodes, pods, factor in SIZES:
                target = f"at most {most * factor:g}" if name.startswith("MostAllocated") else ""
                _line(name, path, make, profile, nodes, pods, target)
    name = "MostAllocated 1/1/5"
    for path, (make, _) in PATHS.items():
        _line(name, path, make, PROFILES[name], 10_000, MANY, f"at most {MANY_SECONDS[path] * 1e6 / MANY:g}")
    _million()
    _tuner()


def _line(
    name: str,
    path: str,
    make: Callable[[Tables], Simulator],
    profile: SchedulerProfile,
    nodes: int,
    pods: int,
    target: str,
) -> None:
    state, shapes, order = cluster(nodes), pod_shapes(98), arrivals(98, pods)
    cost, unplaced = min(run(make, state, profile, shapes, order) for _ in range(RUNS))
    print(f"{name:32} {path:6} {nodes:7} {pods:9} {unplaced:9} {cost:9.2f}  {target}", flush=True)


def run(
    make: Callable[[Tables], Simulator],
    state: ClusterState,
    profile: SchedulerProfile,
    shapes: Sequence[PodShape],
    order: Sequence[int],
) -> tuple[float, int]:
    """Microseconds of CPU a pod, the start included, and how many pods found no node."""
    start = time.process_time()
    simulation = make(Tables(ClusterArrays(state), profile, shapes))
    nodes = simulation.place_all(order)
    return (time.process_time() - start) * 1e6 / len(order), int((nodes < 0).sum())


def _million() -> None:
    """`binpackgen simulate` on a list of a million pods, as a user runs it: the profile alone, and beside another."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        write_lists(here, 10_000, MILLION)
        for against, target in (
            ("compiled", f"at most {MILLION_SECONDS:.0f} s and {MILLION_MIB} MiB"),
            ("default", ""),
        ):
            command = [
                *(str(Path(sys.executable).with_name("binpackgen")), "simulate"),
                *(str(ROOT / "profiles/openb.yaml"), "--workload", "pods.csv", "--nodes", "nodes.csv"),
                *("--against", against, "--seeds", "1"),
            ]
            start = time.perf_counter()
            cost = measure(command, 1, here)
            seconds = time.perf_counter() - start
            print(
                f"{MILLION:,} pods on 10,000 nodes, one command, compiled{' and default' * (against == 'default')}: "
                f"{seconds:.1f} s, {cost.cpu_ms / 1e3:.1f} s of CPU, {cost.memory_mib:.0f} MiB  {target}",
                flush=True,
            )


def write_lists(into: Path, nodes: int, pods: int) -> None:
    """nodes.csv and pods.csv in the form of openb: pods come and go, at about nine tenths of the GPUs."""
    rng = _chance(4)
    with (into / "nodes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("sn", "cpu_milli", "memory_mib", "gpu", "model"))
        total = 0
        for number in range(nodes):
            (cores, memory, gpus), _ = KINDS[rng.choices(range(len(KINDS)), [share for _, share in KINDS])[0]]
            rows.writerow((f"node-{number}", cores * 1000, memory * 1024, gpus, "G2"))
            total += gpus
    sizes = [next(each) for each in [_sizes()] for _ in range(98)]
    weights = [1 / (rank + 3) for rank in range(len(sizes))]
    mean = sum(weight * gpus for weight, (_, _, gpus) in zip(weights, sizes, strict=True)) / sum(weights)
    rate = 0.9 * total / mean / 3600
    now = 0.0
    with (into / "pods.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time", "scheduled_time")
        )  # fmt: skip
        for number, (cores, memory, gpus) in enumerate(rng.choices(sizes, weights, k=pods)):
            now += rng.expovariate(rate)
            ends = now + rng.expovariate(1 / 3600)
            rows.writerow(
                (f"pod-{number}", int(cores * 1000), int(memory * 1024), gpus, 1000 if gpus else 0, "", int(now), int(ends) + 1, int(now))
            )  # fmt: skip


def _tuner() -> None:
    """Evaluations of candidates by one process and by as many as there are cores."""
    if not folder().is_dir():
        print(
            f"tuner: {folder()} is not there; {SOURCE}; name its folder in the environment variable {FOLDER}"
        )
        return
    each = _evaluations()
    print(
        f"tuner: {each:.0f} full openb evaluations a second on one core, on two {2 * each:.0f} at the most",
        end="",
    )
    script = "from bench.simulate import _evaluations; print(_evaluations(4))"
    cores = len(os.sched_getaffinity(0))
    start = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT)
        for _ in range(cores)
    ]
    rates = [float(process.communicate()[0]) for process in start]
    print(f", {sum(rates):.0f} by {cores} processes  at least {EVALUATIONS}")


def _evaluations(seconds: float = 3.0) -> float:
    """Evaluations a second of wall time: one after the other, each of another profile."""
    subject = read_subject(compile_profile(str(ROOT / "profiles/openb.yaml")))
    pods, nodes = folder() / "openb_pod_list_default.csv.gz", folder() / "openb_node_list_gpu_node.csv"
    trace, _, _ = read_trace(subject, str(pods), str(nodes))
    case: Case = case_of(subject, trace, "allocation", (0,))
    cases = {"openb": case}
    weights = dict(subject.scheduler.weights)
    evaluate(cases, "openb", subject.scheduler, 0)
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        count += 1
        weights["NodeResourcesFit"] = 1 + count
        evaluate(cases, "openb", replace(subject.scheduler, weights=dict(weights)), 0)
    return count / (time.perf_counter() - start)


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
