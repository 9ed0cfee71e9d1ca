"""Plans and outputs of the scheduler targets for tests: one small cluster, with what a test changes."""

from __future__ import annotations

import json
from typing import Any

from binpackgen.document import Document, TextFile, Unsupported
from binpackgen.plan.model import Plan
from binpackgen.targets import scheduler
from tests.targets.plan_factory import plan

POOLS = [
    {"name": "a100", "count": 2, "cpu": 32, "memory": "128Gi", "gpu": {"type": "a100", "count": 4}},
    {"name": "cpu", "count": 2, "cpu": 64, "memory": "256Gi"},
]
JOBS = [
    {
        "name": "train",
        "template": "single-gpu",
        "image": "example.com/train:1",
        "each": {"cpu": 8, "memory": "32Gi", "gpu": {"type": "a100", "count": 1}},
    },
    {
        "name": "etl",
        "template": "etl",
        "image": "example.com/etl:1",
        "each": {"cpu": 4, "memory": "16Gi"},
    },
]

#: The control planes that take a whole KubeSchedulerConfiguration.
WHOLE_CONFIGURATION = ("kubeadm", "kind", "k3s", "rke2", "talos", "aks", "second-scheduler")
MANAGED = ("openshift", "eks", "gke", "gardener")


def scheduler_plan(
    control_plane: str, version: str = "1.37", *, image: str | None = None, **sections: Any
) -> Plan:
    """The plan of the small cluster; `sections` replace or add keys of the profile's spec."""
    kubernetes = {"version": version, "controlPlane": control_plane}
    if image is not None:
        kubernetes["schedulerImage"] = image
    spec = {"kubernetes": kubernetes, "nodePools": POOLS, "jobs": JOBS, **sections}
    return plan("\n".join(f"{key}: {json.dumps(value)}" for key, value in spec.items()))


def outputs(compiled: Plan) -> list[Document | TextFile | Unsupported]:
    """Everything that the scheduler targets make of a plan."""
    return list(scheduler.compile(compiled))


def documents(compiled: Plan) -> list[Document]:
    """The documents among the outputs."""
    return [output for output in outputs(compiled) if isinstance(output, Document)]


def bodies(compiled: Plan) -> dict[str, list[Any]]:
    """The documents' bodies by path."""
    found: dict[str, list[Any]] = {}
    for document in documents(compiled):
        found.setdefault(document.path, []).append(document.body)
    return found


def losses(compiled: Plan) -> dict[str, tuple[str | int, ...]]:
    """What cannot be expressed, with the profile path that asks for it."""
    return {output.what: output.at for output in outputs(compiled) if isinstance(output, Unsupported)}
