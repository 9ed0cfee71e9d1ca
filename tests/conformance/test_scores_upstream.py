"""21,000 random scheduling cycles a minor, scored by kube-scheduler's own plugins and by the model: equal throughout.

For every node the filter plugin that rejects it, or its weighted score by plugin and its total; and the node
that is taken, where that is settled. The real framework runs in Go programs on the pinned upstream modules:
1.34, the newest with the old balance formula and ties by chance, and 1.37.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

import pytest

from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.cycle import HEAP_SINCE, heap_winner, rejected_by, score, sum_up
from binpackgen.simulate.model import MODELED_SCORES, ZERO_SCORES
from binpackgen.simulate.objects import read_cluster
from binpackgen.simulate.scores import Cycle
from tests.conformance.scheduler_scores.cases import STRATEGIES, configurations, cycles
from tests.conformance.scheduler_scores.program import FOLDERS, answers, program
from tests.conformance.tiers import ask

# the program is built first where it is not in the cache
pytestmark = pytest.mark.timeout(1800)

MINORS = tuple(FOLDERS)
SEEDS = range(7)
CONFIGURATIONS = 60
CYCLES_EACH = 50

Case = tuple[dict[str, Any], dict[str, Any]]


@lru_cache
def cases(minor: int, seed: int) -> tuple[Case, ...]:
    """Pairs of a configuration that the minor takes and a cycle under it."""
    return tuple(
        (configuration, cycle)
        for number, configuration in enumerate(configurations(seed, CONFIGURATIONS, minor))
        for cycle in _cycles(1000 * seed + number)
    )


@lru_cache(None)
def _cycles(seed: int) -> tuple[dict[str, Any], ...]:
    """The same for every minor."""
    return tuple(cycles(seed, CYCLES_EACH))


def real(minor: int, seed: int) -> list[Any]:
    """The scheduler's answers; a plugin that scores 0 is left out, which a plugin that is skipped is as well."""

    def lines() -> Iterator[Any]:
        previous = None
        for configuration, cycle in cases(minor, seed):
            if configuration is not previous:
                yield {"configuration": configuration}
                previous = configuration
            yield cycle

    found = answers(ask(lambda: program(minor)), lines())
    for answer in found:
        for node in answer["nodes"].values():
            scores = node.pop("scores", {})
            assert not any(scores.pop(name, 0) for name in ZERO_SCORES)
            node["scores"] = {name: value for name, value in scores.items() if value}
    return found


def model(case: Case, minor: int) -> dict[str, Any]:
    """The model's answer in the form of the program's."""
    configuration, cycle = case
    profile = read_profiles(configuration, minor)["packer"]
    owners = ("services", "replicationControllers", "replicaSets", "statefulSets")
    extra = chain.from_iterable(cycle.get(name, ()) for name in owners)
    cluster = read_cluster([*cycle["nodes"], *extra, *cycle["pods"], cycle["pod"]])
    state, pod = cluster.state, cluster.pending[0].shape
    rejections = rejected_by(state, pod, profile)
    nodes: dict[str, Any] = {
        state.nodes[index].name: {"rejectedBy": plugin, "total": 0, "scores": {}}
        for index, plugin in enumerate(rejections)
        if plugin is not None
    }
    given = [state.index[node["metadata"]["name"]] for node in cycle["nodes"]]
    feasible = [index for index in given if rejections[index] is None]
    if not feasible:
        return {"nodes": nodes}
    scores = score(Cycle(pod, state, profile, feasible))
    totals = sum_up(scores, len(feasible))
    for position, index in enumerate(feasible):
        own = {name: values[position] for name, values in scores.items() if values[position]}
        nodes[state.nodes[index].name] = {"total": totals[position], "scores": own}
    if minor < HEAP_SINCE:
        return {"nodes": nodes}
    return {"nodes": nodes, "taken": state.nodes[feasible[heap_winner(totals)]].name}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("minor", MINORS)
def test_the_model_says_what_the_real_plugins_say(minor: int, seed: int) -> None:
    """Rejections, scores by plugin, totals and the node taken are equal in each of 3,000 cycles."""
    found = real(minor, seed)

    assert CONFIGURATIONS * CYCLES_EACH == len(found)
    for case, answer in zip(cases(minor, seed), found, strict=True):
        assert answer == model(case, minor), case


@pytest.mark.parametrize(("minor", "other"), [(34, 36), (37, 35)])
def test_the_balance_formula_of_another_minor_is_noticed(minor: int, other: int) -> None:
    """The same comparison finds the model of the wrong side of 1.36 wrong wherever it balances differently."""
    found = real(minor, 0)

    asked = zip(cases(minor, 0), found, strict=True)
    wrong = sum(answer["nodes"] != model(case, other)["nodes"] for case, answer in asked)
    assert wrong > 500


def test_the_cases_reach_what_they_are_for() -> None:
    """Every plugin tells nodes apart in many cases, every filter rejects, every strategy occurs."""
    telling: Counter[str] = Counter()
    rejecting: Counter[str] = Counter()
    strategies: Counter[str] = Counter()
    for case in cases(37, 0):
        nodes = model(case, 37)["nodes"].values()
        rejecting.update({node["rejectedBy"] for node in nodes if "rejectedBy" in node})
        scored = [node["scores"] for node in nodes if "rejectedBy" not in node]
        telling.update(name for name in MODELED_SCORES if len({scores.get(name, 0) for scores in scored}) > 1)
        strategies.update(
            entry["args"]["scoringStrategy"]["type"]
            for entry in case[0]["profiles"][0].get("pluginConfig", ())
            if entry["name"] == "NodeResourcesFit"
        )

    assert set(STRATEGIES) == set(strategies)
    assert [] == [name for name in MODELED_SCORES if telling[name] < 50]
    assert [] == [name for name, count in rejecting.items() if count < 20]
    assert 6 == len(rejecting)
