"""The golden metrics from full snapshots, all nodes and pods anew at every change: the ledger's slow twin.

Written from the definitions, with formulas and readers of its own; it knows the features that the random streams
use: node selectors, taints, cordons, anti-affinity of pods to their app on the same host, nominations.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from typing import Any

from binpackgen.metrics.changes import Change

Item = dict[str, Any]

#: Everything is counted in thousandths.
UNITS = {"m": 1, "Mi": 2**20 * 1000, "Gi": 2**30 * 1000}
HOST = "kubernetes.io/hostname"


@lru_cache
def number(quantity: str) -> int:
    for unit, factor in UNITS.items():
        if quantity.endswith(unit):
            return int(quantity.removesuffix(unit)) * factor
    return int(quantity) * 1000


def requests(pod: Item, missing: dict[str, str] | None = None) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for resource, quantity in {**(missing or {}), **container["resources"].get("requests", {})}.items():
            total[resource] = total.get(resource, 0) + number(quantity)
    return total


def priority(pod: Item) -> int:
    value: int = pod["spec"].get("priority", 0)
    return value


def avoided_labels(pod: Item) -> Item | None:
    """The labels of its one required anti-affinity term."""
    anti = pod["spec"].get("affinity", {}).get("podAntiAffinity")
    if not anti:
        return None
    labels: Item = anti["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]["matchLabels"]
    return labels


def condition(pod: Item, kind: str, reason: str) -> Item | None:
    conditions = pod["status"].get("conditions", [])
    return next((c for c in conditions if c["type"] == kind and c["reason"] == reason), None)


class Twin:
    """Feed it the same changes; it holds what the ledger should say."""

    def __init__(
        self, strategy: str, resources: tuple[tuple[str, int], ...], shape: Any, within: float
    ) -> None:
        self.strategy, self.resources, self.shape, self.within = strategy, resources, shape, within
        self.cap: tuple[int, int, bool] | None = None
        self.nodes: dict[str, Item] = {}
        self.pods: dict[str, Item] = {}
        self.versions: dict[str, int] = {}
        self.gone: dict[str, int] = {}
        self.seen_waiting: set[str] = set()
        self.placements: list[tuple[Any, ...]] = []
        self.first_nominated: dict[str, float] = {}
        self.standing: dict[str, tuple[str, float]] = {}
        self.by_preemption: dict[str, float] = {}
        self.all_nominated: list[str] = []
        self.outcomes: dict[str, float | None] = {}
        self.at = 0.0

    # -- changes ----------------------------------------------------------------------------------------------

    def feed(self, change: Change) -> None:
        self.at = max(self.at, change.at)
        item: Any = change.object
        key = f"{change.kind}/{item['metadata']['name']}"
        if key in self.versions:
            newer = change.version > self.versions[key]
            if not newer and not (change.version == self.versions[key] and change.type == "DELETED"):
                return
        elif change.version <= self.gone.get(key, -1):
            return
        held = self.nodes if change.kind == "Node" else self.pods
        before = held.get(item["metadata"]["name"])
        if change.type == "DELETED":
            self.versions.pop(key, None)
            self.gone[key] = change.version
            held.pop(item["metadata"]["name"], None)
            if change.kind == "Pod" and before:
                self.pod_gone(before)
            return
        self.versions[key] = change.version
        if change.kind == "Pod":
            if before and before["metadata"]["uid"] != item["metadata"]["uid"]:
                self.pod_gone(before)
                before = None
            # the placement is judged on the snapshot without the pod
            held.pop(item["metadata"]["name"], None)
            self.pod_changed(before, item, change)
        held[item["metadata"]["name"]] = item
        if change.kind == "Pod":
            self.look_for_preemption()

    def pod_gone(self, pod: Item) -> None:
        uid = pod["metadata"]["uid"]
        self.standing.pop(uid, None)
        self.outcomes.setdefault(uid, None)

    def pod_changed(self, before: Item | None, pod: Item, change: Change) -> None:
        uid = pod["metadata"]["uid"]
        if not pod["spec"].get("nodeName"):
            self.seen_waiting.add(uid)
            name = pod["status"].get("nominatedNodeName", "")
            if pod["status"]["phase"] in ("Failed", "Succeeded"):
                self.pod_gone(pod)
                return
            if name != self.standing.get(uid, ("", 0))[0]:
                self.standing.pop(uid, None)
                if name:
                    self.standing[uid] = name, change.at
                    if uid not in self.all_nominated:
                        self.all_nominated.append(uid)
                    failed = condition(pod, "PodScheduled", "Unschedulable")
                    if failed and before and failed != condition(before, "PodScheduled", "Unschedulable"):
                        self.by_preemption.setdefault(uid, change.at)
            return
        if uid in self.seen_waiting and uid not in {row[0] for row in self.placements}:
            self.place(pod, change)
            self.standing.pop(uid, None)
            self.outcomes.setdefault(uid, change.at)

    def look_for_preemption(self) -> None:
        for pod in self.pods.values():
            uid = pod["metadata"]["uid"]
            if uid not in self.standing or not condition(pod, "PodScheduled", "Unschedulable"):
                continue
            name, since = self.standing[uid]
            if any(
                condition(other, "DisruptionTarget", "PreemptionByScheduler")
                and priority(other) < priority(pod)
                for other in self.on_node(name)
            ):
                self.by_preemption.setdefault(uid, since)

    # -- state ------------------------------------------------------------------------------------------------

    def on_node(self, name: str) -> list[Item]:
        return [
            pod
            for pod in self.pods.values()
            if pod["spec"].get("nodeName") == name and pod["status"]["phase"] not in ("Succeeded", "Failed")
        ]

    def used(self, pods: list[Item], resource: str, *, scoring: bool = False) -> int:
        missing = {"cpu": "100m", "memory": "200Mi"} if scoring else None
        return sum(requests(pod, missing).get(resource, 0) for pod in pods)

    def offers(self, node: Item, resource: str) -> int:
        return number(node["status"]["allocatable"].get(resource, "0"))

    # -- choices ----------------------------------------------------------------------------------------------

    def place(self, pod: Item, change: Change) -> None:
        name, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        if name not in self.nodes:
            self.placements.append((uid, name, None, None, 0, False))
            return
        can = {node["metadata"]["name"] for node in self.nodes.values() if self.is_feasible(pod, node)} | {
            name
        }
        scores = {other: self.score(pod, self.nodes[other]) for other in can}
        nominated = uid in self.by_preemption and self.standing.get(uid, ("", 0))[0] == name
        choice = len(set(scores.values())) > 1 and not nominated
        self.placements.append((uid, name, scores[name], max(scores.values()), len(can), choice))

    def is_feasible(self, pod: Item, node: Item) -> bool:
        labels, spec = node["metadata"]["labels"], node["spec"]
        for key, value in pod["spec"].get("nodeSelector", {}).items():
            if labels.get(key) != value:
                return False
        tolerated = {toleration["key"] for toleration in pod["spec"].get("tolerations", [])}
        if any(taint["key"] not in tolerated for taint in spec.get("taints", [])):
            return False
        if spec.get("unschedulable") and "node.kubernetes.io/unschedulable" not in tolerated:
            return False
        here = self.on_node(node["metadata"]["name"])
        for other in here:
            for one, two in ((pod, other), (other, pod)):
                if avoided_labels(one) == two["metadata"]["labels"]:
                    return False
        nominated = [
            other
            for other in self.pods.values()
            if self.standing.get(other["metadata"]["uid"], ("", 0))[0] == node["metadata"]["name"]
            and priority(other) >= priority(pod)
        ]
        return self.has_room(requests(pod), node, here) and self.has_room(
            requests(pod), node, here + nominated
        )

    def has_room(self, request: dict[str, int], node: Item, pods: list[Item]) -> bool:
        if len(pods) + 1 > self.offers(node, "pods"):
            return False
        for resource, amount in request.items():
            if amount and amount + self.used(pods, resource) > self.offers(node, resource):
                return False
        if self.cap:
            cpu, memory, exempt = self.cap
            devices = {r for r in node["status"]["allocatable"] if "/" in r}
            whole = devices and all(request.get(r, 0) >= self.offers(node, r) for r in devices)
            if not (exempt and whole):
                for resource, least in (("cpu", cpu), ("memory", memory)):
                    left = self.offers(node, resource) - self.used(pods, resource) - request.get(resource, 0)
                    if left < least:
                        return False
        return True

    def score(self, pod: Item, node: Item) -> int:
        parts: list[tuple[int, int]] = []
        here = [*self.on_node(node["metadata"]["name"]), pod]
        for resource, weight in self.resources:
            if "/" in resource and not requests(pod).get(resource):
                continue
            whole = self.offers(node, resource)
            if not whole:
                continue
            taken = self.used(here, resource, scoring="/" not in resource)
            if self.strategy == "MostAllocated":
                parts.append((min(taken, whole) * 100 // whole, weight))
            elif self.strategy == "LeastAllocated":
                parts.append((max(whole - taken, 0) * 100 // whole, weight))
            else:
                parts.append((self.on_shape(min(100, taken * 100 // whole)), weight))
        if self.strategy == "RequestedToCapacityRatio":
            parts = [(part, weight) for part, weight in parts if part > 0]
            weights = sum(weight for _, weight in parts)
            return int(Fraction(sum(p * w for p, w in parts), weights) + Fraction(1, 2)) if weights else 0
        weights = sum(weight for _, weight in parts)
        return sum(part * weight for part, weight in parts) // weights if weights else 0

    def on_shape(self, utilization: int) -> int:
        points: list[tuple[int, int]] = [(x, y * 10) for x, y in self.shape]
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            if x0 <= utilization <= x1:
                return y0 + int(Fraction((y1 - y0) * (utilization - x0), x1 - x0))
        return points[0][1] if utilization < points[0][0] else points[-1][1]

    # -- results ----------------------------------------------------------------------------------------------

    def fragmentation(
        self,
        pool_label: str,
        pools: dict[str, tuple[str, set[str]]],
        sizes: list[tuple[int, str, set[str], dict[str, int]]],
    ) -> dict[str, dict[str, tuple[int, int, float | None]]]:
        """By type and resource: allocatable, free, unusable share. `pools` give type and tolerated taints.

        A size is its weight, its GPU type ("" for CPU-only), its pools and its request.
        """
        found: dict[str, dict[str, tuple[int, int, float | None]]] = {}
        for kind in {kind for kind, _ in pools.values()}:
            own = {name for name, (other, _) in pools.items() if other == kind}
            nodes = [n for n in self.nodes.values() if n["metadata"]["labels"].get(pool_label) in own]
            if not nodes:
                continue
            resources = ["cpu", "memory"] + (["nvidia.com/gpu"] if kind != "none" else [])
            for resource in resources:
                asking = [
                    size
                    for size in sizes
                    if (size[1] == kind if size[1] else size[2] & own) and size[3].get(resource)
                ]
                whole = sum(self.offers(n, resource) for n in nodes)
                free = unusable = 0
                for n in nodes:
                    here = self.on_node(n["metadata"]["name"])
                    left = max(0, self.offers(n, resource) - self.used(here, resource))
                    free += left
                    closed = n["spec"].get("unschedulable") or any(
                        taint["key"] not in pools[n["metadata"]["labels"][pool_label]][1]
                        for taint in n["spec"].get("taints", [])
                    )
                    for weight, _, _, request in asking:
                        extra: list[Item] = []
                        while not closed and self.has_room(request, n, here + extra):
                            amounts = {r: f"{a}m" for r, a in request.items()}
                            extra.append({"spec": {"containers": [{"resources": {"requests": amounts}}]}})
                        unusable += weight * (left - len(extra) * request[resource])
                weights = sum(size[0] for size in asking)
                share = (unusable / (weights * free) if free else 0.0) if weights else None
                found.setdefault(kind, {})[resource] = whole, free, share
        return found

    def preemption(self) -> tuple[int, int, int, tuple[float, ...], int]:
        """Nominated, bound in time, waiting, seconds, unexplained."""
        seconds = {
            uid: self.outcomes[uid] - since  # type: ignore[operator]
            for uid, since in self.by_preemption.items()
            if self.outcomes.get(uid) is not None
        }
        order = [uid for uid in self.outcomes if uid in seconds]
        waiting = sum(
            uid not in self.outcomes and self.at - since <= self.within
            for uid, since in self.by_preemption.items()
        )
        return (
            len(self.by_preemption),
            sum(value <= self.within for value in seconds.values()),
            waiting,
            tuple(seconds[uid] for uid in order),
            len(set(self.all_nominated) - set(self.by_preemption)),
        )
