"""A cap on a real cluster: the scheduler that has its plugin, and what nodes have left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from binpackgen.metrics.changes import Change, Object
from binpackgen.metrics.pods import read_any_pod
from binpackgen.plan.model import Plan, Pool
from binpackgen.targets.scheduler.configuration import has_cap_plugin

from .binaries import binary


class Left(NamedTuple):
    """What a node has left after a pod came to it: millicores and bytes, below zero where it is overcommitted.

    `short` says whether that is less than the cap's headroom, `keeping` how many other nodes had enough left to
    take the pod and keep the headroom, were it for cpu and memory alone.
    """

    version: int
    pod: str
    node: str
    cpu: int
    memory: int
    short: bool
    keeping: int


def scheduler_program(plan: Plan) -> Path | None:
    """The scheduler that has the cap's plugin, None where the stock one will do."""
    return binary("node-utilization-cap") if has_cap_plugin(plan) else None


def for_pods(plan: Plan, pool: Pool) -> tuple[int, int]:
    """Millicores and bytes that a machine of the pool has for pods, the cap's headroom included."""
    cap = plan.cap
    kept = (cap.cpu, cap.memory) if cap is not None and cap.form == "reserve" else (0, 0)
    return pool.allocatable.cpu + kept[0], pool.allocatable.memory + kept[1]


def left_on_nodes(plan: Plan, changes: Iterable[Change]) -> Iterator[Left]:
    """What a node of a pool had left, each time that a pod came to it.

    Follows the changes from the first of each object on. Bindings in the order of the API server's writes, so
    that every instant at which a node had least is among them.
    """
    cap = plan.cap
    headroom = (cap.cpu, cap.memory) if cap is not None else (0, 0)
    left: dict[str, list[int]] = {}
    held: dict[str, tuple[str, int, int]] = {}
    for change in changes:
        if change.kind == "Node":
            name = change.object["metadata"]["name"]
            label = (change.object["metadata"].get("labels") or {}).get(plan.spec.node_labels.pool, "")
            if name not in left and label in plan.pools_by_name:
                left[name] = list(for_pods(plan, plan.pools_by_name[label]))
        if change.kind != "Pod":
            continue
        uid = change.object["metadata"]["uid"]
        after = _holds(change.object) if change.type != "DELETED" else None
        before = held.pop(uid, None)
        for taken, sign in ((before, 1), (after, -1)):
            if taken is not None and taken[0] in left:
                left[taken[0]][0] += sign * taken[1]
                left[taken[0]][1] += sign * taken[2]
        if after is None:
            continue
        held[uid] = after
        if before is None and after[0] in left:
            cpu, memory = left[after[0]]
            metadata = change.object["metadata"]
            pod = f"{metadata['namespace']}/{metadata['name']}"
            is_short = any(kept and rest < kept for rest, kept in zip((cpu, memory), headroom, strict=True))
            needs = (headroom[0] + after[1], headroom[1] + after[2])
            keeping = sum(
                name != after[0] and rest[0] >= needs[0] and rest[1] >= needs[1]
                for name, rest in left.items()
            )
            yield Left(change.version, pod, after[0], cpu, memory, is_short, keeping)


def _holds(pod: Object) -> tuple[str, int, int] | None:
    """The node of a pod and what it takes there, None for one that has none or has ended."""
    node = pod["spec"].get("nodeName")
    if not node or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return None
    requests = read_any_pod(pod).shape.requests
    return node, requests.get("cpu", 0), requests.get("memory", 0)
