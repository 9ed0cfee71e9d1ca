"""Small clusters and workloads for the tests of timelines."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from binpackgen.simulate.model import Node, NodeClass, PodShape, SchedulerProfile, requests_of
from binpackgen.simulate.timeline.result import State, Timeline
from binpackgen.simulate.workload.model import Submission, Workload

GIB = 2**30
GPU = "nvidia.com/gpu"
PACK = SchedulerProfile(37, strategy="MostAllocated", percentage=100)


def nodes_of(count: int, cores: int = 8, gpus: int = 0, pods: int = 110, name: str = "n") -> list[Node]:
    allocatable = {"cpu": cores * 1000, "memory": 64 * GIB, "pods": pods} | ({GPU: gpus} if gpus else {})
    return list(NodeClass(name, count, allocatable).nodes())


def shape_of(cores: float, gpus: int = 0, name: str = "pod", **rest: Any) -> PodShape:
    container = {"cpu": int(cores * 1000), "memory": GIB} | ({GPU: gpus} if gpus else {})
    return PodShape(name, *requests_of([container]), **rest)


def submit(name: str, shape: int, arrives: float, runs: float | None = None, **rest: Any) -> Submission:
    """One pod."""
    return Submission(name, rest.pop("kind", name), (shape,), arrives, runs, **rest)


def workload_of(
    shapes: Sequence[PodShape], submissions: Sequence[Submission], nodes: Sequence[Node] = ()
) -> Workload:
    return Workload("a test", tuple(shapes), tuple(submissions), tuple(nodes))


def states(timeline: Timeline) -> dict[str, str]:
    names = (submission.name for submission in timeline.workload.submissions)
    return {name: State(state).name for name, state in zip(names, timeline.states.tolist(), strict=True)}


def times(timeline: Timeline, field: str) -> dict[str, float | None]:
    """Times by name, None for what did not happen."""
    names = (submission.name for submission in timeline.workload.submissions)
    values = getattr(timeline, field).tolist()
    return {name: None if value != value else value for name, value in zip(names, values, strict=True)}


def random_workload(seed: int, *, jobs: bool) -> Workload:
    """Up to 40 submissions with tiers on a few nodes of two kinds; `jobs` with several pods, some of them gangs."""
    rng = random.Random(seed)
    nodes = [
        node
        for gpus in (0, 4)
        for node in nodes_of(rng.randint(1, 4), gpus=gpus, pods=rng.choice([3, 110]), name=f"g{gpus}")
    ]
    shapes = [shape_of(rng.choice([0.5, 1, 4]), rng.choice([0, 0, 1, 2, 4]), f"s{k}") for k in range(4)]
    submissions: list[Submission] = []
    now = 0.0
    for number in range(rng.randint(1, 40)):
        now += rng.choice([0, 0, 1, 2])
        submissions.append(
            Submission(
                name=f"job-{number}",
                kind="any",
                shapes=tuple(rng.randrange(4) for _ in range(rng.randint(1, 4) if jobs else 1)),
                arrives=now,
                runs=rng.choice([None, 0.0, 1.0, 3.0] if number % 7 == 0 else [1.0, 3.0, 10.0]),
                gang=jobs and rng.random() < 0.5,
                priority=rng.choice([0, 0, 5, 9]),
                preempts=rng.random() < 0.7,
            )
        )
    return workload_of(shapes, submissions, nodes)


def assert_lawful(timeline: Timeline) -> None:
    """No node ever holds more than it has, and what a submission holds at the end is what its state says."""
    free = [{**node.allocatable} for node in timeline.cluster.nodes]
    log = timeline.log
    for shape, node, sign in zip(log.shapes.tolist(), log.nodes.tolist(), log.signs.tolist(), strict=True):
        for resource, amount in {**timeline.shapes[shape].requests, "pods": 1}.items():
            free[node][resource] = free[node].get(resource, 0) - sign * amount
            assert free[node][resource] >= 0
    held = [0] * len(timeline.workload.submissions)
    for submission, sign in zip(log.submissions.tolist(), log.signs.tolist(), strict=True):
        held[submission] += sign
    for index, submission in enumerate(timeline.workload.submissions):
        state = State(timeline.states[index])
        if state in (State.ENDED, State.REJECTED, State.LOST, State.UNSEEN):
            assert 0 == held[index]
        elif state is State.RUNNING:
            assert 0 < held[index] <= len(submission.shapes)
        else:
            assert 0 <= held[index] < len(submission.shapes)
        assert (state is State.ENDED) == (timeline.ended[index] == timeline.ended[index])
    assert len(timeline.workload.submissions) == sum(timeline.counts().values())
    # the state at the end is what the log adds up to
    assert sum(held) == sum(map(len, timeline.snapshot(timeline.end).pods)) - sum(
        map(len, timeline.cluster.pods)
    )
