"""The forms in which control planes that take a whole configuration get it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from binpackgen.targets.scheduler.configuration import scheduler_configuration
from tests.targets.scheduler_factory import bodies, documents, losses, outputs, scheduler_plan

IMAGE = "example.com/kube-scheduler:1"
KIND_SCHEDULER_PATCH = """\
kind: ClusterConfiguration
scheduler:
  extraArgs:
    config: /etc/kubernetes/binpackgen/kube-scheduler-config.yaml
  extraVolumes:
    - name: binpackgen
      hostPath: /etc/kubernetes/binpackgen
      mountPath: /etc/kubernetes/binpackgen
      readOnly: true
      pathType: Directory
"""
KIND_TAINT_PATCH = """\
kind: JoinConfiguration
nodeRegistration:
  taints:
    - key: nvidia.com/gpu
      value: present
      effect: NoSchedule
"""
FILTER = {"form": "filter", "headroom": {"cpu": 2}}


def test_kubeadm_gets_a_file_a_list_of_arguments_and_a_hash() -> None:
    """v1beta4's extraArgs are a list (case kd03), a folder is mounted, and the static pod carries the hash."""
    plan = scheduler_plan("kubeadm")
    configuration = scheduler_configuration(plan, kubeconfig="/etc/kubernetes/scheduler.conf")

    assert {
        "scheduler/kube-scheduler-config.yaml": [configuration.body],
        "scheduler/kubeadm.yaml": [
            {
                "apiVersion": "kubeadm.k8s.io/v1beta4",
                "kind": "ClusterConfiguration",
                "scheduler": {
                    "extraArgs": [
                        {
                            "name": "config",
                            "value": "/etc/kubernetes/binpackgen/kube-scheduler-config.yaml",
                        }
                    ],
                    "extraVolumes": [
                        {
                            "name": "binpackgen",
                            "hostPath": "/etc/kubernetes/binpackgen",
                            "mountPath": "/etc/kubernetes/binpackgen",
                            "readOnly": True,
                            "pathType": "Directory",
                        }
                    ],
                },
            },
            {
                "apiVersion": "kubeadm.k8s.io/v1beta4",
                "kind": "InitConfiguration",
                "patches": {"directory": "/etc/kubernetes/binpackgen/patches"},
            },
        ],
        "scheduler/patches/kube-scheduler0+strategic.yaml": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "kube-scheduler",
                    "namespace": "kube-system",
                    "annotations": {"binpackgen.dev/config-sha256": configuration.digest},
                },
            }
        ],
    } == bodies(plan)


def test_kubeadm_patch_file_has_a_name_that_kubeadm_reads() -> None:
    """target[suffix][+type].yaml, and no dot in the suffix: else kubeadm takes another type in silence."""
    names = [d.path.rpartition("/")[2] for d in documents(scheduler_plan("kubeadm")) if "/patches/" in d.path]

    assert names == ["kube-scheduler0+strategic.yaml"]
    # the pattern of kubernetes cmd/kubeadm/app/util/patches/patches.go
    assert re.fullmatch(r"(kube-scheduler)([^.+]*)?(\+strategic|\+merge|\+json)?\.(json|yaml)", names[0])


def test_kubeadm_runs_an_own_image() -> None:
    """A scheduler image of one's own is part of the static pod's patch."""
    [patch] = bodies(scheduler_plan("kubeadm", image=IMAGE, caps=FILTER))[
        "scheduler/patches/kube-scheduler0+strategic.yaml"
    ]

    assert patch["spec"] == {"containers": [{"name": "kube-scheduler", "image": IMAGE}]}


def test_kind_cluster_of_a_profile() -> None:
    """A map without apiVersion fits every node version; each pool has a worker with its labels and taints."""
    [cluster] = bodies(scheduler_plan("kind", "1.36"))["scheduler/kind.yaml"]
    image = "kindest/node:v1.36.1@sha256:3489c7674813ba5d8b1a9977baea8a6e553784dab7b84759d1014dbd78f7ebd5"

    assert {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "nodes": [
            {
                "role": "control-plane",
                "image": image,
                "extraMounts": [
                    {
                        "hostPath": "./scheduler",
                        "containerPath": "/etc/kubernetes/binpackgen",
                        "readOnly": True,
                    }
                ],
                "kubeadmConfigPatches": [
                    KIND_SCHEDULER_PATCH,
                    "kind: InitConfiguration\npatches:\n  directory: /etc/kubernetes/binpackgen/patches\n",
                ],
            },
            {
                "role": "worker",
                "image": image,
                "labels": {
                    "binpackgen.dev/gpu-type": "a100",
                    "binpackgen.dev/pool": "a100",
                    "nvidia.com/gpu.present": "true",
                },
                "kubeadmConfigPatches": [KIND_TAINT_PATCH],
            },
            {
                "role": "worker",
                "image": image,
                "labels": {"binpackgen.dev/gpu-type": "none", "binpackgen.dev/pool": "cpu"},
            },
        ],
    } == cluster


@pytest.mark.parametrize("minor", range(31, 38))
def test_kind_patches_never_name_a_kubeadm_version(minor: int) -> None:
    """kind drops a patch with the other apiVersion without a message, so none is given."""
    [cluster] = bodies(scheduler_plan("kind", f"1.{minor}"))["scheduler/kind.yaml"]
    patches = [
        yaml.safe_load(text) for node in cluster["nodes"] for text in node.get("kubeadmConfigPatches", [])
    ]

    assert patches
    assert all("apiVersion" not in patch for patch in patches)
    assert f"kindest/node:v1.{minor}." in cluster["nodes"][0]["image"]


def test_kind_workers_get_no_label_that_a_kubelet_may_not_set() -> None:
    """kind passes labels to the kubelet, which ends at the first that it may not give itself (case lb02)."""
    labels = {
        "node-role.kubernetes.io/gpu": "",
        "topology.kubernetes.io/rack": "r1",
        "topology.kubernetes.io/zone": "z1",
        "node.kubernetes.io/gpu-pool": "a100",
        "k8s.io/pool": "a100",
    }
    pools = [{"name": "cpu", "count": 1, "cpu": 8, "memory": "32Gi", "labels": labels}]

    [cluster] = bodies(scheduler_plan("kind", nodePools=pools, jobs=[]))["scheduler/kind.yaml"]

    assert cluster["nodes"][1]["labels"] == {
        "binpackgen.dev/gpu-type": "none",
        "binpackgen.dev/pool": "cpu",
        "node.kubernetes.io/gpu-pool": "a100",
        "topology.kubernetes.io/zone": "z1",
    }


@pytest.mark.parametrize("name", ["k3s", "rke2"])
def test_rancher_distributions_get_a_file_and_a_drop_in(name: str) -> None:
    """The argument has no dashes and is added to others; the file names the distribution's own kubeconfig."""
    found = bodies(scheduler_plan(name))
    [configuration] = found.pop("scheduler/kube-scheduler-config.yaml")

    assert {
        "scheduler/config.yaml.d/50-binpackgen.yaml": [
            {"kube-scheduler-arg+": [f"config=/etc/rancher/{name}/binpackgen/kube-scheduler-config.yaml"]}
        ]
    } == found
    assert {"kubeconfig": f"/var/lib/rancher/{name}/server/cred/scheduler.kubeconfig"} == configuration[
        "clientConnection"
    ]


def test_rke2_takes_an_own_image_and_k3s_takes_none() -> None:
    """RKE2 has a setting for the scheduler's image; k3s runs the scheduler in its own process."""
    [drop_in] = bodies(scheduler_plan("rke2", image=IMAGE, caps=FILTER))[
        "scheduler/config.yaml.d/50-binpackgen.yaml"
    ]

    assert drop_in["kube-scheduler-image"] == IMAGE
    assert losses(scheduler_plan("rke2", image=IMAGE, caps=FILTER)) == {}
    assert losses(scheduler_plan("k3s", image=IMAGE, caps=FILTER)) == {
        "cap in filter form": ("spec", "caps", "form")
    }
    assert {f"scheduler image {IMAGE}": ("spec", "kubernetes", "schedulerImage")} == losses(
        scheduler_plan("k3s", image=IMAGE)
    )


def test_talos_gets_the_form_of_the_version_that_runs_the_minor() -> None:
    """Up to Kubernetes 1.36 a field of the machine configuration, from 1.37 on a document of its own."""
    profiles = scheduler_configuration(scheduler_plan("talos")).body["profiles"]

    assert [{"cluster": {"scheduler": {"config": {"profiles": profiles}}}}] == bodies(
        scheduler_plan("talos", "1.36")
    )["scheduler/talos.yaml"]
    assert [
        {"apiVersion": "v1alpha1", "kind": "KubeSchedulerConfig", "config": {"profiles": profiles}}
    ] == bodies(scheduler_plan("talos", "1.37"))["scheduler/talos.yaml"]


@pytest.mark.parametrize(
    ("version", "path"), [("1.36", ("cluster", "scheduler", "image")), ("1.37", ("image",))]
)
def test_talos_runs_an_own_image(version: str, path: tuple[str, ...]) -> None:
    """Both forms have a field for the image."""
    [body] = bodies(scheduler_plan("talos", version, image=IMAGE))["scheduler/talos.yaml"]
    for step in path:
        body = body[step]

    assert body == IMAGE


def test_aks_gets_the_four_fields_that_users_may_set() -> None:
    """The text has no client connection and no leader election, and the share of nodes stands on top."""
    [body] = bodies(scheduler_plan("aks", packing={"percentageOfNodesToScore": 60}))["scheduler/aks.yaml"]
    configuration = yaml.safe_load(body["spec"].pop("rawConfig"))

    assert body == {
        "apiVersion": "aks.azure.com/v1alpha1",
        "kind": "SchedulerConfiguration",
        "metadata": {
            "name": "upstream",
            "labels": {
                "app.kubernetes.io/managed-by": "binpackgen",
                "app.kubernetes.io/part-of": "binpackgen",
                "binpackgen.dev/profile": "lab",
            },
        },
        "spec": {},
    }
    assert list(configuration) == ["apiVersion", "kind", "percentageOfNodesToScore", "profiles"]
    assert configuration["percentageOfNodesToScore"] == 60
    assert [list(profile) for profile in configuration["profiles"]] == [
        ["schedulerName", "plugins", "pluginConfig"]
    ]


def test_aks_says_what_it_does_not_take() -> None:
    """Older minors, plugins outside AKS's list and out-of-tree plugins are named, not dropped."""
    assert losses(scheduler_plan("aks", "1.32")) == {
        "scheduler configuration": ("spec", "kubernetes", "version")
    }
    assert bodies(scheduler_plan("aks", "1.32")) == {}
    assert losses(scheduler_plan("aks", packing={"keepScorers": {"DynamicResources": 2}})) == {
        "score plugin DynamicResources": ("spec", "packing", "keepScorers", "DynamicResources")
    }
    assert losses(scheduler_plan("aks", image=IMAGE, caps=FILTER)) == {
        "cap in filter form": ("spec", "caps", "form")
    }


@pytest.mark.parametrize("control_plane", ["kubeadm", "kind", "rke2", "talos", "second-scheduler"])
def test_a_filter_cap_without_an_image_is_named(control_plane: str) -> None:
    """Where an image could be given and none is, the cap is reported and the scheduler still starts."""
    plan = scheduler_plan(control_plane, caps=FILTER)

    assert losses(plan) == {"cap in filter form": ("spec", "caps", "form")}
    assert "NodeUtilizationCap" not in str([output for output in outputs(plan) if hasattr(output, "body")])


def test_component_files_are_not_for_gitops() -> None:
    """Only API objects are synced: files for nodes and machines are not."""
    synced: dict[str, Any] = {
        name: sorted({document.path for document in documents(scheduler_plan(name)) if document.sync})
        for name in ("kubeadm", "kind", "k3s", "rke2", "talos", "aks", "openshift", "eks", "gardener")
    }

    assert synced == {
        "kubeadm": [],
        "kind": [],
        "k3s": [],
        "rke2": [],
        "talos": [],
        "aks": ["scheduler/aks.yaml"],
        "openshift": ["scheduler/openshift.yaml"],
        "eks": [],
        "gardener": [],
    }
