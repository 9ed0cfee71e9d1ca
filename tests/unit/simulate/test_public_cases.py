"""Placements that people reported, with the numbers that a real kube-scheduler 1.37.2 gave on the same input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.cycle import Decision, decide
from binpackgen.simulate.model import ClusterState, PodShape, SchedulerProfile
from binpackgen.simulate.objects import read_cluster, read_pod

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(case: str, name: str) -> list[Any]:
    """The YAML documents of a file of a case; skips where the collection is not at hand."""
    path = CASES / case / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return list(yaml.load_all(path.read_text(), Loader=LOADER))


def profile_of(case: str, name: str, scheduler: str = "default-scheduler") -> SchedulerProfile:
    return read_profiles(documents(case, name)[0], minor=37)[scheduler]


def snapshot(case: str) -> tuple[ClusterState, PodShape]:
    """A compact snapshot, written out as objects: its state and its pending pod."""
    source = documents(case, "cluster.yaml")[0]

    def objects() -> Iterator[dict[str, Any]]:
        for node in source["nodes"]:
            status = {"allocatable": node["allocatable"], "images": node.get("images", [])}
            yield {"kind": "Node", "metadata": {"name": node["name"]}, "status": status}
        for entry in (*source["bound"], *source["pending"]):
            container = {"image": entry.get("image", "other:1"), "resources": {"requests": entry["requests"]}}
            spec = {"nodeName": entry.get("node", ""), "containers": [container]}
            for _ in range(entry.get("count", 1)):
                yield {"kind": "Pod", "metadata": {"name": entry.get("name", "bound")}, "spec": spec}

    cluster = read_cluster(objects())
    return cluster.state, cluster.pending[0].shape


def totals(decision: Decision, state: ClusterState) -> dict[str, int]:
    nodes = zip(decision.feasible, decision.totals, strict=True)
    return {state.nodes[index].name: total for index, total in nodes}


def rollout(configuration: str) -> list[tuple[str, dict[str, tuple[int, ...]], tuple[int, ...]]]:
    """Case pk01: four replicas of a Deployment, one after another."""
    objects = documents("pk01", "cluster.yaml")
    deployment = next(item for item in objects if item["kind"] == "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    owner = {
        "kind": "ReplicaSet",
        "metadata": {"name": "web-1"},
        "spec": {"selector": {"matchLabels": labels}},
    }
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}
    template = {
        "kind": "Pod",
        "metadata": {"name": "web", "labels": labels, "ownerReferences": [reference]},
        "spec": deployment["spec"]["template"]["spec"],
    }
    state = read_cluster(objects).state
    shape = read_pod(template, [owner])
    profile = profile_of("pk01", configuration, template["spec"]["schedulerName"])
    steps = []
    for _ in range(deployment["spec"]["replicas"]):
        decision = decide(state, shape, profile)
        assert decision.node is not None
        state.bind(shape, decision.node)
        scores = {name: values for name, values in decision.scores.items() if any(values)}
        steps.append((state.nodes[decision.node].name, scores, decision.totals))
    return steps


def test_pk01_spreading_outvotes_packing() -> None:
    """With arguments alone the replicas alternate between the nodes."""
    rows = [
        ("worker-1", (43, 6), (200, 200), (618, 581)),
        ("worker-2", (50, 6), (132, 200), (557, 581)),
        ("worker-1", (50, 12), (200, 200), (625, 587)),
        ("worker-2", (56, 12), (120, 200), (551, 587)),
    ]
    expected = [
        (
            node,
            {
                "TaintToleration": (300, 300),
                "NodeResourcesFit": fit,
                "PodTopologySpread": spread,
                "NodeResourcesBalancedAllocation": (75, 75),
            },
            total,
        )
        for node, fit, spread, total in rows
    ]

    assert expected == rollout("a-before.yaml")


def test_pk01_packing_wins() -> None:
    """Without default spreading and with weight 10 all four land on one node."""
    rows = [
        ((430, 60), (730, 360)),
        ((500, 60), (800, 360)),
        ((560, 60), (860, 360)),
        ((620, 60), (920, 360)),
    ]
    expected = [
        ("worker-1", {"TaintToleration": (300, 300), "NodeResourcesFit": fit}, total) for fit, total in rows
    ]

    assert expected == rollout("b-after.yaml")


@pytest.mark.parametrize(
    ("configuration", "first"),
    [
        ("a-defaults.yaml", (468, 468, 468)),
        ("b-mostallocated-cpu-memory.yaml", (376, 376, 376)),
        ("c-mostallocated-with-gpu.yaml", (415, 415, 456)),
    ],
)
def test_pk02_a_forgotten_gpu_makes_a_tie(configuration: str, first: tuple[int, ...]) -> None:
    """Without a GPU weight the first job's node is a matter of luck, and it is reported as a tie."""
    cluster = read_cluster(documents("pk02", "cluster.yaml"))

    decision = decide(cluster.state, cluster.pending[0].shape, profile_of("pk02", configuration))

    assert first == decision.totals
    assert decision.is_tie == (len(set(first)) == 1)


def test_pk02_with_the_gpu_all_three_jobs_run() -> None:
    """The small job takes the small node; the second is a tie of the big ones, the third has one node left."""
    cluster = read_cluster(documents("pk02", "cluster.yaml"))
    profile = profile_of("pk02", "c-mostallocated-with-gpu.yaml")
    taken = []
    for pending in cluster.pending:
        decision = decide(cluster.state, pending.shape, profile)
        assert decision.node is not None
        cluster.state.bind(pending.shape, decision.node)
        taken.append((decision.top, decision.totals))

    assert [((2,), (415, 415, 456)), ((0, 1), (456, 456)), ((1,), ())] == taken


def test_pk02_elsewhere_the_last_job_waits() -> None:
    """If luck puts the first job on a big node, the third finds none."""
    cluster = read_cluster(documents("pk02", "cluster.yaml"))
    profile = profile_of("pk02", "a-defaults.yaml")
    for pending, node in zip(cluster.pending, (0, 1), strict=False):
        cluster.state.bind(pending.shape, node)

    assert decide(cluster.state, cluster.pending[2].shape, profile).feasible == ()


def test_pk04_pods_without_requests_count() -> None:
    """Twenty pods that declare nothing make a node fuller than one that declares a core."""
    state, shape = snapshot("pk04")

    decision = decide(state, shape, profile_of("pk04", "scheduler-config.yaml"))

    assert {"node-a": 425, "node-b": 400} == totals(decision, state)
    assert (51, 26) == decision.scores["NodeResourcesFit"]
    assert (74, 74) == decision.scores["NodeResourcesBalancedAllocation"]


def test_pk05_an_image_beats_packing() -> None:
    """The node that holds the image wins; with ImageLocality off the fuller one does."""
    state, shape = snapshot("pk05")
    configuration = documents("pk05", "scheduler-config.yaml")[0]

    decision = decide(state, shape, read_profiles(configuration, 37)["default-scheduler"])
    assert {"node-a": 426, "node-b": 418} == totals(decision, state)
    assert (33, 0) == decision.scores["ImageLocality"]

    off = {"score": {"disabled": [{"name": "ImageLocality"}]}}
    configuration["profiles"][0]["plugins"] = off
    decision = decide(state, shape, read_profiles(configuration, 37)["default-scheduler"])
    assert {"node-a": 393, "node-b": 418} == totals(decision, state)


@pytest.mark.parametrize(
    ("scheduler", "expected", "fit"),
    [
        ("default-scheduler", {"gpu-a": 96500, "gpu-b": 129000}, (74 * 1300, 99 * 1300)),
        ("gpu-packer", {"gpu-a": 358, "gpu-b": 310}, (58, 10)),
    ],
)
def test_sc01_a_profile_inherits_nothing(
    scheduler: str, expected: dict[str, int], fit: tuple[int, int]
) -> None:
    """Weights in one profile and arguments in another do not meet."""
    state = read_cluster(documents("sc01", "cluster.yaml")).state
    shape = read_pod(documents("sc01", "pod.yaml")[0])

    decision = decide(state, shape, profile_of("sc01", "scheduler-config.yaml", scheduler))

    assert expected == totals(decision, state)
    assert fit == decision.scores["NodeResourcesFit"]
    assert "NodeResourcesBalancedAllocation" not in decision.scores
