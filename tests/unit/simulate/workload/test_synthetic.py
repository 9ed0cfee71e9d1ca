"""Workloads drawn from a profile's jobs: the pods that users apply, at the load that was asked for."""

from __future__ import annotations

import math
import random
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from binpackgen.compilation import Compilation, compile_profile
from binpackgen.document import Document
from binpackgen.errors import BinpackgenError
from binpackgen.finding import Severity
from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.model import HOSTNAME, Node
from binpackgen.simulate.timeline.queues import read_queues
from binpackgen.simulate.timeline.result import State
from binpackgen.simulate.timeline.run import run
from binpackgen.simulate.workload.reading import Reading
from binpackgen.simulate.workload.synthetic import Durations, draw_workload, plan_cluster
from binpackgen.simulate.workload.templates import JOBSET_NAME
from tests.unit.simulate.timeline.clusters import assert_lawful

ARTICLE = Path(__file__).resolve().parents[4] / "profiles" / "article.yaml"
GPU = "nvidia.com/gpu"
#: 12 nodes of 8 GPUs and 8 of 4.
GPUS = 128


@lru_cache
def article() -> Compilation:
    return compile_profile(str(ARTICLE))


def drawn(load: float = 0.5, submissions: int = 200, **rest: object) -> Reading:
    compilation = article()
    return draw_workload(
        compilation.plan,
        compilation.outputs,
        load=load,
        submissions=submissions,
        **rest,  # type: ignore[arg-type]
    )


def test_the_same_seed_draws_the_same() -> None:
    """And another one does not."""
    assert drawn(seed=3).workload == drawn(seed=3).workload
    assert drawn(seed=3).workload.submissions != drawn(seed=4).workload.submissions


def test_another_load_draws_the_same_jobs_at_other_times() -> None:
    """Twice the load is half the time between arrivals."""
    half, whole = drawn(0.5).workload, drawn(1.0).workload

    assert [one.name for one in half.submissions] == [one.name for one in whole.submissions]
    for slow, fast in zip(half.submissions, whole.submissions, strict=True):
        assert math.isclose(slow.arrives, 2 * fast.arrives)
        assert slow.runs == fast.runs


def test_pods_are_those_of_the_compiled_manifests() -> None:
    """Requests, selectors, preferences, tolerations, tiers, queues, gangs."""
    workload = drawn().workload
    by_kind = {one.kind: one for one in workload.submissions}

    tiers = {tier.name: tier.source for tier in article().plan.tiers}

    train = by_kind["resnet50-train"]
    assert (2, True, 1_000_000, tiers["batch-high"].preempts, "vision") == (
        len(train.shapes),
        train.gang,
        train.priority,
        train.preempts,
        train.queue,
    )
    shape = workload.shapes[train.shapes[0]]
    assert {"cpu": 16000, "memory": 64 * 2**30, GPU: 4} == shape.requests
    assert [("binpackgen.dev/gpu-type", ("v100",))] == [(one.key, one.values) for one in shape.node_selector]
    assert [(GPU, "present")] == [(one.key, one.value) for one in shape.tolerations]
    array = by_kind["variant-calling"]
    assert (16, False, 10_000, tiers["batch-low"].preempts, "etl") == (
        len(array.shapes),
        array.gang,
        array.priority,
        array.preempts,
        array.queue,
    )
    assert 6 * 3600.0 == array.runs
    template = manifest("variant-calling")["spec"]["template"]["spec"]
    terms = template["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["weight"] for term in terms] == [
        term.weight for term in workload.shapes[array.shapes[0]].preferred_nodes
    ]


def manifest(name: str) -> dict[str, Any]:
    """The compiled manifest of a job."""
    return next(
        output.body
        for output in article().outputs
        if isinstance(output, Document) and output.path == f"jobs/{name}.yaml"
    )


def test_jobsets_that_look_at_their_own_pods_have_their_own_names() -> None:
    """The master keeps off the workers of its own JobSet, not off those of another one; other jobs share shapes."""
    workload = drawn().workload
    masters = [one for one in workload.submissions if one.kind == "llm-finetune"][:2]

    names = [workload.shapes[one.shapes[0]].labels[JOBSET_NAME] for one in masters]

    assert [one.name for one in masters] == names
    assert len({one.shapes[0] for one in masters}) == 2
    assert len({one.shapes for one in workload.submissions if one.kind == "eval"}) == 1


@pytest.mark.parametrize("durations", [Durations(), Durations(0.25), Durations(0.5, True)])
def test_the_offered_load_is_the_one_asked_for(durations: Durations) -> None:
    """What arrives asks for that share of the devices over time, within the noise of the draw."""
    workload = drawn(0.8, 5000, durations=durations, seed=1).workload
    held = sum(
        sum(workload.shapes[shape].requests.get(GPU, 0) for shape in one.shapes) * (one.runs or 0.0)
        for one in workload.submissions
    )

    offered = held / (workload.submissions[-1].arrives * GPUS)

    assert math.isclose(0.8, offered, rel_tol=0.06)


def test_the_mean_of_cut_durations_is_that_of_the_draws() -> None:
    """An exponential time that is cut at the deadline."""
    durations, chance = Durations(0.5, True), random.Random(5)
    draws = [durations.draw(100.0, chance) for _ in range(50_000)]

    assert max(draws) == 100.0
    assert math.isclose(durations.mean(100.0), sum(draws) / len(draws), rel_tol=0.01)


def test_shares_weigh_how_often_jobs_come() -> None:
    """Three to one; what is not named does not come."""
    workload = drawn(submissions=4000, shares={"eval": 3, "nightly-etl": 1}).workload
    kinds = [one.kind for one in workload.submissions]

    assert {"eval", "nightly-etl"} == set(kinds)
    assert math.isclose(0.75, kinds.count("eval") / len(kinds), rel_tol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shares": {"eval": 0}}, "no job to draw"),
        ({"shares": {"typo": 1}}, "no job typo; it has"),
        ({"shares": {"eval": -1}}, "not negative"),
        ({"shares": {"eval": math.nan}}, "not negative"),
        ({"load": 0.0}, "greater than 0"),
        ({"load": math.nan}, "greater than 0"),
        ({"submissions": 0}, "greater than 0"),
        ({"durations": Durations(0.0)}, "greater than 0"),
    ],
)
def test_mixes_of_nothing_are_refused(options: dict[str, object], message: str) -> None:
    """With what is wrong about them."""
    with pytest.raises(BinpackgenError, match=message):
        drawn(**options)  # type: ignore[arg-type]


def test_a_mix_without_devices_is_offered_by_cpu() -> None:
    """The scarce resource is the one that jobs ask for."""
    reading = drawn(0.5, shares={"nightly-etl": 1})

    assert "at 50% of cpu" in reading.workload.source


def test_claims_are_notes_at_the_job_that_names_them() -> None:
    """Once a claim."""
    findings = drawn().findings

    assert [
        (Severity.NOTE, "claim pvc-nas-data is taken to be bound and to be reachable from every node"),
        (Severity.NOTE, "claim pvc-nas-output is taken to be bound and to be reachable from every node"),
    ] == [(finding.severity, finding.message) for finding in findings]


def test_a_plan_has_nodes() -> None:
    """All that its pools may have, with allocatable amounts, labels and taints, and what DaemonSets take on each."""
    cluster = plan_cluster(article().plan)
    node = next(node for node in cluster.nodes if node.name == "a100-7")

    assert 24 == len(cluster.nodes)
    # 32 cores less 2 of headroom; 128 GiB less 8 and the eviction threshold of 100 MiB
    assert {"cpu": 30000, "memory": (120 * 1024 - 100) * 2**20, GPU: 4, "pods": 110} == node.allocatable
    assert "a100" == node.labels["binpackgen.dev/gpu-type"]
    assert "a100-7" == node.labels[HOSTNAME]
    assert [(GPU, "present", "NoSchedule")] == [(one.key, one.value, one.effect) for one in node.taints]
    assert isinstance(node, Node)
    assert [0] * 24 == [len(pods) for pods in cluster.pods]


def test_daemonsets_take_their_part_of_every_node(tmp_path: Path) -> None:
    """As one pod that stays, and zones come by turns."""
    text = ARTICLE.read_text().replace(
        "{name: cpu, count: 4, cpu: 64, memory: 256Gi}",
        "{name: cpu, count: 4, cpu: 64, memory: 256Gi, overhead: {cpu: 500m, memory: 1Gi}, zones: [a, b]}",
    )
    (tmp_path / "profile.yaml").write_text(text)

    cluster = plan_cluster(compile_profile(str(tmp_path / "profile.yaml")).plan)

    used = {node.name: taken for node, taken in zip(cluster.nodes, cluster.requested, strict=True)}
    assert {"cpu": 500, "memory": 2**30} == used["cpu-0"]
    assert {} == used["v100-0"]
    zones = {node.name: node.labels.get("topology.kubernetes.io/zone") for node in cluster.nodes}
    assert ["a", "b", "a", "b", None] == [
        zones[name] for name in ("cpu-0", "cpu-1", "cpu-2", "cpu-3", "v100-0")
    ]


def test_a_whole_course_of_the_article_cluster() -> None:
    """Drawn jobs through the compiled queues and the compiled scheduler: all end, and quotas keep etl at 4 nodes."""
    compilation = article()
    bodies = [output.body for output in compilation.outputs if isinstance(output, Document)]
    configuration = next(body for body in bodies if body.get("kind") == "KubeSchedulerConfiguration")
    profile = read_profiles(configuration, 37)[compilation.plan.scheduler.name]
    reading = drawn(0.3, 60, durations=Durations(0.2), seed=2)

    timeline = run(reading.workload, plan_cluster(compilation.plan), profile, queues=read_queues(bodies))

    assert {State.ENDED: 60} == timeline.counts()
    assert_lawful(timeline)
    assert 0 < timeline.usage(GPU).peak <= GPUS
