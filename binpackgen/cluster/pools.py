"""From nodes to node pools: what is equal belongs together, and nothing is rounded in favor of anybody."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from ..plan.pools import cpu_text, memory_text
from .model import ClusterNode, some

#: By how much the memory of equal machines may differ, in percent of the least: firmware and kernel keep a
#: little more on one than on the other.
MEMORY_TOLERANCE = 1

_EVICTION = 100 * 1024**2
_LEAST_MEMORY = 4 * 1024**2
_DEFAULT_PODS = 110


@dataclass(frozen=True, slots=True)
class Grouping:
    """Pools as a profile states them, and what they do not show."""

    pools: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]


def group_nodes(nodes: Sequence[ClusterNode]) -> Grouping:
    """Pools of equal nodes: GPU pools by type, number and size, then CPU pools by size.

    Nodes are equal if their cpu (capacity and allocatable), devices, GPU type, pods, taints and pool label
    are, and their memory differs by at most MEMORY_TOLERANCE; the pool has the least memory of its nodes.
    Capacity less `reserved` is exactly what its nodes offer.
    """
    groups = sorted(_groups(_told_apart(nodes)), key=_order)
    notes: list[str] = []
    pools = []
    for name, group in zip(_names(groups), groups, strict=True):
        pools.append(_pool(name, group))
        notes += _remarks(name, group)
    return Grouping(tuple(pools), tuple(notes))


def _told_apart(nodes: Sequence[ClusterNode]) -> Iterator[ClusterNode]:
    """`nodes`; shared GPUs get a type of their own where others of the type are not shared."""
    whole = {node.gpu.type for node in nodes if node.gpu and not node.gpu.sharing}
    for node in nodes:
        gpu = node.gpu
        if gpu is not None and gpu.sharing and gpu.type in whole:
            yield replace(node, gpu=gpu.model_copy(update={"type": f"{gpu.type}-shared"}))
        else:
            yield node


def _groups(nodes: Iterable[ClusterNode]) -> Iterator[list[ClusterNode]]:
    equal: dict[Any, list[ClusterNode]] = defaultdict(list)
    for node in nodes:
        key = (node.gpu, node.cpu, node.allocatable_cpu, node.pods, node.taints, node.pool)
        equal[key].append(node)
    for group in equal.values():
        for near in _near(group, "memory"):
            yield from _near(near, "allocatable_memory")


def _near(nodes: list[ClusterNode], amount: str) -> Iterator[list[ClusterNode]]:
    """`nodes` in runs whose greatest amount is at most MEMORY_TOLERANCE above the least."""
    run: list[ClusterNode] = []
    for node in sorted(nodes, key=lambda node: (getattr(node, amount), node.name)):
        if run and getattr(node, amount) * 100 > getattr(run[0], amount) * (100 + MEMORY_TOLERANCE):
            yield run
            run = []
        run.append(node)
    yield run


def _memory(group: list[ClusterNode]) -> tuple[int, int]:
    """Least capacity and least allocatable memory of a group."""
    return min(node.memory for node in group), min(node.allocatable_memory for node in group)


def _order(group: list[ClusterNode]) -> tuple[Any, ...]:
    node = group[0]
    kind = (0, node.gpu.type, node.gpu.count) if node.gpu else (1, "", 0)
    taints = [(taint.key, taint.value, taint.effect) for taint in node.taints or ()]
    return (
        *kind,
        node.allocatable_cpu,
        _memory(group)[1],
        node.pool or "",
        taints,
        min(n.name for n in group),
    )


def _names(groups: Sequence[list[ClusterNode]]) -> list[str]:
    """A DNS label per group: no longer than it takes to tell the groups apart; equal ones get a number."""
    forms = [_forms(group) for group in groups]
    names = [form[0] for form in forms]
    for longer in (1, 2):
        told = defaultdict(set)
        for form, name in zip(forms, names, strict=True):
            told[name].add(form[longer])
        names = [
            form[longer] if len(told[name]) > 1 else name for form, name in zip(forms, names, strict=True)
        ]
    used: set[str] = set()
    unique = []
    for name in names:
        numbered = (f"{name}-{number}" for number in count(2))
        free = name if name not in used else next(n for n in numbered if n not in used and n not in names)
        used.add(free)
        unique.append(free)
    return unique


def _forms(group: list[ClusterNode]) -> tuple[str, str, str]:
    """Names for a group, each longer than the one before: the kind of node, its cores, its memory in Gi."""
    node = group[0]
    cores, memory = round(node.cpu / 1000), round(_memory(group)[0] / 2**30)
    kind = re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?", node.pool or "")
    if kind:
        short = kind[0]
    elif node.gpu:
        short = (
            f"{'-'.join(re.findall('[a-z0-9]+', node.gpu.type.lower()))[:40].strip('-')}-{node.gpu.count}x"
        )
    else:
        return (f"cpu-{cores}c-{memory}g",) * 3
    return short, f"{short}-{cores}c", f"{short}-{cores}c-{memory}g"


def _pool(name: str, group: list[ClusterNode]) -> dict[str, Any]:
    node = group[0]
    memory, allocatable_memory = _memory(group)
    kept = memory - allocatable_memory
    if kept < _LEAST_MEMORY:  # less than a profile can reserve
        memory, kept = allocatable_memory, 0
    pool: dict[str, Any] = {
        "name": name,
        "count": len(group),
        "cpu": cpu_value(node.cpu),
        "memory": memory_text(memory),
    }
    if node.pods is not None and node.pods != _DEFAULT_PODS:
        pool["pods"] = node.pods
    if node.gpu is not None:
        pool["gpu"] = node.gpu.model_dump(by_alias=True, exclude_defaults=True, mode="json")
    labels = _common_labels(group)
    if labels:
        pool["labels"] = labels
    taints = _taints(node)
    if taints is not None:
        pool["taints"] = taints
    zones = sorted({member.zone for member in group if member.zone})
    if zones:
        pool["zones"] = zones
    reserved = _reserved(node.cpu - node.allocatable_cpu, kept)
    if reserved:
        pool["reserved"] = reserved
    return pool


def _reserved(cpu: int, memory: int) -> dict[str, Any]:
    """What the kubelet keeps, so that capacity less it is allocatable to the byte.

    The eviction threshold is taken to be the kubelet's own 100Mi where the amount allows it.
    """
    rest = memory - _EVICTION
    usual = rest == 0 or rest >= _LEAST_MEMORY
    system: dict[str, Any] = {}
    if cpu:
        system["cpu"] = cpu_value(cpu)
    kept = rest if usual else memory
    if kept:
        system["memory"] = memory_text(kept)
    reserved: dict[str, Any] = {"system": system} if system else {}
    return reserved if usual else {**reserved, "evictionMemory": 0}


def _taints(node: ClusterNode) -> list[dict[str, Any]] | None:
    """The taints where they are known and not those that a profile has by default."""
    if node.taints is None:
        return None
    default = [(node.gpu.resource, "present", "NoSchedule")] if node.gpu else []
    if [(taint.key, taint.value, taint.effect) for taint in node.taints] == default:
        return None
    return [taint.model_dump(exclude_defaults=True) for taint in node.taints]


def _common_labels(group: list[ClusterNode]) -> dict[str, str]:
    shared = set(group[0].labels.items())
    for node in group[1:]:
        shared &= node.labels.items()
    return dict(sorted(shared))


def _remarks(name: str, group: list[ClusterNode]) -> Iterator[str]:
    least, most = min(n.allocatable_memory for n in group), max(n.allocatable_memory for n in group)
    if least != most:
        yield (
            f"pool {name}: allocatable memory of its {len(group)} nodes differs by up to "
            f"{memory_text(most - least)} ({_percent(most - least, least)}); the least, "
            f"{memory_text(least)}, is stated"
        )
    common = _common_labels(group)
    differing = sorted({key for node in group for key in node.labels} - common.keys())
    if differing:
        yield f"pool {name}: labels that not all of its {len(group)} nodes have alike are left out: {some(differing)}"


def _percent(part: int, whole: int) -> str:
    hundredths = -(-part * 10_000 // whole)
    return f"at most {hundredths / 100} %"


def cpu_value(millicores: int) -> int | str:
    """An amount of cpu as a person writes it in a profile: 32 or "31500m"."""
    return millicores // 1000 if millicores % 1000 == 0 else cpu_text(millicores)
