"""kubeadm: a file on every control-plane node, the flag that names it, and a hash in the static pod.

kubeadm.k8s.io/v1beta4 is written by kubeadm 1.31 and newer and the only version that 1.37 reads; its extraArgs
are a list. Patch files are named target[suffix][+type].yaml.
Source: kubernetes v1.37.2, cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go, app/util/patches/patches.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...document import Because, Document, Output
from ...plan.model import Plan
from ...plan.platforms import PLATFORMS
from .configuration import (
    CONTROL_PLANE,
    FILE,
    PATH,
    SCHEDULER_IMAGE,
    Configuration,
    Trace,
    scheduler_configuration,
    stock_image_losses,
)

API_VERSION = "kubeadm.k8s.io/v1beta4"

#: Folder of every control-plane node that is a copy of `scheduler/` in the tree.
FOLDER = "/etc/kubernetes/binpackgen"
PATCHES = "patches"
HASH_ANNOTATION = "binpackgen.dev/config-sha256"


def compile(plan: Plan) -> Iterator[Output]:
    """The configuration file, the kubeadm configuration that mounts it, and the static pod's patch."""
    configuration = scheduler_configuration(plan, kubeconfig=PLATFORMS[plan.control_plane].kubeconfig)
    yield configuration_file(configuration, f"copied to {FOLDER}/{FILE} on every control-plane node")
    yield from _kubeadm_configuration()
    yield static_pod_patch(plan, configuration)
    yield from stock_image_losses(plan)


def configuration_file(configuration: Configuration, where: str) -> Document:
    """The scheduler configuration as a file of its own."""
    return Document(
        path=PATH,
        body=configuration.body,
        why=Because(f"the scheduler reads this file once, at its start; it is {where}", (CONTROL_PLANE,)),
        trace=configuration.trace,
        sync=False,
    )


def component_settings(folder: str) -> dict[str, Any]:
    """kubeadm's `extraVolumes` that show a folder to the scheduler at the same path.

    A folder and no file: the mount of a file keeps the old content when an editor replaces it.
    """
    return {
        "extraVolumes": [
            {
                "name": "binpackgen",
                "hostPath": folder,
                "mountPath": folder,
                "readOnly": True,
                "pathType": "Directory",
            }
        ]
    }


def _kubeadm_configuration() -> Iterator[Document]:
    path = "scheduler/kubeadm.yaml"
    yield Document(
        path=path,
        body={
            "apiVersion": API_VERSION,
            "kind": "ClusterConfiguration",
            "scheduler": {
                "extraArgs": [{"name": "config", "value": f"{FOLDER}/{FILE}"}],
                **component_settings(FOLDER),
            },
        },
        why=Because(
            "to merge into the cluster's kubeadm configuration and into the ConfigMap kube-system/kubeadm-config, "
            "so that upgrades keep it",
            (CONTROL_PLANE,),
        ),
        sync=False,
    )
    yield Document(
        path=path,
        body={
            "apiVersion": API_VERSION,
            "kind": "InitConfiguration",
            "patches": {"directory": f"{FOLDER}/{PATCHES}"},
        },
        why=Because(
            "kubeadm applies the patch of the static pod from here; kubeadm join and upgrade take the same folder "
            "with --patches",
            (CONTROL_PLANE,),
        ),
        sync=False,
    )


def static_pod_patch(plan: Plan, configuration: Configuration) -> Document:
    """A patch that changes the static pod's manifest whenever the configuration changes.

    The kubelet restarts a static pod when its manifest changes, not when a mounted file does.
    """
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "kube-scheduler",
            "namespace": "kube-system",
            "annotations": {HASH_ANNOTATION: configuration.digest},
        },
    }
    trace: Trace = {
        ("metadata", "annotations", HASH_ANNOTATION): Because(
            "sha256 of the configuration: the kubelet restarts a static pod only when its manifest changes, "
            "and the same configuration gives the same manifest"
        )
    }
    image = plan.spec.kubernetes.scheduler_image
    if image is not None:
        body["spec"] = {"containers": [{"name": "kube-scheduler", "image": image}]}
        trace["spec", "containers", 0, "image"] = Because("stated in the profile", (SCHEDULER_IMAGE,))
    return Document(
        path=f"scheduler/{PATCHES}/kube-scheduler0+strategic.yaml",
        body=body,
        why=Because("kubeadm merges it into the static pod of the scheduler", (CONTROL_PLANE,)),
        trace=trace,
        sync=False,
    )
