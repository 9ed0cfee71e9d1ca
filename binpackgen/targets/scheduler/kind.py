"""kind: a cluster with the configuration mounted into its control plane, and one worker per pool.

kind writes kubeadm v1beta3 for nodes up to 1.35 and v1beta4 from 1.36 on. A patch without apiVersion and with
extraArgs as a map is right for both; one with the other apiVersion is dropped without a message.
Source: kind v0.33.0, pkg/internal/patch; pkg/apis/config/defaults/image.go of each release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...canonical import to_yaml
from ...document import Because, Document, Output
from ...plan.model import Plan, Pool
from ...plan.node_labels import may_label_itself
from ...plan.platforms import PLATFORMS
from ...scheduler.plugins import known_minor
from ...source import Path
from ..taints import taint_object
from .configuration import CONTROL_PLANE, FILE, scheduler_configuration, stock_image_losses
from .kubeadm import PATCHES, component_settings, configuration_file, static_pod_patch

#: Folder of the control-plane node that shows `scheduler/` of the tree.
FOLDER = "/etc/kubernetes/binpackgen"

#: Per Kubernetes minor: the node image that a kind release has as its default, and that release.
NODE_IMAGES: dict[int, tuple[str, str]] = {
    31: (
        "kindest/node:v1.31.0@sha256:53df588e04085fd41ae12de0c3fe4c72f7013bba32a20e7325357a1ac94ba865",
        "0.24",
    ),
    32: (
        "kindest/node:v1.32.2@sha256:f226345927d7e348497136874b6d207e0b32cc52154ad8323129352923a3142f",
        "0.27",
    ),
    33: (
        "kindest/node:v1.33.1@sha256:050072256b9a903bd914c0b2866828150cb229cea0efe5892e2b644d5dd3b34f",
        "0.29",
    ),
    34: (
        "kindest/node:v1.34.0@sha256:7416a61b42b1662ca6ca89f02028ac133a309a2a30ba309614e8ec94d976dc5a",
        "0.30",
    ),
    35: (
        "kindest/node:v1.35.0@sha256:452d707d4862f52530247495d180205e029056831160e22870e37e3f6c1ac31f",
        "0.31",
    ),
    36: (
        "kindest/node:v1.36.1@sha256:3489c7674813ba5d8b1a9977baea8a6e553784dab7b84759d1014dbd78f7ebd5",
        "0.32",
    ),
    37: (
        "kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5",
        "0.33",
    ),
}


def compile(plan: Plan) -> Iterator[Output]:
    """The configuration file, the kind configuration, and the static pod's patch."""
    configuration = scheduler_configuration(plan, kubeconfig=PLATFORMS[plan.control_plane].kubeconfig)
    yield configuration_file(configuration, f"mounted into the control plane as {FOLDER}/{FILE}")
    yield _cluster(plan)
    yield static_pod_patch(plan, configuration)
    yield from stock_image_losses(plan)


def _cluster(plan: Plan) -> Document:
    image, release = NODE_IMAGES[known_minor(plan.minor)]
    nodes: list[dict[str, Any]] = [_control_plane(image), *(_worker(pool, image) for pool in plan.pools)]
    trace: dict[Path, Because] = {
        ("nodes", 0, "image"): Because(
            f"the node image of Kubernetes 1.{known_minor(plan.minor)} that kind {release} has as its default; "
            "`kind create cluster --image` overrides it",
            (("spec", "kubernetes", "version"),),
        ),
        ("nodes", 0, "extraMounts"): Because(
            "the folder, not the file: the mount of a file breaks when an editor replaces it; the path is relative "
            "to where kind is called, the root of this tree"
        ),
        ("nodes", 0, "kubeadmConfigPatches"): Because(
            "without apiVersion and with extraArgs as a map the patch fits every node version"
        ),
    }
    for index, pool in enumerate(plan.pools, start=1):
        trace["nodes", index] = Because("one worker stands for each pool", (pool.at,))
        trace["nodes", index, "labels"] = Because(
            "the pool's labels that a kubelet may give its own node", (pool.at, (*pool.at, "labels"))
        )
        if pool.taints:
            trace["nodes", index, "kubeadmConfigPatches"] = Because(
                "the pool's taints", (pool.at, (*pool.at, "taints"))
            )
    return Document(
        path="scheduler/kind.yaml",
        body={"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "nodes": nodes},
        why=Because(
            "a local cluster whose control plane runs with this profile's scheduler", (CONTROL_PLANE,)
        ),
        trace=trace,
        sync=False,
    )


def _control_plane(image: str) -> dict[str, Any]:
    scheduler = {"extraArgs": {"config": f"{FOLDER}/{FILE}"}, **component_settings(FOLDER)}
    return {
        "role": "control-plane",
        "image": image,
        "extraMounts": [{"hostPath": "./scheduler", "containerPath": FOLDER, "readOnly": True}],
        "kubeadmConfigPatches": [
            to_yaml({"kind": "ClusterConfiguration", "scheduler": scheduler}),
            to_yaml({"kind": "InitConfiguration", "patches": {"directory": f"{FOLDER}/{PATCHES}"}}),
        ],
    }


def _worker(pool: Pool, image: str) -> dict[str, Any]:
    worker: dict[str, Any] = {
        "role": "worker",
        "image": image,
        "labels": {key: value for key, value in pool.labels.items() if may_label_itself(key)},
    }
    if pool.taints:
        taints = [taint_object(taint) for taint in pool.taints]
        worker["kubeadmConfigPatches"] = [
            to_yaml({"kind": "JoinConfiguration", "nodeRegistration": {"taints": taints}})
        ]
    return worker
