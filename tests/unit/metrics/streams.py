"""Random streams of changes: pods that come, are bound anywhere, finish, go, come back; nodes that come and change."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from binpackgen.metrics.changes import Change
from tests.unit.metrics.clusters import TYPE, change, node, pod

Item = dict[str, Any]

POOLS = ("v100", "v100", "v100-small", "a100", "cpu")
CORDON = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}


class Stream:
    """One random stream of `length` changes at most; versions and times rise."""

    def __init__(self, chance: random.Random, nodes: int) -> None:
        self._chance = chance
        self._version = 0
        self._at = 0.0
        self._made = 0
        self._objects: dict[tuple[str, str], tuple[int, Item]] = {}
        self._old: list[Change] = []
        self._names = [f"n{index}" for index in range(nodes)]

    def changes(self, length: int) -> Iterator[Change]:
        """The stream."""
        for name in self._names:
            if self._chance.random() < 0.9:
                yield self._write(node(name, self._chance.choice(POOLS)), "ADDED")
        for _ in range(length):
            yield from self._step()

    def _write(self, item: Item, event: Any = "MODIFIED") -> Change:
        self._version += self._chance.randint(1, 3)
        self._at += self._chance.choice((0.0, 0.5, 20.0))
        key = item["kind"], item["metadata"]["name"]
        if event == "DELETED":
            self._objects.pop(key, None)
        else:
            self._objects[key] = self._version, item
        written = change(self._version, item, event, self._at)
        self._old.append(written)
        return written

    def _step(self) -> Iterator[Change]:
        chance = self._chance
        pods = [item for (kind, _), (_, item) in self._objects.items() if kind == "Pod"]
        alive = [item for item in pods if item["status"]["phase"] in ("Pending", "Running")]
        waiting = [item for item in alive if "nodeName" not in item["spec"]]
        running = [item for item in alive if "nodeName" in item["spec"]]
        step = chance.random()
        if step < 0.3 or not pods:
            yield self._write(self._new_pod(), "ADDED")
        elif step < 0.6 and waiting:
            bound = copy.deepcopy(chance.choice(waiting))
            bound["spec"]["nodeName"] = chance.choice(self._names)
            if bound["status"].get("nominatedNodeName") and chance.random() < 0.7:
                bound["spec"]["nodeName"] = bound["status"].pop("nominatedNodeName")
            bound["status"]["phase"] = chance.choice(("Pending", "Running", "Running", "Succeeded"))
            yield self._write(bound)
        elif step < 0.68 and waiting:
            yield self._write(self._nominated(chance.choice(waiting)))
        elif step < 0.8 and running:
            yield self._write(self._aged(chance.choice(running)))
        elif step < 0.87:
            yield self._write(chance.choice(pods), "DELETED")
        elif step < 0.93:
            yield from self._node_change()
        elif step < 0.97 and self._old:
            # a change that comes again, perhaps long after
            yield chance.choice(self._old)._replace(at=self._at)
        else:
            for version, item in list(self._objects.values()):
                yield change(version, item, "ADDED", self._at)

    def _new_pod(self) -> Item:
        chance = self._chance
        self._made += 1
        name = f"p{chance.randrange(30)}"
        while ("Pod", name) in self._objects:
            name = f"p{self._made}x{chance.randrange(100)}"
        gpus = chance.choice((0, 0, 1, 1, 2, 4, 8))
        item = pod(
            name,
            chance.choice(("500m", "2", "4", "6")) if gpus < 2 else chance.choice(("8", "16")),
            chance.choice(("1Gi", "8Gi", "16Gi")),
            gpus,
            uid=f"u{self._made}",
            labels={"app": chance.choice(("a", "b"))},
        )
        spec = item["spec"]
        if chance.random() < 0.2:
            spec["containers"].append({"name": "bare", "image": "x", "resources": {}})
        if chance.random() < 0.15:
            spec["containers"][0]["resources"] = {}
        if chance.random() < 0.5:
            spec["priority"] = chance.choice((10, 100))
        if chance.random() < 0.3:
            spec["nodeSelector"] = chance.choice(
                ({TYPE: "v100"}, {TYPE: "a100"}, {"zone": "z1"}, {"kubernetes.io/hostname": "n1"})
            )
        if chance.random() < 0.3:
            spec["tolerations"] = [chance.choice((CORDON, {"key": "dedicated", "operator": "Exists"}))]
        if chance.random() < 0.1:
            terms = [
                {
                    "labelSelector": {"matchLabels": item["metadata"]["labels"]},
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        return item

    def _nominated(self, item: Item) -> Item:
        chance, item = self._chance, copy.deepcopy(item)
        status = item["status"]
        if chance.random() < 0.6:
            message = chance.choice(("no fit", "still no fit"))
            status["conditions"] = [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            ]
        status.pop("nominatedNodeName", None)
        if chance.random() < 0.7:
            status["nominatedNodeName"] = chance.choice(self._names)
        if chance.random() < 0.05:
            status["phase"] = "Failed"
        return item

    def _aged(self, item: Item) -> Item:
        chance, item = self._chance, copy.deepcopy(item)
        what = chance.random()
        if what < 0.4:
            item["status"]["phase"] = chance.choice(("Succeeded", "Failed"))
        elif what < 0.7:
            item["status"]["conditions"] = [
                {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
            ]
        elif what < 0.85:
            item["metadata"]["generation"] += 1
            item["spec"]["containers"][0]["resources"] = {"requests": {"cpu": chance.choice(("1", "3"))}}
        else:
            item["metadata"]["labels"] = {"app": chance.choice(("a", "b", "c"))}
        return item

    def _node_change(self) -> Iterator[Change]:
        chance = self._chance
        name = chance.choice(self._names)
        _, item = self._objects.get(("Node", name), (0, None))
        if item is None:
            yield self._write(node(name, chance.choice(POOLS)), "ADDED")
        elif chance.random() < 0.3:
            yield self._write(item, "DELETED")
        else:
            item = copy.deepcopy(item)
            what = chance.randrange(5)
            if what == 0:
                item["spec"]["unschedulable"] = chance.random() < 0.5
            elif what == 1:
                keys = chance.sample(("dedicated", "nvidia.com/gpu"), chance.randrange(3))
                item["spec"]["taints"] = [
                    {"key": key, "value": "present", "effect": "NoSchedule"} for key in keys
                ]
            elif what == 2:
                item["metadata"]["labels"]["zone"] = chance.choice(("z1", "z2"))
            elif what == 3:
                item["status"]["allocatable"]["cpu"] = chance.choice(("16", "32", "31500m"))
            else:
                item["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            yield self._write(item)
