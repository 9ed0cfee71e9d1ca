"""Pods of traces become pods of the profile's templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from binpackgen.errors import BinpackgenError
from binpackgen.simulate.matching import Requirement, Toleration
from binpackgen.simulate.model import Node, PodShape, PreferredNodes, requests_of
from binpackgen.simulate.workload.model import Submission, Workload
from binpackgen.study.source import MODEL, Trace, adopt, adopt_nodes, at_load, read_trace
from binpackgen.study.strategies import read_strategies
from tests.unit.study.conftest import Make

GPU = "nvidia.com/gpu"


def pod(gpus: int, *models: str) -> PodShape:
    asked = {"cpu": 1000, "memory": 2**30} | ({GPU: gpus} if gpus else {})
    terms = ((Requirement(MODEL, "In", models),),) if models else None
    return PodShape(f"p{gpus}", *requests_of([asked]), required_nodes=terms)


def test_pods_tolerate_and_prefer_what_the_profile_says(make: Make) -> None:
    """GPU pods tolerate the GPU taint under the profile's spelling of the type; CPU pods prefer the CPU pool."""
    gpu, cpu = adopt(make(), Workload("", (pod(1, "A100"), pod(0)), ())).shapes

    taint = Toleration("nvidia.com/gpu", "Equal", "present", "NoSchedule")
    assert (taint,) == gpu.tolerations
    assert ((Requirement("binpackgen.dev/gpu-type", "In", ("a100",)),),) == gpu.required_nodes
    assert (
        PreferredNodes(100, (Requirement("binpackgen.dev/pool", "In", ("cpu",)),)),
    ) == cpu.preferred_nodes


def test_other_strategies_have_no_preferences_between_pools(make: Make) -> None:
    """But keep those that a pod's author stated."""
    subject = make()
    stated = PreferredNodes(5, (Requirement("disk", "In", ("ssd",)),))
    (cpu,) = adopt(subject, Workload("", (pod(0),), ())).shapes
    both = (
        PodShape("p", cpu.requests, cpu.scoring_requests, preferred_nodes=(stated, *cpu.preferred_nodes)),
    )
    ours, default = read_strategies(("compiled", "default"), subject)

    assert both == ours.shapes(both)
    assert (stated,) == default.shapes(both)[0].preferred_nodes


def test_pods_without_gpus_keep_to_spare_cores_where_the_profile_says_so(make: Make) -> None:
    """32 cores for 4 GPUs with 8 each: none to spare. Other strategies know nothing of it; GPU types are the pods' own."""
    subject = make("packing: {cpuOnlyPods: spare-cores}")
    gpu, cpu = adopt(subject, Workload("", (pod(1, "A100"), pod(0)), ())).shapes
    own = (Requirement("binpackgen.dev/gpu-type", "In", ("a100",)),)
    (default,) = read_strategies(("default",), subject)

    assert ((Requirement("binpackgen.dev/pool", "NotIn", ("gpu",)),),) == cpu.required_nodes
    assert (own,) == gpu.required_nodes
    assert [(own,), None] == [shape.required_nodes for shape in default.shapes((gpu, cpu))]


def test_nodes_get_the_pool_that_they_look_like(make: Make) -> None:
    """By cores, memory, GPUs and model; others stay as they are and are counted."""
    subject = make()
    amounts = {"cpu": 32_000, "memory": 128 * 2**30, "pods": 250, GPU: 4}
    like = Node("like", amounts, {MODEL: "A100"})
    unlike = Node("unlike", {**amounts, "cpu": 5}, {MODEL: "A100"})

    (first, second), strangers = adopt_nodes(subject, [like, unlike])

    assert "gpu" == first.labels["binpackgen.dev/pool"]
    assert "nvidia.com/gpu" == first.taints[0].key
    assert (unlike, 1) == (second, strangers)


def test_other_seeds_shuffle_who_comes_when(make: Make) -> None:
    """The first keeps the record; the times and the pods stay the same."""
    submissions = tuple(Submission(f"s{i}", "", (0,), float(i)) for i in range(20))
    trace = Trace(Workload("", (pod(0),), submissions), make().cluster())
    shuffled = trace.workload(1).submissions

    assert submissions == trace.workload(0).submissions
    assert [one.arrives for one in submissions] == [one.arrives for one in shuffled]
    assert {one.name for one in submissions} == {one.name for one in shuffled}
    assert [one.name for one in submissions] != [one.name for one in shuffled]


def test_arrivals_are_drawn_together_to_a_load(make: Make) -> None:
    """16 GPUs; 20 pods with one for 8 s each, one a second for 19 s: a load of 160 / 19 / 16. At 1 they come within 10 s."""
    submissions = tuple(Submission(f"s{i}", "", (0,), float(i), 8.0) for i in range(20))
    trace = Trace(Workload("record", (pod(1),), submissions), make().cluster())

    found = at_load(trace, 1.0, (GPU, "cpu", "memory")).workload(0)

    assert pytest.approx(10.0) == found.submissions[-1].arrives
    assert "record, arrivals drawn together to an offered load of 1" == found.source


def test_a_record_without_times_has_no_load(make: Make) -> None:
    """And says so."""
    trace = Trace(Workload("record", (pod(1),), (Submission("s", "", (0,)),)), make().cluster())

    with pytest.raises(BinpackgenError, match="how long they run"):
        at_load(trace, 1.0, (GPU, "cpu", "memory"))


def test_pods_that_no_pool_takes_are_a_warning(make: Make, tmp_path: Path) -> None:
    """Too large, and of a GPU type that the profile does not have; the others are not named."""
    file = tmp_path / "pods.csv"
    rows = ["p1,4000,4096,1,1000,A100", "p2,900000,4096,0,0,", "p3,4000,4096,1,1000,H100"]
    file.write_text("\n".join(["name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec", *rows]) + "\n")
    _, _, findings = read_trace(make(), str(file), None)

    assert [("BP025", str(file)), ("BP025", str(file))] == [(one.code, one.span.file) for one in findings]
    assert ["900000m-4096Mi-0gpu", "4000m-4096Mi-1gpu-H100"] == [one.message.split()[6] for one in findings]
