"""Node objects as an API server shows them, with defaults and overrides."""

from __future__ import annotations

import json
from typing import Any

KI = 1024
GI = 1024**3


def node(
    name: str = "node-1",
    *,
    cpu: str = "32",
    memory: str = "263921132Ki",
    allocatable: dict[str, Any] | None = None,
    devices: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    ready: str = "True",
    cordoned: bool = False,
    pods: str = "110",
    version: str = "v1.37.1",
) -> dict[str, Any]:
    """One v1 Node; what is allocatable is the capacity unless `allocatable` says otherwise."""
    capacity = {
        "cpu": cpu,
        "ephemeral-storage": "1843269236Ki",
        "hugepages-2Mi": "0",
        "memory": memory,
        "pods": pods,
        **(devices or {}),
    }
    spec: dict[str, Any] = {"podCIDR": "10.244.0.0/24"}
    if taints:
        spec["taints"] = taints
    if cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                **(labels or {}),
            },
            "name": name,
        },
        "spec": spec,
        "status": {
            "allocatable": {**capacity, **(allocatable or {})},
            "capacity": capacity,
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": ready},
            ],
            "nodeInfo": {"kubeletVersion": version},
        },
    }


def node_list(*nodes: dict[str, Any]) -> str:
    """The nodes as `kubectl get nodes -o json` prints them."""
    return json.dumps({"apiVersion": "v1", "items": list(nodes), "kind": "List"}, indent=4)


def a100(name: str = "gpu-1", **more: Any) -> dict[str, Any]:
    """A node with eight A100, labeled by GPU feature discovery."""
    labels = {
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        **more.pop("labels", {}),
    }
    return node(name, labels=labels, **{"devices": {"nvidia.com/gpu": "8"}, **more})
