"""Inputs for whole runs of a real kube-scheduler, from the openb trace, and how the model fares on them."""

from __future__ import annotations

import copy
import csv
import gzip
import random
from dataclasses import replace
from functools import lru_cache
from itertools import cycle
from typing import Any, NamedTuple

from binpackgen.compilation import compile_profile
from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.cycle import HEAP_SINCE
from binpackgen.simulate.engine import Simulator, simulator
from binpackgen.simulate.model import PodShape, SchedulerProfile
from binpackgen.simulate.objects import ReadCluster, read_cluster
from binpackgen.targets.scheduler.configuration import scheduler_configuration
from binpackgen_e2e.decisions import Decisions
from binpackgen_e2e.nodes import nodes_of
from binpackgen_e2e.workloads import manifests, pod_templates
from tests.conformance.scheduler_scores.cases import random_node, random_pod
from tests.conformance.tiers import trace

Object = dict[str, Any]

GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
PUBLIC = "github.com/hkust-adsl/kubernetes-scheduler-simulator, data/csv"
#: MostAllocated and RequestedToCapacityRatio with the article's resources, everything else as it comes.
RESOURCES = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}, {"name": GPU, "weight": 5}]
MOST = {"type": "MostAllocated", "resources": RESOURCES}
RATIO = {
    "type": "RequestedToCapacityRatio",
    "resources": RESOURCES,
    "requestedToCapacityRatio": {
        "shape": [
            {"utilization": 0, "score": 0},
            {"utilization": 50, "score": 3},
            {"utilization": 100, "score": 10},
        ]
    },
}


class Question(NamedTuple):
    """What a scheduler is asked: its configuration, empty nodes, and pods in the order of their creation."""

    configuration: Object
    nodes: list[Object]
    pods: list[Object]
    others: list[Object] = []  # noqa: RUF012  never changed

    def profile(self, minor: str) -> SchedulerProfile:
        """The profile that the pods name, as the model reads it."""
        name = self.pods[0]["spec"].get("schedulerName", "default-scheduler")
        return read_profiles(self.configuration, int(minor.partition(".")[2]))[name]


def configuration(strategy: Object | None = None, percentage: int = 100) -> Object:
    """The default profile, or with another scoring strategy of NodeResourcesFit, one filter at a time."""
    profile: Object = {"schedulerName": "default-scheduler"}
    if strategy is not None:
        profile["pluginConfig"] = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 1,
        "percentageOfNodesToScore": percentage,
        "profiles": [profile],
    }


@lru_cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    path = trace("openb", PUBLIC) / name
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return tuple(csv.DictReader(text.decode().splitlines()))


def trace_nodes(seed: int, count: int) -> list[Object]:
    """GPU nodes of the trace in the order of their names; all there are if `count` is more."""
    rows = _rows("openb_node_list_gpu_node.csv")
    chosen = random.Random(seed).sample(rows, min(count, len(rows)))
    return [_node(row) for row in sorted(chosen, key=lambda row: row["sn"])]


def _node(row: dict[str, str]) -> Object:
    amounts = {
        "cpu": f"{row['cpu_milli']}m",
        "memory": f"{row['memory_mib']}Mi",
        GPU: row["gpu"],
        "pods": "250",
    }
    metadata = {"name": row["sn"], "labels": {"kubernetes.io/hostname": row["sn"]}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def in_zones(nodes: list[Object]) -> list[Object]:
    """The same nodes in three zones of unequal size, which begin one after the other."""
    zones = cycle("aabacaabbc")
    for node in nodes:
        node["metadata"]["labels"][ZONE] = next(zones)
    return nodes


def _trace_rows(seed: int, count: int) -> list[dict[str, str]]:
    """Pods of the default list that ask for no GPU or for whole ones, shuffled; again from the start if need be."""
    rows = [
        row
        for row in _rows("openb_pod_list_default.csv.gz")
        if row["num_gpu"] == "0" or row["gpu_milli"] == "1000"
    ]
    random.Random(seed).shuffle(rows)
    return (rows * (count // len(rows) + 1))[:count]


def trace_pods(seed: int, count: int) -> list[Object]:
    """Pods of the trace."""
    return [_pod(f"p{index}", row) for index, row in enumerate(_trace_rows(seed, count))]


def _pod(name: str, row: dict[str, str], template: Object | None = None) -> Object:
    amounts = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    if row["num_gpu"] != "0":
        amounts[GPU] = row["num_gpu"]
    spec = (
        copy.deepcopy(template["spec"]) if template else {"containers": [{"name": "main", "image": "none"}]}
    )
    spec["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": (template or {}).get("metadata", {}).get("labels", {}),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def compiled(profile: str, seed: int, nodes: int, pods: int) -> Question:
    """A profile of the repository as `build` compiles it: scheduler, nodes of its pools, pods of its templates.

    The template is the one with as many GPUs; requests are the trace's.
    """
    compilation = compile_profile(profile)
    body = scheduler_configuration(compilation.plan).body
    by_gpus: dict[str, Object] = {}
    for manifest in manifests(compilation):
        for template in pod_templates(manifest.body):
            requests = template["spec"]["containers"][0]["resources"]["requests"]
            by_gpus.setdefault(requests.get(GPU, "0"), template)
    everyone = list(nodes_of(compilation.plan))
    chosen = random.Random(seed).sample(everyone, nodes)
    return Question(
        {**body, "parallelism": 1},
        sorted(chosen, key=lambda node: str(node["metadata"]["name"])),
        [
            _pod(f"p{index}", row, by_gpus[row["num_gpu"]])
            for index, row in enumerate(_trace_rows(seed, pods))
        ],
    )


def shapes_of(read: ReadCluster) -> tuple[list[PodShape], list[int]]:
    """Distinct shapes of the pending pods, and for each pod which is its own."""
    known: dict[str, int] = {}
    shapes: list[PodShape] = []
    turns = []
    for pending in read.pending:
        shape = replace(pending.shape, name="")
        turn = known.setdefault(repr(shape), len(shapes))
        if turn == len(shapes):
            shapes.append(shape)
        turns.append(turn)
    return shapes, turns


def first_difference(run: Decisions, question: Question, profile: SchedulerProfile) -> int | None:
    """The first turn in which the model decides otherwise than the scheduler did; None for a run of equals.

    From 1.35 on it goes on its own, to the very node. Before, chance decides among the best nodes: the model
    follows the scheduler, and its best nodes must hold the one that was taken.
    """
    pods = [{"kind": "Pod", **pod} for pod in run.pods]
    read = read_cluster([*({"kind": "Node", **node} for node in run.nodes), *question.others, *pods])
    shapes, turns = shapes_of(read)
    names = [node.name for node in read.state.nodes]
    simulation = simulator(read.state, profile, shapes)
    for number, (turn, chosen) in enumerate(zip(turns, run.chosen, strict=True)):
        if profile.minor >= HEAP_SINCE:
            node = simulation.place(turn)
            if (None if node is None else names[node]) != chosen:
                return number
        elif not _follow(simulation, turn, None if chosen is None else read.state.index[chosen]):
            return number
    return None


def _follow(simulation: Simulator, turn: int, chosen: int | None) -> bool:
    """Whether the scheduler's choice is one of the best; the simulation goes on from it."""
    best = simulation.top(turn)
    own = simulation.place(turn)
    if chosen is None or own is None:
        return chosen is own
    if own != chosen:
        simulation.release(turn, own)
        simulation.bind(turn, chosen)
    return chosen in best


def anything(seed: int, nodes: int, pods: int) -> Question:
    """Every feature of the model on few nodes of many kinds in three zones, which are sampled.

    Taints, labels, images, cordons, node and pod affinity, spreading by constraints and by default.
    """
    rng = random.Random(seed)
    services = [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"service-{letter}", "namespace": "default"},
            "spec": {"selector": {"app": letter}, "ports": [{"port": 80}]},
        }
        for letter in "xy"
    ]
    return Question(
        configuration(MOST, percentage=0),
        [_accepted_node(random_node(rng, f"n{index:03}")) for index in range(nodes)],
        [_accepted_pod(random_pod(rng, f"p{index}", "", rich=rng.random() < 0.4)) for index in range(pods)],
        services,
    )


def _accepted_node(node: Object) -> Object:
    """Without what an API server refuses: a taint twice."""
    taints = {(taint["key"], taint["effect"]): taint for taint in node["spec"].get("taints", ())}
    node["spec"]["taints"] = list(taints.values())
    return node


def _accepted_pod(pod: Object) -> Object:
    """Without what an API server refuses or what needs further objects; all in one namespace."""
    pod["metadata"] = {
        "name": pod["metadata"]["name"],
        "namespace": "default",
        "labels": pod["metadata"]["labels"],
    }
    spec = pod["spec"]
    del spec["schedulerName"]
    spec.pop("overhead", None)
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        requests = container["resources"]["requests"]
        if requests.get("memory") == "1500m":
            requests["memory"] = "1500M"
        if not requests.keys() & {"cpu", "memory"}:
            requests.pop("hugepages-2Mi", None)
        container["resources"]["limits"] = requests
    for constraint in spec.get("topologySpreadConstraints", ()):
        if "job" in str(constraint.get("labelSelector", "job")):
            constraint.pop("matchLabelKeys", None)
    return pod
