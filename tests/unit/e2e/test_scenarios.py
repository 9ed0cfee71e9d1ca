"""What scenarios count: misspelt types, nodes that are opened too early, nodes that a JobSet needs."""

from __future__ import annotations

from typing import Any

import pytest

from binpackgen.compilation import Compilation, compile_profile
from binpackgen.metrics.golden import NodeUse
from binpackgen.plan.model import Amount
from binpackgen_e2e.placing import Binding
from binpackgen_e2e.scenarios import caps, jobset, topology, verification
from binpackgen_e2e.scenarios.scenario import Scenario
from binpackgen_e2e.workloads import SUBMISSION, manifests

Item = dict[str, Any]

GPU = "nvidia.com/gpu"
REPLICATED = "jobset.sigs.k8s.io/replicatedjob-name"


@pytest.fixture(scope="module")
def article() -> Compilation:
    return compile_profile("profiles/article.yaml")


def bound(name: str, node: str, **labels: str) -> Item:
    metadata = {"name": name, "namespace": "ai", "uid": name, "labels": {SUBMISSION: "js", **labels}}
    return {"metadata": metadata, "spec": {"nodeName": node}}


@pytest.mark.parametrize(
    ("scenario", "profile", "expected"),
    [
        (topology.SCENARIO, "profiles/article.yaml", ""),
        (topology.SCENARIO, "tests/e2e/profiles/jobset.yaml", "a second GPU type, whose nodes could hold a job that names another"),
        (jobset.SCENARIO, "profiles/article.yaml", ""),
        (jobset.SCENARIO, "tests/e2e/profiles/caps-reserve.yaml", "a job with a master and several workers"),
        (caps.SCENARIO, "tests/e2e/profiles/caps-filter.yaml", ""),
        (caps.SCENARIO, "tests/e2e/profiles/jobset.yaml", "a cap (caps.headroom)"),
        (verification.SCENARIO, "profiles/article.yaml", ""),
    ],
)  # fmt: skip
def test_a_scenario_says_what_it_needs_that_the_profile_has_not(
    scenario: Scenario, profile: str, expected: str
) -> None:
    """In words that name the part of the profile."""
    assert expected == scenario.lacks(compile_profile(profile).plan)


@pytest.mark.parametrize(
    ("value", "known", "expected"),
    [
        ("v100", {"v100", "a100"}, "v10"),
        ("a100", {"a100", "a10"}, "a1000"),
        ("x", {"x"}, "xx"),
        ("x", {"x", "xx"}, "xy"),
    ],
)
def test_a_misspelling_is_near_and_none_of_the_known(value: str, known: set[str], expected: str) -> None:
    """An end cut off, else a letter doubled or added."""
    assert expected == topology.misspelt(value, known)


def test_without_selection_a_job_may_go_anywhere_and_keeps_its_tolerations(article: Compilation) -> None:
    """Queue, suspension, selectors and affinity to nodes go; tolerations and the master's distance stay."""
    [finetune] = [one for one in manifests(article) if one.name == "llm-finetune"]
    body = topology.without_selection(finetune.instance("free"))
    specs = [one["template"]["spec"]["template"]["spec"] for one in body["spec"]["replicatedJobs"]]
    assert [None, None] == [spec.get("nodeSelector") for spec in specs]
    assert [["podAntiAffinity"], []] == [list(spec.get("affinity") or {}) for spec in specs]
    assert all(spec["tolerations"] for spec in specs)
    assert "suspend" not in body["spec"]
    assert "kueue.x-k8s.io/queue-name" not in body["metadata"]["labels"]


def opened(*nodes: str) -> list[tuple[str, str]]:
    """Of pods of 2 cores that go to these nodes of 5 cores: the nodes opened too early, and what was open."""
    placed = [Binding(n, bound(f"p{n}", node), node) for n, node in enumerate(nodes)]
    room = {node: Amount(5000, 10, {}) for node in "abc"}
    found = verification.opened_too_early(placed, room, Amount(2000, 1, {}))
    return [(one.binding.node, one.open_node) for one in found]


def test_a_node_is_opened_too_early_while_another_could_take_the_pod() -> None:
    """Two pods of 2 cores fit on 5; each node that gets its first pod while one has room for it counts once."""
    assert [] == opened("a", "a", "b", "b", "c")
    assert [("b", "a")] == opened("a", "b", "a", "b", "c")
    assert [("b", "a"), ("c", "a")] == opened("a", "b", "c", "c")


def test_every_gpu_type_is_filled_by_the_profiles_largest_pods_that_share_a_node(
    article: Compilation,
) -> None:
    """Two 4-GPU pods fill a V100 node, four workers an A100 node; one more opens a third; the third kind is cut short."""
    found = [
        (one.gpu_type, one.manifest.name, one.group.role, one.pods)
        for one in verification.fillings(article.plan, manifests(article))
    ]
    assert [
        ("v100", "resnet50-train", "worker", 5),
        ("a100", "llm-finetune", "worker", 9),
        ("none", "llm-finetune", "master", 24),
    ] == found


@pytest.mark.parametrize(
    ("pods", "holds", "expected"),
    [(0, [4], 0), (4, [4, 4], 1), (5, [4, 4], 2), (5, [2, 1, 3], 2), (9, [4, 0, 4], 2), (3, [], 0)],
)
def test_the_largest_rooms_make_the_fewest_nodes(pods: int, holds: list[int], expected: int) -> None:
    """For equal pods; where the nodes do not hold them all, every node that holds any is needed."""
    assert expected == jobset.fewest_nodes(pods, holds)


def use(name: str, gpus: int, counted: int) -> NodeUse:
    """A node of the article's A100 pool with that many GPUs in use."""
    offers = {"cpu": 30000, "memory": 1 << 37, GPU: 4}
    requested = {"cpu": 6000 * gpus, "memory": 24 * gpus << 30, GPU: gpus}
    return NodeUse(name, "a100", "a100", offers, requested, counted, counted, (None,) * 4)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param("s s e1 e1", (1, 1, 1, True), id="started filled first"),
        pytest.param("s e1 e1 e1", (1, 1, 1, True), id="two would fit beside others: one must open"),
        pytest.param("e1 e2 e1 e2", (2, 1, 1, True), id="spread over two"),
        pytest.param("m e1 e1 e1", (1, 1, 1, False), id="beside its own master"),
    ],
)
def test_nodes_of_a_jobset_are_counted_against_what_was_free_before(
    article: Compilation, nodes: str, expected: tuple[int, int, int, bool]
) -> None:
    """One node is started with 2 of 4 GPUs free, the master's is full of itself, two are empty."""
    [finetune] = [one for one in manifests(article) if one.name == "llm-finetune"]
    pods = [bound("master", "m", **{REPLICATED: "master"})]
    pods += [bound(f"w{n}", node, **{REPLICATED: "workers"}) for n, node in enumerate(nodes.split())]
    before = [use("s", 2, 2), use("m", 0, 1), use("e1", 0, 0), use("e2", 0, 0)]
    placed = jobset.read_placement(article.plan, finetune, "js", pods, before)
    assert expected == (placed.opened, placed.needed, placed.fewest, placed.is_apart)


def test_unbound_pods_and_those_of_others_are_not_counted(article: Compilation) -> None:
    """A JobSet without a bound pod has no nodes, and its master is not apart."""
    [finetune] = [one for one in manifests(article) if one.name == "llm-finetune"]
    waiting = bound("w", "e1", **{REPLICATED: "workers"})
    waiting["spec"] = {}
    stray = bound("x", "e1", **{SUBMISSION: "another"})
    placed = jobset.read_placement(article.plan, finetune, "js", [waiting, stray], [use("e1", 0, 0)])
    assert jobset.Placed("js", frozenset(), frozenset(), 0, 0, 0) == placed
    assert not placed.is_apart
