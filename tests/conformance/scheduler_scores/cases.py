"""Random scheduling cycles as Kubernetes objects: every plugin and strategy of the model, from a fixed seed.

Amounts, labels and taints come from small sets, so that rounding edges, equal scores, full nodes and nodes
without a resource are common rather than rare.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]

GPU = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
SCORERS = ("TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding", "PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeResourcesBalancedAllocation", "ImageLocality")  # fmt: skip
#: First minor in which DynamicResources scores; an older scheduler refuses a configuration that lets it.
DYNAMIC_RESOURCES_SINCE = 35
FILTERS = ("NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity")  # fmt: skip
RESOURCES = ("cpu", "memory", GPU, "ephemeral-storage", "hugepages-2Mi", "gpu", "pods", "example.com/fpga")
IMAGES = (("train:1", 734003200), ("registry:5000/etl", 52428800), ("render:2", 4000000000), ("tiny:1", 9000))


def configurations(seed: int, count: int, minor: int = 37) -> Iterator[Object]:
    """Scheduler configurations with one profile, the default one first."""
    rng = random.Random(seed)
    scorers = [name for name in SCORERS if name != "DynamicResources" or minor >= DYNAMIC_RESOURCES_SINCE]
    for number in range(count):
        profile: Object = {"schedulerName": "packer"}
        if number:
            profile["plugins"] = _plugins(rng, scorers)
            profile["pluginConfig"] = _arguments(rng)
        yield {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }


def _plugins(rng: random.Random, scorers: list[str]) -> Object:
    def weight() -> int:
        return rng.choice([1, 2, 5, 10, 1300])

    chosen = rng.sample(scorers, rng.randint(0, 4))
    enabled = [{"name": name, **({"weight": weight()} if rng.random() < 0.8 else {})} for name in chosen]
    disabled = [{"name": name} for name in rng.sample(scorers, rng.randint(0, 4)) if name not in chosen]
    plugins: Object = {"score": {"enabled": enabled, "disabled": disabled}}
    if rng.random() < 0.15:
        plugins["score"]["disabled"] = [{"name": "*"}]
    if rng.random() < 0.15:
        plugins["filter"] = {"disabled": [{"name": rng.choice(FILTERS)}]}
    if rng.random() < 0.15:
        name = rng.choice(scorers)
        plugins["multiPoint"] = {"enabled": [{"name": name, "weight": weight()}]}
    return plugins


def _arguments(rng: random.Random) -> list[Object]:
    arguments: list[Object] = []
    if rng.random() < 0.9:
        strategy: Object = {"type": rng.choice(STRATEGIES)}
        if rng.random() < 0.9:
            names = rng.sample(RESOURCES, rng.randint(1, 5)) if rng.random() < 0.5 else ["cpu", "memory", GPU]
            strategy["resources"] = [
                {"name": name, "weight": rng.choice([1, 1, 2, 5, 19, 100])} for name in names
            ]
        if strategy["type"] == "RequestedToCapacityRatio":
            points = sorted(rng.sample(range(101), rng.randint(1, 4)))
            shape = [{"utilization": point, "score": rng.randint(0, 10)} for point in points]
            strategy["requestedToCapacityRatio"] = {"shape": shape}
        fit: Object = {"scoringStrategy": strategy}
        if rng.random() < 0.1:
            fit["ignoredResources"] = [GPU]
        if rng.random() < 0.1:
            fit["ignoredResourceGroups"] = ["example.com"]
        arguments.append({"name": "NodeResourcesFit", "args": fit})
    if rng.random() < 0.4:
        names = rng.sample(("cpu", "memory", GPU, "ephemeral-storage", "example.com/fpga"), rng.randint(1, 4))
        balanced = {"resources": [{"name": name, "weight": 1} for name in names]}
        arguments.append({"name": "NodeResourcesBalancedAllocation", "args": balanced})
    if rng.random() < 0.4:
        spread: Object = {"defaultingType": "List"}
        if rng.random() < 0.6:
            keys = rng.sample((HOSTNAME, ZONE, "rack"), rng.randint(1, 2))
            spread["defaultConstraints"] = [
                {
                    "topologyKey": key,
                    "maxSkew": rng.randint(1, 3),
                    "whenUnsatisfiable": rng.choice(["ScheduleAnyway", "ScheduleAnyway", "DoNotSchedule"]),
                }
                for key in keys
            ]
        arguments.append({"name": "PodTopologySpread", "args": spread})
    if rng.random() < 0.3:
        args = {
            "hardPodAffinityWeight": rng.choice([0, 1, 50, 100]),
            "ignorePreferredTermsOfExistingPods": rng.random() < 0.4,
        }
        arguments.append({"name": "InterPodAffinity", "args": args})
    if rng.random() < 0.2:
        added: Object = {"preferredDuringSchedulingIgnoredDuringExecution": _preferred_nodes(rng)}
        if rng.random() < 0.4:
            added["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [_node_term(rng)]}
        arguments.append({"name": "NodeAffinity", "args": {"addedAffinity": added}})
    return arguments


def cycles(seed: int, count: int) -> Iterator[Object]:
    """Cases: nodes, the pods on them, Services and controllers, and one pod to schedule."""
    rng = random.Random(seed)
    for number in range(count):
        busy = rng.random() < 0.4
        nodes = [random_node(rng, f"n{index}") for index in range(rng.randint(1, 9))]
        pods = [
            random_pod(rng, f"p{index}", rng.choice(nodes)["metadata"]["name"], rich=busy)
            for index in range(rng.choice([0, 1, 2, 4, 8, 12]))
        ]
        case: Object = {
            "nodes": nodes,
            "pods": pods,
            "pod": random_pod(rng, f"incoming-{number}", "", rich=busy),
        }
        _add_owners(rng, case)
        yield case


def preemptions(seed: int, count: int) -> Iterator[Object]:
    """Cases in which a pod meets full nodes, of pods below and above its priority, with disruption budgets."""
    rng = random.Random(seed)
    for number in range(count):
        rich = rng.random() < 0.3
        nodes = [random_node(rng, f"n{index}") for index in range(rng.randint(1, 6))]
        pods = [
            random_pod(rng, f"p{index}", rng.choice(nodes)["metadata"]["name"], rich=rich)
            for index in range(len(nodes) * rng.randint(3, 12))
        ]
        moments = rng.sample(range(60 * len(pods)), len(pods))
        for pod, moment in zip(pods, moments, strict=True):
            pod["spec"]["priority"] = rng.choice([-10, 0, 0, 3, 3, 3, 3, 100])
            pod["status"]["startTime"] = (
                f"2026-01-01T{moment // 3600:02}:{moment // 60 % 60:02}:{moment % 60:02}Z"
            )
        pod = random_pod(rng, f"incoming-{number}", "", rich=rich)
        pod["spec"]["priority"] = rng.choice([3, 5, 50])
        if rng.random() < 0.8:
            # most preemptors may use most nodes
            pod["spec"].pop("nodeSelector", None)
            pod["spec"]["tolerations"] = [{"operator": "Exists"}]
        for container in pod["spec"]["containers"]:
            container["resources"]["requests"] = {"cpu": rng.choice(["1", "2", "4"]), "memory": "3Gi"}
            if rng.random() < 0.3:
                container["resources"]["requests"][GPU] = "1"
        yield {
            "nodes": nodes,
            "pods": pods,
            "pod": pod,
            "budgets": [_budget(rng, i) for i in range(rng.randint(0, 3))],
        }


def _budget(rng: random.Random, number: int) -> Object:
    """Its status is all that preemption reads beside the selector."""
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{number}", "namespace": rng.choice(["default", "default", "team"])},
        "spec": {"selector": _label_selector(rng)},
        "status": {"disruptionsAllowed": rng.choice([0, 0, 1, 2])},
    }


def random_node(rng: random.Random, name: str) -> Object:
    """A node with any of what the model knows of nodes."""
    cpu, memory = rng.choice([4, 8, 16, 64]), rng.choice([8, 32, 64, 256])
    allocatable = {
        "cpu": rng.choice([str(cpu), f"{cpu * 1000 - 137}m"]),
        "memory": rng.choice([f"{memory}Gi", f"{memory * 1048576 - 12345}Ki"]),
        "pods": rng.choice(["110", "110", "110", "3"]),
    }
    if rng.random() < 0.6:
        allocatable[GPU] = rng.choice(["1", "2", "4", "8", "0"])
    if rng.random() < 0.4:
        allocatable["ephemeral-storage"] = rng.choice(["100Gi", "7777777777"])
    if rng.random() < 0.2:
        allocatable |= {"hugepages-2Mi": "1Gi", "example.com/fpga": "3"}
    labels = {}
    if rng.random() < 0.9:
        labels[HOSTNAME] = name
    if rng.random() < 0.8:
        labels[ZONE] = rng.choice("abc")
    if rng.random() < 0.7:
        labels["rack"] = rng.choice(["1", "2", "3", "12"])
    if rng.random() < 0.7:
        labels["pool"] = rng.choice(["v100", "a100", "cpu"])
    node: Object = {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": allocatable},
    }
    if rng.random() < 0.4:
        node["spec"]["taints"] = [
            {
                "key": rng.choice([GPU, "dedicated", "spot"]),
                "value": rng.choice(["", "present", "team-a"]),
                "effect": rng.choice(
                    ["PreferNoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoSchedule", "NoExecute"]
                ),
            }
            for _ in range(rng.randint(1, 3))
        ]
    if rng.random() < 0.04:
        node["spec"]["unschedulable"] = True
    if rng.random() < 0.5:
        node["status"]["images"] = [
            {"names": [name if ":" in name.rpartition("/")[2] else f"{name}:latest"], "sizeBytes": size}
            for name, size in rng.sample(IMAGES, rng.randint(1, 3))
        ]
    return node


def random_pod(rng: random.Random, name: str, node: str, *, rich: bool) -> Object:
    """A pod, bound if `node` is not empty; a `rich` one has affinity to pods and spreads."""
    labels = {"app": rng.choice("xyz")}
    if rng.random() < 0.5:
        labels["job"] = rng.choice(["1", "2"])
    spec: Object = {
        "schedulerName": "packer",
        "containers": [_container(rng, f"c{index}") for index in range(rng.choice([1, 1, 1, 2, 3]))],
    }
    if node:
        spec["nodeName"] = node
    if rng.random() < 0.1:
        init = _container(rng, "init")
        if rng.random() < 0.5:
            init["restartPolicy"] = "Always"
        spec["initContainers"] = [init, _container(rng, "init-2")]
    if rng.random() < 0.05:
        spec["overhead"] = {"cpu": "250m", "memory": "120Mi"}
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"pool": rng.choice(["v100", "a100", "cpu"])}
    if rng.random() < 0.4:
        spec["tolerations"] = [_toleration(rng) for _ in range(rng.randint(1, 3))]
    affinity: Object = {}
    if rng.random() < 0.4:
        nodes: Object = {}
        if rng.random() < 0.3:
            terms = [_node_term(rng) for _ in range(rng.randint(1, 2))]
            nodes["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        if rng.random() < 0.8:
            nodes["preferredDuringSchedulingIgnoredDuringExecution"] = _preferred_nodes(rng)
        affinity["nodeAffinity"] = nodes
    if rich:
        for kind in ("podAffinity", "podAntiAffinity"):
            if rng.random() < 0.3:
                affinity[kind] = {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": rng.randint(1, 100), "podAffinityTerm": _pod_term(rng)}
                        for _ in range(rng.randint(1, 2))
                    ]
                }
            if rng.random() < 0.12:
                terms = [_pod_term(rng) for _ in range(rng.randint(1, 2))]
                affinity.setdefault(kind, {})["requiredDuringSchedulingIgnoredDuringExecution"] = terms
        if rng.random() < 0.3:
            spec["topologySpreadConstraints"] = [
                _spread(rng, key) for key in rng.sample((HOSTNAME, ZONE, "rack"), rng.randint(1, 2))
            ]
    if affinity:
        spec["affinity"] = affinity
    metadata: Object = {"name": name, "namespace": rng.choice(["default", "default", "team"]), "uid": name}
    metadata["labels"] = labels
    if node and rng.random() < 0.1:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {}}


def _container(rng: random.Random, name: str) -> Object:
    requests: Object = {}
    if rng.random() < 0.8:
        requests["cpu"] = rng.choice(["0", "100m", "333m", "500m", "1", "2", "4", "8"])
    if rng.random() < 0.8:
        requests["memory"] = rng.choice(["0", "128Mi", "1Gi", "3Gi", "12Gi", "64Gi", "1234567891", "1500m"])
    if rng.random() < 0.3:
        requests[GPU] = rng.choice(["1", "2", "4"])
    if rng.random() < 0.1:
        requests["ephemeral-storage"] = rng.choice(["1Gi", "20Gi"])
    if rng.random() < 0.05:
        requests["example.com/fpga"] = "1"
    if rng.random() < 0.05:
        requests["hugepages-2Mi"] = "256Mi"
    image = rng.choice([*(name for name, _ in IMAGES), "unknown"])
    return {"name": name, "image": image, "resources": {"requests": requests}}


def _toleration(rng: random.Random) -> Object:
    toleration: Object = {}
    if rng.random() < 0.85:
        toleration["key"] = rng.choice([GPU, "dedicated", "spot", "node.kubernetes.io/unschedulable"])
    if "key" not in toleration or rng.random() < 0.5:
        toleration["operator"] = "Exists"
    else:
        toleration["value"] = rng.choice(["", "present", "team-a"])
    if rng.random() < 0.5:
        toleration["effect"] = rng.choice(["PreferNoSchedule", "NoSchedule", "NoExecute"])
    return toleration


def _preferred_nodes(rng: random.Random) -> list[Object]:
    return [{"weight": rng.randint(1, 100), "preference": _node_term(rng)} for _ in range(rng.randint(1, 3))]


def _node_term(rng: random.Random) -> Object:
    return {"matchExpressions": [_node_expression(rng) for _ in range(rng.choice([1, 1, 2]))]}


def _node_expression(rng: random.Random) -> Object:
    operator = rng.choice(["In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    if operator in ("Gt", "Lt"):
        return {
            "key": rng.choice(["rack", "pool"]),
            "operator": operator,
            "values": [rng.choice(["1", "2", "9"])],
        }
    key, values = rng.choice([("pool", ["v100", "a100", "cpu"]), ("rack", ["1", "2"]), (ZONE, ["a", "b"])])
    expression: Object = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = rng.sample(values, rng.randint(1, len(values)))
    return expression


def _label_selector(rng: random.Random) -> Object | None:
    kind = rng.random()
    if kind < 0.05:
        return None
    if kind < 0.1:
        return {}
    if kind < 0.7:
        return {"matchLabels": {"app": rng.choice("xyz")}}
    operator = rng.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    expression: Object = {"key": rng.choice(["app", "job"]), "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = rng.sample(["x", "y", "1", "2"], 2)
    return {"matchExpressions": [expression]}


def _pod_term(rng: random.Random) -> Object:
    term: Object = {"topologyKey": rng.choice([HOSTNAME, ZONE, "rack"])}
    selector = _label_selector(rng)
    if selector is not None:
        term["labelSelector"] = selector
    if rng.random() < 0.2:
        term["namespaces"] = rng.choice([["team"], ["default", "team"]])
    if rng.random() < 0.1:
        term["namespaceSelector"] = {}
    return term


def _spread(rng: random.Random, key: str) -> Object:
    constraint: Object = {
        "topologyKey": key,
        "maxSkew": rng.randint(1, 4),
        "whenUnsatisfiable": rng.choice(["ScheduleAnyway", "ScheduleAnyway", "DoNotSchedule"]),
    }
    selector = _label_selector(rng)
    if selector is not None:
        constraint["labelSelector"] = selector
    if rng.random() < 0.2:
        constraint["matchLabelKeys"] = ["job"]
    if rng.random() < 0.2:
        constraint["nodeTaintsPolicy"] = rng.choice(["Honor", "Ignore"])
    if rng.random() < 0.2:
        constraint["nodeAffinityPolicy"] = rng.choice(["Honor", "Ignore"])
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and rng.random() < 0.3:
        constraint["minDomains"] = rng.randint(1, 3)
    return constraint


def _add_owners(rng: random.Random, case: Object) -> None:
    pod = case["pod"]
    namespace, app = pod["metadata"]["namespace"], pod["metadata"]["labels"]["app"]
    if rng.random() < 0.4:
        case["services"] = [
            {
                "kind": "Service",
                "metadata": {"name": f"service-{letter}", "namespace": namespace},
                "spec": {"selector": {"app": letter}},
            }
            for letter in rng.sample("xyz", 2)
        ]
    if rng.random() < 0.3:
        kind, field = rng.choice(
            [
                ("ReplicaSet", "replicaSets"),
                ("StatefulSet", "statefulSets"),
                ("ReplicationController", "replicationControllers"),
                ("Job", ""),
            ]
        )
        version = {"ReplicationController": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
        pod["metadata"]["ownerReferences"] = [
            {"apiVersion": version, "kind": kind, "name": "owner", "uid": "owner", "controller": True}
        ]
        if field:
            plain: Object = {"app": app}
            selector = plain if kind == "ReplicationController" else {"matchLabels": plain}
            metadata = {"name": "owner", "namespace": namespace}
            case[field] = [{"kind": kind, "metadata": metadata, "spec": {"selector": selector}}]
