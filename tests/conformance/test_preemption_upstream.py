"""Random preemptions, judged by kube-scheduler's own DefaultPreemption and by the model: equal throughout.

For every node the pods that would have to go, in order, and how many disruption budgets that breaks; and the node
that is preempted on, which must be among the model's best (upstream's choice among equals is arbitrary). The real
plugin runs in the Go programs of the scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any

import pytest

from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.filters import FILTERS
from binpackgen.simulate.model import ClusterState, PodShape, SchedulerProfile
from binpackgen.simulate.objects import label_selector, read_cluster, read_pod
from binpackgen.simulate.timeline.budgets import DisruptionBudget
from binpackgen.simulate.timeline.preemption import Candidate, Victim, victims_on
from tests.conformance.scheduler_scores.cases import preemptions
from tests.conformance.scheduler_scores.program import FOLDERS, answers, program
from tests.conformance.tiers import ask

# the programs are built first where they are not in the cache
pytestmark = pytest.mark.timeout(1800)

CASES = 2000
PROFILE = {"schedulerName": "packer"}
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [PROFILE],
}

Object = dict[str, Any]


@lru_cache
def cases() -> tuple[Object, ...]:
    """Every minor is asked the same."""
    return tuple(preemptions(1, CASES))


@lru_cache
def real(minor: int) -> list[Any]:
    """What the scheduler says."""
    found = answers(ask(lambda: program(minor)), [{"configuration": CONFIGURATION}, *cases()])
    assert CASES == len(found)
    return found


def candidates(case: Object, minor: int) -> Iterator[tuple[Candidate, str, list[str]]]:
    """The nodes on which evictions make room, with their names and those of the victims."""
    profile = read_profiles(CONFIGURATION, minor)["packer"]
    cluster = read_cluster([*case["nodes"], *case["pods"], case["pod"]])
    state, preemptor = cluster.state, cluster.pending[0].shape
    budgets = [
        DisruptionBudget(
            item["metadata"]["name"],
            0,
            label_selector(item["spec"]["selector"]) or (),
            item["metadata"]["namespace"],
        )
        for item in case["budgets"]
    ]
    allowed = [item["status"]["disruptionsAllowed"] for item in case["budgets"]]
    shapes = [read_pod(pod) for pod in case["pods"]]
    names = [pod["metadata"]["name"] for pod in case["pods"]]
    for index, node in enumerate(state.nodes):
        lower = [
            Victim(
                position,
                pod["spec"]["priority"],
                datetime.fromisoformat(pod["status"]["startTime"]).timestamp(),
                tuple(number for number, budget in enumerate(budgets) if budget.selects(shapes[position])),
            )
            for position, pod in enumerate(case["pods"])
            if pod["spec"]["nodeName"] == node.name
            and pod["spec"]["priority"] < case["pod"]["spec"]["priority"]
        ]
        found = victims_on(
            lower,
            allowed,
            lambda position, index=index: state.release(shapes[position], index),  # type: ignore[misc]
            lambda position, index=index: state.bind(shapes[position], index),  # type: ignore[misc]
            lambda index=index: fits(state, preemptor, profile, index),  # type: ignore[misc]
            minor,
        )
        if found is not None and found[0]:
            victims = [names[victim.pod] for victim in found[0]]
            yield Candidate(index, *found), node.name, victims


def fits(state: ClusterState, pod: PodShape, profile: SchedulerProfile, index: int) -> bool:
    """Whether all filters let the pod onto the node."""
    return all(plugin(pod, state, profile)(index) for plugin in FILTERS.values())


@pytest.mark.parametrize("minor", list(FOLDERS))
def test_the_model_evicts_whom_the_real_plugin_evicts(minor: int) -> None:
    """Victims and broken budgets of each node, and the node chosen, in every case that no node takes as it is."""
    for case, answer in zip(cases(), real(minor), strict=True):
        if any("rejectedBy" not in node for node in answer["nodes"].values()):
            continue
        own = list(candidates(case, minor))
        victims = {name: {"pods": pods, "violations": one.violations} for one, name, pods in own}
        assert answer.get("victims", {}) == victims, case
        if own:
            least = min(one.badness for one, _, _ in own)
            assert answer["preempted"] in {name for one, name, _ in own if one.badness == least}, case


def test_the_cases_reach_what_they_are_for() -> None:
    """Many preempt, with a choice of nodes, of several victims, against budgets, and some must not."""
    answered = [
        answer for answer in real(37) if all("rejectedBy" in node for node in answer["nodes"].values())
    ]
    found = [answer["victims"] for answer in answered if answer.get("victims")]

    assert 600 < len(found) < len(answered)
    assert 250 < sum(len(victims) > 1 for victims in found)
    assert 500 < sum(any(len(each["pods"]) > 1 for each in victims.values()) for victims in found)
    assert 250 < sum(any(each["violations"] for each in victims.values()) for victims in found)


def test_the_budgets_of_another_minor_are_noticed() -> None:
    """Up to 1.36 a victim that breaks one budget counts against the others as well."""
    asked = zip(cases(), real(34), strict=True)
    assert any(
        answer["victims"][name]["violations"] != one.violations
        for case, answer in asked
        if "victims" in answer
        for one, name, _ in candidates(case, 37)
        if name in answer["victims"]
    )
