"""What a packing map shows, and its counts in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..printable import counted, percent, printable


class NodeRow(NamedTuple):
    """One node of the map.

    `slots` has one entry per device, with the name of the job that holds it or None; `cpu` and `memory` are
    the requested shares of allocatable, 0 to 1, without the pods that run on every node.
    """

    name: str
    pool: str
    slots: tuple[str | None, ...]
    cpu: float
    memory: float

    @property
    def used(self) -> int:
        """How many devices are held."""
        return len(self.slots) - self.slots.count(None)

    @property
    def in_use(self) -> bool:
        """Whether anything runs here, so that the node can't be given back."""
        return self.used > 0 or self.cpu > 0 or self.memory > 0

    @property
    def fullness(self) -> float:
        """The share of the devices that are held; of cpu or memory, whichever is scarcer, without devices."""
        return self.used / len(self.slots) if self.slots else max(self.cpu, self.memory)


class PackingMap(NamedTuple):
    """The nodes of a cluster at one moment, grouped by pool in the order of the rows."""

    title: str
    nodes: tuple[NodeRow, ...]

    @property
    def pools(self) -> dict[str, list[NodeRow]]:
        """The nodes by pool, pools in order of appearance."""
        pools: dict[str, list[NodeRow]] = {}
        for node in self.nodes:
            pools.setdefault(node.pool, []).append(node)
        return pools


def pool_name(pool: str) -> str:
    """The name of a pool as it is shown; nodes may belong to none."""
    return printable(pool) or "no pool"


def use_text(nodes: Sequence[NodeRow]) -> str:
    """How many nodes are in use, and what is free on them."""
    if not nodes:
        return "no nodes"
    used = [node for node in nodes if node.in_use]
    text = f"{len(used):,} of {counted(len(nodes), 'node')} in use"
    rest = rest_text(nodes)
    return f"{text}, {rest} on used nodes" if rest else text


def rest_text(nodes: Iterable[NodeRow]) -> str:
    """What used nodes have left: free GPUs, or with none, the mean shares of cpu and memory; "" if none is used."""
    used = [node for node in nodes if node.in_use]
    devices = [node for node in used if node.slots]
    if devices:
        free = sum(len(node.slots) - node.used for node in devices)
        return f"{counted(free, 'GPU') if free else 'no GPU'} free"
    if not used:
        return ""
    cpu, memory = (sum(shares) / len(used) for shares in zip(*((n.cpu, n.memory) for n in used), strict=True))
    return f"{percent(1 - cpu)} of cpu and {percent(1 - memory)} of memory free"


def node_text(node: NodeRow) -> str:
    """What one node carries, job by job."""
    shares = f"cpu {percent(node.cpu)}, memory {percent(node.memory)}"
    if not node.slots:
        return shares
    jobs = Counter(job for job in node.slots if job is not None)
    held = ", ".join(f"{job} {number}" for job, number in jobs.items())
    return f"{node.used} of {counted(len(node.slots), 'GPU')} in use{f' ({held})' if held else ''}, {shares}"
