"""Nodes as the metrics keep them: what each offers and holds, as vectors, and which changed since when.

A vector starts with the number of the node's kind, its pods, and its cpu and memory as scores count them (with
the defaults of containers that request none); the requested amounts follow, one place a resource. So equal
vectors are nodes in equal state, and what is computed of one holds for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..plan.model import Plan, Pool
from ..simulate.model import DEFAULT_REQUESTS, Node, PodShape
from ..simulate.objects import read_node
from .changes import Object

#: Places in a vector before those of the resources.
KIND, PODS, SCORED = 0, 1, {resource: place for place, resource in enumerate(DEFAULT_REQUESTS, start=2)}
FIRST_RESOURCE = 2 + len(SCORED)

#: Namespace and name.
PodKey = tuple[str, str]


class Kind(NamedTuple):
    """Nodes that offer the same and differ in no label that any pod asks for.

    `offers` is a vector. `node` is one of them, `pool` the pool of the plan that its labels name.
    """

    number: int
    node: Node
    offers: list[int]
    pool: Pool | None


class Held(NamedTuple):
    """What a pod takes of its node: changes of the vector, and its devices with the name they are shown by."""

    shape: PodShape
    change: tuple[tuple[int, int], ...]
    devices: int
    holder: str
    counted: bool


class KnownNode:
    """A node by name, present (`kind` is not None) or only named by pods."""

    __slots__ = ("counted", "kind", "name", "node", "pods", "slot", "stated", "used")

    def __init__(self, name: str, slot: int, width: int) -> None:
        self.name = name
        self.slot = slot
        self.node: Node | None = None
        self.kind: Kind | None = None
        self.stated: object = None
        self.used = [0] * width
        self.pods: dict[PodKey, Held] = {}
        self.counted = 0


class Nodes:
    """All nodes, each in a slot of its own. `labels` are the label keys that pods may ask for."""

    def __init__(self, plan: Plan, labels: set[str]) -> None:
        self._pool_label = plan.spec.node_labels.pool
        self._pools: Mapping[str, Pool] = plan.pools_by_name
        self._labels = {self._pool_label, *labels}
        self._places: dict[str, int] = {}
        self._kinds: dict[object, Kind] = {}
        self._kinds_made = 0
        self._changed: dict[int, int] = {}
        self._free: list[int] = []
        self.stamp = 0
        #: Rises with every change of what nodes are there or how they are labeled.
        self.generation = 0
        self.by_name: dict[str, KnownNode] = {}
        self.slots: list[KnownNode | None] = []
        #: The pods that keep others away, each with its node.
        self.repelling: dict[tuple[KnownNode, PodKey], None] = {}
        for resource in ("cpu", "memory"):
            self.place(resource)

    def place(self, resource: str) -> int:
        """The place of a resource's requested amount in vectors."""
        place = self._places.get(resource)
        if place is None:
            place = self._places[resource] = FIRST_RESOURCE + len(self._places)
            for known in self.by_name.values():
                known.used.append(0)
            for kind in self._kinds.values():
                kind.offers.append(kind.node.allocatable.get(resource, 0))
        return place

    def named(self, name: str) -> KnownNode:
        """The node of that name, present or not."""
        known = self.by_name.get(name)
        if known is None:
            if self._free:
                slot = self._free.pop()
            else:
                slot = len(self.slots)
                self.slots.append(None)
            known = KnownNode(name, slot, FIRST_RESOURCE + len(self._places))
            self.by_name[name] = known
            self.slots[slot] = known
        return known

    def put(self, item: Object) -> None:
        """Take over a core/v1 Node as it is now."""
        metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
        stated = (
            status.get("allocatable"),
            metadata.get("labels"),
            spec.get("taints"),
            spec.get("unschedulable"),
        )
        known = self.named(metadata["name"])
        # most changes of a node are its heartbeat
        if known.kind is not None and known.stated == stated:
            return
        known.stated = stated
        known.node = read_node(
            {"metadata": metadata, "spec": spec, "status": {"allocatable": stated[0] or {}}}
        )
        for resource in known.node.allocatable:
            self.place(resource)
        self._classify(known)
        self.generation += 1

    def remove(self, name: str) -> None:
        """Forget a node; pods that are still bound to it keep their place until they go."""
        known = self.by_name.get(name)
        if known is not None and known.kind is not None:
            known.node = known.kind = known.stated = None
            self.generation += 1
            self._touch(known)
            self._drop_if_idle(known)

    def bind(self, key: PodKey, held: Held, known: KnownNode) -> None:
        """Count a pod in."""
        known.pods[key] = held
        if held.shape.required_anti:
            self.repelling[known, key] = None
        known.counted += held.counted
        used = known.used
        used[PODS] += 1
        for place, amount in held.change:
            used[place] += amount
        self._touch(known)

    def release(self, key: PodKey, known: KnownNode) -> None:
        """Count a pod out."""
        held = known.pods.pop(key)
        self.repelling.pop((known, key), None)
        known.counted -= held.counted
        used = known.used
        used[PODS] -= 1
        for place, amount in held.change:
            used[place] -= amount
        self._touch(known)
        self._drop_if_idle(known)

    def since(self, stamp: int) -> Iterator[int]:
        """The slots that changed after `stamp`, each once."""
        changed = self._changed
        for slot in reversed(changed):
            if changed[slot] <= stamp:
                return
            yield slot

    def tell_apart(self, labels: set[str]) -> None:
        """From now on nodes that differ in these labels are of different kinds."""
        if labels <= self._labels:
            return
        self._labels |= labels
        self._kinds.clear()
        for known in self.by_name.values():
            if known.node is not None:
                self._classify(known)

    def amounts(self, known: KnownNode) -> dict[str, int]:
        """What the pods on a node request."""
        return {name: known.used[place] for name, place in self._places.items() if known.used[place]}

    def _classify(self, known: KnownNode) -> None:
        node = known.node
        assert node is not None  # noqa: S101  (callers set it)
        labels = node.labels
        key = (
            frozenset(node.allocatable.items()),
            tuple((name, labels[name]) for name in sorted(self._labels) if name in labels),
            node.taints,
            node.unschedulable,
        )
        kind = self._kinds.get(key)
        if kind is None:
            self._kinds_made += 1
            pool = self._pools.get(labels.get(self._pool_label, ""))
            kind = self._kinds[key] = Kind(self._kinds_made, node, self._vector(node), pool)
        known.kind = kind
        known.used[KIND] = kind.number
        self._touch(known)

    def _vector(self, node: Node) -> list[int]:
        offers = node.allocatable
        scored = [offers.get(resource, 0) for resource in SCORED]
        return [0, offers.get("pods", 0), *scored, *(offers.get(resource, 0) for resource in self._places)]

    def _touch(self, known: KnownNode) -> None:
        self.stamp += 1
        self._changed.pop(known.slot, None)
        self._changed[known.slot] = self.stamp

    def _drop_if_idle(self, known: KnownNode) -> None:
        if known.kind is None and not known.pods:
            del self.by_name[known.name]
            self.slots[known.slot] = None
            self._free.append(known.slot)
