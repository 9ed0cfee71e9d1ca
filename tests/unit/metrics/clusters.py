"""Plans, nodes, pods and changes for the tests of the metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from binpackgen.metrics.changes import Change
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import load_profile
from binpackgen.simulate.model import SchedulerProfile

Item = dict[str, Any]

GPU = "nvidia.com/gpu"
POOL, TYPE = "binpackgen.dev/pool", "binpackgen.dev/gpu-type"
PACKING = SchedulerProfile(
    37,
    strategy="MostAllocated",
    resources=(("cpu", 1), ("memory", 1), (GPU, 5)),
    weights={"NodeResourcesFit": 1},
    percentage=100,
)
LAB = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: second-scheduler, schedulerImage: "registry.example.com/s:1"}
  nodePools:
    - {name: v100, count: 3, cpu: 32, memory: 128Gi, gpu: {type: v100, count: 8}}
    - {name: v100-small, count: 2, cpu: 16, memory: 64Gi, gpu: {type: v100, count: 2}}
    - {name: a100, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
    - {name: cpu, count: 2, cpu: 32, memory: 128Gi}
  jobs:
    - {name: train, template: pytorch-ddp, image: x, workers: 2, each: {cpu: 16, memory: 32Gi, gpu: {type: v100, count: 4}}}
    - {name: eval, template: single-gpu, image: x, each: {cpu: 6, memory: 16Gi, gpu: {type: v100, count: 1}}}
    - {name: tune, template: single-gpu, image: x, each: {cpu: 4, memory: 16Gi, gpu: {type: a100, count: 1}}}
    - {name: etl, template: etl, image: x, each: {cpu: 3, memory: 8Gi}}
"""


def plan(more: str = "") -> Plan:
    """The lab's plan, with more lines of the profile's spec."""
    return compile_plan(load_profile("-", (LAB + more).encode()))


def node(name: str, pool: str = "v100", *, labels: Mapping[str, str] | None = None, **spec: Any) -> Item:
    """A node of one of the lab's pools, without its taint unless it is stated."""
    cpu, memory, gpu, gpus = {
        "v100": (32, 128, "v100", 8),
        "v100-small": (16, 64, "v100", 2),
        "a100": (32, 128, "a100", 4),
        "cpu": (32, 128, "none", 0),
    }[pool]
    allocatable = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"} | (
        {GPU: str(gpus)} if gpus else {}
    )
    return {
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, POOL: pool, TYPE: gpu, **(labels or {})},
        },
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def pod(name: str, cpu: str = "4", memory: str = "16Gi", gpus: int = 0, **rest: Any) -> Item:
    """A pod of one container; `rest` goes into its spec, `labels` and `uid` into its metadata."""
    requests = {"cpu": cpu, "memory": memory} | ({GPU: str(gpus)} if gpus else {})
    labels, uid = rest.pop("labels", {}), rest.pop("uid", f"uid-{name}")
    container = {"name": "main", "image": "x", "resources": {"requests": requests}}
    return {
        "kind": "Pod",
        "metadata": {"namespace": "lab", "name": name, "uid": uid, "generation": 1, "labels": labels},
        "spec": {"containers": [container], **rest},
        "status": {"phase": "Pending"},
    }


def on(item: Item, node_name: str, phase: str = "Pending", **status: Any) -> Item:
    """The pod as it is once bound."""
    return {**item, "spec": {**item["spec"], "nodeName": node_name}, "status": {"phase": phase, **status}}


def failed_attempt(item: Item, nominated: str = "", message: str = "no fit") -> Item:
    """The pod after an attempt to schedule it that failed, nominated where preemption makes room."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    status = {"phase": "Pending", "conditions": [condition]} | (
        {"nominatedNodeName": nominated} if nominated else {}
    )
    return {**item, "status": status}


def evicted(item: Item) -> Item:
    """The bound pod as the scheduler's victim."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    return {**item, "status": {**item["status"], "conditions": [condition]}}


def change(
    version: int,
    item: Item,
    event: Literal["ADDED", "MODIFIED", "DELETED"] = "MODIFIED",
    at: float | None = None,
) -> Change:
    """One change; its time is its version unless it is stated."""
    return Change(version, float(version) if at is None else at, event, item["kind"], item)


def stream(items: Iterable[Item]) -> list[Change]:
    """The items as changes of versions 1, 2, …, the first of each object as ADDED."""
    seen: set[tuple[str, str]] = set()
    changes = []
    for version, item in enumerate(items, start=1):
        key = item["kind"], item["metadata"]["name"]
        changes.append(change(version, item, "MODIFIED" if key in seen else "ADDED"))
        seen.add(key)
    return changes
