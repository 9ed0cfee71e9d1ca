"""Which nodes are drawn one by one, and which together as "x 37 like this"."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from ..printable import natural
from .model import NodeRow, PackingMap

MOST_NODES = 240
"""More nodes than this are grouped by what they carry."""

MOST_GROUPS = 120
"""More groups than this are made fewer by not telling jobs apart."""


class Cell(NamedTuple):
    """A node, or several that look alike, of which it is the first."""

    node: NodeRow
    number: int


class Grouping(NamedTuple):
    """Which nodes look alike."""

    key: Callable[[NodeRow], Hashable]
    together: bool
    tells_jobs: bool


def _jobs(node: NodeRow) -> Hashable:
    held = sorted(job for job in node.slots if job is not None)
    return (len(node.slots), *held, *(() if node.slots else (round(node.cpu, 2), round(node.memory, 2))))


def use(node: NodeRow) -> Hashable:
    """What is left of a node when jobs aren't told apart; shares of cpu and memory in tenths."""
    return (len(node.slots), node.used) if node.slots else (round(node.cpu, 1), round(node.memory, 1))


EACH = Grouping(lambda node: node.name, together=False, tells_jobs=True)
BY_JOBS = Grouping(lambda node: (node.in_use, _jobs(node)), together=True, tells_jobs=True)
BY_USE = Grouping(lambda node: (node.in_use, use(node)), together=True, tells_jobs=False)


def grouping(maps: Sequence[PackingMap]) -> Grouping:
    """The finest grouping that keeps every map readable."""
    if max((len(cluster.nodes) for cluster in maps), default=0) <= MOST_NODES:
        return EACH
    groups = max(len({(node.pool, BY_JOBS.key(node)) for node in cluster.nodes}) for cluster in maps)
    return BY_JOBS if groups <= MOST_GROUPS else BY_USE


def cells(nodes: Sequence[NodeRow], by: Grouping) -> list[Cell]:
    """The nodes of a pool as cells, the fullest first, so that packing is seen as a short full front."""
    ordered = sorted(nodes, key=lambda node: (not node.in_use, -node.fullness, natural(node.name)))
    if not by.together:
        return [Cell(node, 1) for node in ordered]
    groups: dict[Hashable, list[NodeRow]] = {}
    for node in ordered:
        groups.setdefault(by.key(node), []).append(node)
    return [Cell(group[0], len(group)) for group in groups.values()]
