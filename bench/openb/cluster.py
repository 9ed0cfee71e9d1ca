"""The compiled openb profile as the simulator sees it: its nodes, its pods and its scheduler.

Nodes carry the labels and taints of their pool, pods are those of the compiled job templates with the requests of
the trace put in, and the scheduler's configuration is read from the compiled ConfigMap.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from binpackgen.compilation import Compilation, compile_profile
from binpackgen.document import Document
from binpackgen.plan.model import Pool
from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.matching import Taint
from binpackgen.simulate.model import ClusterState, Node, PodShape, SchedulerProfile
from binpackgen.simulate.objects import read_pod

from .trace import Machine, Request

PROFILE = Path(__file__).resolve().parents[2] / "profiles" / "openb.yaml"
MIB = 1024 * 1024
GPU = "nvidia.com/gpu"
#: The job of the profile whose template a pod takes, by devices.
JOBS = {0: "cpu-only", 1: "gpu1", 2: "gpu2", 4: "gpu4", 8: "gpu8"}


class Compiled:
    """What `build` makes of a profile of the openb cluster."""

    def __init__(self, compilation: Compilation) -> None:
        self.plan = compilation.plan
        documents = [output for output in compilation.outputs if isinstance(output, Document)]
        self._documents: Mapping[tuple[str, str], Mapping[str, Any]] = {
            (document.body["kind"], document.body["metadata"]["name"]): document.body
            for document in documents
            if "kind" in document.body and "metadata" in document.body
        }

    @cached_property
    def scheduler(self) -> SchedulerProfile:
        """The packing profile."""
        maps = [body for (kind, _), body in self._documents.items() if kind == "ConfigMap"]
        texts = [text for body in maps for text in body["data"].values()]
        configurations = [yaml.safe_load(text) for text in texts]
        [configuration] = [c for c in configurations if c.get("kind") == "KubeSchedulerConfiguration"]
        return read_profiles(configuration, self.plan.minor)[self.plan.scheduler.name]

    def nodes(self, machines: Iterable[Machine]) -> list[Node]:
        """The machines as nodes of their pools."""
        pools = {_look(pool): pool for pool in self.plan.pools}
        return [_node(machine, pools[_look_of(machine)]) for machine in machines]

    def state(self, machines: Iterable[Machine]) -> ClusterState:
        """The cluster, empty."""
        return ClusterState(self.nodes(machines))

    def pod(self, request: Request) -> PodShape:
        """A pod of the compiled template with the requests of the trace."""
        job = self._documents["Job", JOBS[request.gpus]]
        template = copy.deepcopy(job["spec"]["template"])
        amounts = {"cpu": f"{request.cpu}m", "memory": f"{request.memory}Mi"}
        amounts |= {GPU: str(request.gpus)} if request.gpus else {}
        [container] = template["spec"]["containers"]
        container["resources"] = {"requests": amounts, "limits": amounts}
        name = f"{request.cpu}-{request.memory}-{request.gpus}-{'-'.join(request.models)}"
        template["metadata"]["name"] = name
        if request.models:
            values = [model.lower() for model in request.models]
            expression = {"key": self.plan.spec.node_labels.gpu_type, "operator": "In", "values": values}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            affinity = template["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = terms
        return read_pod(template)


def compiled(more: str = "") -> Compiled:
    """The profile of the repository, compiled; `more` are lines of a spec that is laid over it."""
    if not more:
        return Compiled(compile_profile(str(PROFILE)))
    with tempfile.TemporaryDirectory() as folder:
        layer = Path(folder) / "openb.yaml"
        kind = "apiVersion: binpackgen.dev/v1alpha1\nkind: ClusterProfile\n"
        layer.write_text(f"{kind}metadata: {{name: openb}}\nextends: ['{PROFILE}']\nspec:\n{more}")
        return Compiled(compile_profile(str(layer)))


def _look(pool: Pool) -> tuple[int, int, int, str]:
    amount = pool.allocatable
    model = pool.gpu_type if amount.device_count else ""
    return amount.cpu, amount.memory // MIB, amount.device_count, model


def _look_of(machine: Machine) -> tuple[int, int, int, str]:
    return machine.cpu, machine.memory, machine.gpus, machine.model.lower()


def _node(machine: Machine, pool: Pool) -> Node:
    allocatable = {"cpu": pool.allocatable.cpu, "memory": pool.allocatable.memory, "pods": 250}
    allocatable |= pool.allocatable.devices
    taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in pool.taints)
    return Node(machine.name, allocatable, {"kubernetes.io/hostname": machine.name, **pool.labels}, taints)
