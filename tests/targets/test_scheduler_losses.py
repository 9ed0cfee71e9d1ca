"""Managed schedulers: the nearest that their API can say, and every part that it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from binpackgen.document import TextFile, Unsupported
from tests.targets.scheduler_factory import MANAGED, POOLS, bodies, losses, outputs, scheduler_plan

CONTROL_PLANE = ("spec", "kubernetes", "controlPlane")


def test_openshift() -> None:
    """The profile of the cluster's Scheduler that packs."""
    assert bodies(scheduler_plan("openshift")) == {
        "scheduler/openshift.yaml": [
            {
                "apiVersion": "config.openshift.io/v1",
                "kind": "Scheduler",
                "metadata": {
                    "name": "cluster",
                    "labels": {
                        "app.kubernetes.io/managed-by": "binpackgen",
                        "app.kubernetes.io/part-of": "binpackgen",
                        "binpackgen.dev/profile": "lab",
                    },
                },
                "spec": {"profile": "HighNodeUtilization"},
            }
        ]
    }


def test_eks() -> None:
    """The strategy of NodeResourcesFit with the GPU's weight."""
    assert bodies(scheduler_plan("eks", packing={"resourceWeights": {"gpu": 19}})) == {
        "scheduler/eks.yaml": [
            {
                "kubeSchedulerConfig": {
                    "nodeResourcesFit": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [
                                {"name": "cpu", "weight": 1},
                                {"name": "memory", "weight": 1},
                                {"name": "nvidia.com/gpu", "weight": 19},
                            ],
                        }
                    }
                }
            }
        ]
    }


def test_eks_leaves_out_what_it_does_not_allow_and_says_so() -> None:
    """EKS refuses resources that are not on its list, such as shared GPUs, so they are lost, not sent."""
    shared = {"type": "a100", "count": 4, "sharing": {"strategy": "mps", "replicas": 4, "rename": True}}
    jobs = [
        {
            "name": "train",
            "template": "single-gpu",
            "image": "example.com/train:1",
            "each": {"cpu": 1, "memory": "4Gi", "gpu": {"type": "a100", "count": 1}},
        }
    ]
    plan = scheduler_plan("eks", nodePools=[{**POOLS[0], "gpu": shared}], jobs=jobs)
    [settings] = bodies(plan)["scheduler/eks.yaml"]

    names = settings["kubeSchedulerConfig"]["nodeResourcesFit"]["scoringStrategy"]["resources"]
    assert [entry["name"] for entry in names] == ["cpu", "memory"]
    assert losses(plan)["weight of nvidia.com/gpu.shared (pool a100)"] == ("spec", "nodePools", 0, "gpu")


def test_gke() -> None:
    """A command that takes the cluster's name from who calls it: no text of a profile is in it."""
    [script] = [output for output in outputs(scheduler_plan("gke")) if isinstance(output, TextFile)]

    assert script.path == "scheduler/gke.sh"
    assert script.text.splitlines()[-1] == (
        'exec gcloud container clusters update "$@" --autoscaling-profile=optimize-utilization'
    )


def test_gardener() -> None:
    """A merge patch of the Shoot."""
    assert bodies(scheduler_plan("gardener")) == {
        "scheduler/gardener.yaml": [
            {
                "apiVersion": "core.gardener.cloud/v1beta1",
                "kind": "Shoot",
                "spec": {"kubernetes": {"kubeScheduler": {"profile": "bin-packing"}}},
            }
        ]
    }


#: What every profile asks for and no managed scheduler can say.
ALWAYS = {
    "weights of score plugins": CONTROL_PLANE,
    "no default spreading": CONTROL_PLANE,
    "CPU-only pods go to CPU pools first": ("spec", "packing", "cpuOnlyPods"),
    "scheduler name batch-packer": ("spec", "packing", "schedulerName"),
}
GPU_WEIGHT = {"weight of nvidia.com/gpu": ("spec", "nodePools", 0, "gpu")}


@pytest.mark.parametrize("control_plane", MANAGED)
def test_losses_of_an_ordinary_profile(control_plane: str) -> None:
    """Only EKS takes the weight of a GPU; weights of plugins, names and spreading none takes."""
    expected = ALWAYS if control_plane == "eks" else {**ALWAYS, **GPU_WEIGHT}

    assert expected == losses(scheduler_plan(control_plane))


@pytest.mark.parametrize("control_plane", MANAGED)
def test_whole_nodes_for_the_largest_pods_are_lost(control_plane: str) -> None:
    """The order of pools that smaller pods carry counts for little where weights cannot be set."""
    pools = [*POOLS, {**POOLS[0], "name": "v100", "cpu": 64, "gpu": {"type": "v100", "count": 8}}]
    jobs = [
        {
            "name": f"train-{gpus}",
            "template": "single-gpu",
            "image": "example.com/train:1",
            "each": {"cpu": 8, "memory": "32Gi", "gpu": {"count": gpus}},
        }
        for gpus in (8, 1)
    ]
    what = "smaller GPU pods leave the largest nodes whole"

    assert ("spec", "jobs", 1, "each", "gpu") == losses(
        scheduler_plan(control_plane, nodePools=pools, jobs=jobs)
    )[what]


@pytest.mark.parametrize("control_plane", MANAGED)
@pytest.mark.parametrize(
    ("sections", "what", "at"),
    [
        (
            {"packing": {"pluginWeight": 9}},
            "weights of score plugins (NodeResourcesFit 9)",
            ("spec", "packing", "pluginWeight"),
        ),
        (
            {"packing": {"keepScorers": {"ImageLocality": 1}}},
            "weights of score plugins",
            ("spec", "packing", "keepScorers"),
        ),
        (
            {"packing": {"strategy": "RequestedToCapacityRatio"}},
            "strategy RequestedToCapacityRatio",
            ("spec", "packing", "strategy"),
        ),
        (
            {"packing": {"serving": {"schedulerName": "spread"}}},
            "serving profile spread",
            ("spec", "packing", "serving", "schedulerName"),
        ),
        (
            {"packing": {"percentageOfNodesToScore": 40}},
            "percentageOfNodesToScore 40",
            ("spec", "packing", "percentageOfNodesToScore"),
        ),
        (
            {"nodePools": [{**POOLS[0], "count": 200}, POOLS[1]]},
            "percentageOfNodesToScore 100",
            ("spec", "packing", "percentageOfNodesToScore"),
        ),
        (
            {"caps": {"form": "curve", "headroom": {"cpu": 2}}},
            "cap in curve form",
            ("spec", "caps", "form"),
        ),
        (
            {"caps": {"form": "filter", "headroom": {"cpu": 2}}},
            "cap in filter form",
            ("spec", "caps", "form"),
        ),
        (
            {"image": "example.com/s:1"},
            "scheduler image example.com/s:1",
            ("spec", "kubernetes", "schedulerImage"),
        ),
    ],
)
def test_what_a_profile_asks_for_in_particular(
    control_plane: str, sections: dict[str, Any], what: str, at: tuple[str | int, ...]
) -> None:
    """Each wish that the control plane cannot express is named with the line that states it."""
    assert at == losses(scheduler_plan(control_plane, **sections))[what]


@pytest.mark.parametrize("control_plane", ["openshift", "gke", "gardener"])
def test_resource_weights_are_lost_where_none_are_taken(control_plane: str) -> None:
    """Weights of cpu and memory that a profile insists on are named; EKS takes them."""
    packing = {"resourceWeights": {"cpu": 2, "memory": 1}}

    assert "weights cpu 2 and memory 1" in losses(scheduler_plan(control_plane, packing=packing))
    assert "weights cpu 2 and memory 1" not in losses(scheduler_plan("eks", packing=packing))


@pytest.mark.parametrize("control_plane", MANAGED)
def test_packing_by_the_default_scheduler_keeps_its_name(control_plane: str) -> None:
    """Who lets every pod be packed loses no scheduler name; a reserve cap is no scheduler's matter."""
    plan = scheduler_plan(
        control_plane,
        packing={"schedulerName": "default-scheduler"},
        caps={"headroom": {"cpu": 2}},
    )

    assert [what for what in losses(plan) if "name" in what or "cap" in what] == []


@pytest.mark.parametrize("control_plane", MANAGED)
def test_every_loss_has_a_reason_and_a_way_out(control_plane: str) -> None:
    """Reasons are sentences with their numbers, without a full stop; the way out is never empty."""
    plan = scheduler_plan(
        control_plane,
        nodePools=[{**POOLS[0], "count": 200}, POOLS[1]],
        packing={
            "pluginWeight": 9,
            "strategy": "RequestedToCapacityRatio",
            "serving": {"schedulerName": "spread"},
        },
        caps={"form": "filter", "headroom": {"cpu": 2}},
    )
    found = [output for output in outputs(plan) if isinstance(output, Unsupported)]

    assert len(found) >= 8
    assert [
        loss for loss in found if not loss.reason or loss.reason.endswith(".") or not loss.alternative
    ] == []


def test_the_margin_is_in_the_reason() -> None:
    """The loss of the weights states by how much packing is outvoted."""
    [reason] = [
        output.reason
        for output in outputs(scheduler_plan("eks"))
        if isinstance(output, Unsupported) and output.what == "weights of score plugins"
    ]
    worst = scheduler_plan("eks").scheduler.worst

    assert worst is not None
    assert f"{worst.step} x 1 points" in reason
    assert f"(margin {worst.points})" in reason
