"""Whole runs of a real kube-scheduler on the openb trace: 2,000 pods on 300 nodes, and the model goes every step.

The scheduler runs with an API server and nothing else, one filter at a time (parallelism 1) and without reuse
of earlier rankings (OpportunisticBatching), so that what it does follows from its input. From 1.35 on the
model, on its own, must put each pod on the same node or on none; in 1.34 chance decides among the best nodes,
and each choice must be one of the model's best. Each run comes with a model that is wrong in one thing, which
must disagree.

Two runs look at a sample of the nodes, which stand in zones; two of 500 pods have every feature that the model
knows as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from binpackgen.simulate.model import SchedulerProfile
from binpackgen_e2e.binaries import binary
from binpackgen_e2e.decisions import SchedulerAlone, scheduler_alone
from tests.conformance.tiers import ask
from tests.conformance.whole_runs import (
    MOST,
    RATIO,
    Question,
    anything,
    compiled,
    configuration,
    first_difference,
    in_zones,
    trace_nodes,
    trace_pods,
)

PROFILES = Path(__file__).resolve().parents[2] / "profiles"
NODES, PODS = 300, 2000


class Case(NamedTuple):
    """A question, and the change of the profile after which the model must be wrong."""

    question: Callable[[], Question]
    spoil: Callable[[SchedulerProfile], SchedulerProfile]


def of_trace(seed: int, strategy: dict[str, object] | None) -> Question:
    return Question(configuration(strategy), trace_nodes(seed, NODES), trace_pods(seed, PODS))


def sampled(seed: int, strategy: dict[str, object] | None, pods: int = PODS) -> Question:
    """144 of the 300 nodes are looked at, in turns from three zones, each search from where the last ended."""
    nodes = in_zones(trace_nodes(seed, NODES))
    return Question(configuration(strategy, percentage=0), nodes, trace_pods(seed, pods))


NEWEST = {
    "default": Case(lambda: of_trace(1, None), lambda right: replace(right, minor=35)),
    "MostAllocated": Case(
        lambda: of_trace(2, MOST),
        lambda right: replace(right, resources=(("cpu", 1), ("memory", 1), ("nvidia.com/gpu", 4))),
    ),
    "RequestedToCapacityRatio": Case(
        lambda: of_trace(3, RATIO), lambda right: replace(right, shape=((0, 0), (50, 4), (100, 10)))
    ),
    "compiled": Case(
        lambda: compiled(str(PROFILES / "openb.yaml"), 4, NODES, PODS),
        lambda right: replace(right, weights={**right.weights, "NodeAffinity": 0}),
    ),
    "everything": Case(
        lambda: anything(9, 150, 500), lambda right: replace(right, hard_pod_affinity_weight=40)
    ),
    "sampled": Case(lambda: sampled(5, None), lambda right: replace(right, percentage=49)),
    "sampled, packing": Case(
        lambda: sampled(6, MOST, pods=1000), lambda right: replace(right, percentage=47)
    ),
}
OLDER = {
    "everything": Case(lambda: anything(10, 150, 500), lambda right: replace(right, minor=36)),
    "MostAllocated": Case(
        lambda: of_trace(8, MOST),
        lambda right: replace(right, resources=(("cpu", 1), ("memory", 1), ("nvidia.com/gpu", 4))),
    ),
}


def alone(minor: str) -> AbstractContextManager[SchedulerAlone]:
    """A scheduler of this minor, if its programs can be had."""
    for name, version in (("etcd", ""), ("kube-apiserver", minor), ("kube-scheduler", minor)):
        ask(lambda name=name, version=version: binary(name, version))  # type: ignore[misc]
    return scheduler_alone(minor)


@pytest.fixture(scope="module")
def newest() -> Iterator[SchedulerAlone]:
    """1.37."""
    with alone("1.37") as scheduler:
        yield scheduler


@pytest.fixture(scope="module")
def older() -> Iterator[SchedulerAlone]:
    """1.34, the last minor that decides by chance among equals."""
    with alone("1.34") as scheduler:
        yield scheduler


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", list(NEWEST))
def test_the_model_places_every_pod_where_the_scheduler_did(newest: SchedulerAlone, name: str) -> None:
    """The same node for each attempt, or none for both; the spoiled model differs."""
    judge(newest, NEWEST[name], "--feature-gates=OpportunisticBatching=false")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", list(OLDER))
def test_every_choice_by_chance_is_among_the_best(older: SchedulerAlone, name: str) -> None:
    """Each node that 1.34 took has the model's highest total; the spoiled model differs."""
    judge(older, OLDER[name])


def judge(scheduler: SchedulerAlone, case: Case, *flags: str) -> None:
    """Run and compare."""
    question = case.question()
    profile = question.profile(scheduler.minor)
    run = scheduler.decide(question.configuration, question.nodes, question.pods, question.others, *flags)

    assert first_difference(run, question, profile) is None
    assert first_difference(run, question, case.spoil(profile)) is not None
    assert sum(chosen is not None for chosen in run.chosen) > len(question.pods) // 2
