"""The packing map for a terminal: block characters, equal nodes together."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..printable import columns, fitted, printable
from .cells import BY_USE, Cell, cells
from .model import NodeRow, PackingMap, pool_name, use_text

_USED, _FREE = "█", "░"
_EIGHTHS = 8
_LONGEST_ROW = 32  # more devices on a node than this are told in numbers


def text(cluster: PackingMap, width: int) -> str:
    """The title with the counts in words, then each pool's nodes, in lines of about `width` columns."""
    pools = cluster.pools
    head = f"{printable(cluster.title)}: {use_text(cluster.nodes)}\n"
    label = min(24, max((columns(pool_name(pool)) for pool in pools), default=0))
    return head + "".join(
        line
        for pool, nodes in pools.items()
        for line in _pool(fitted(pool_name(pool), label), label, nodes, width)
    )


def _pool(name: str, label: int, nodes: list[NodeRow], width: int) -> Iterator[str]:
    """The cells of a pool, as many to a line as go in."""
    margin = "  " + " " * label + "  "
    line = "  " + name + " " * (label - columns(name)) + "  "
    empty = True
    for cell in cells(nodes, BY_USE):
        drawn = _cell(cell)
        if not empty and columns(line) + columns(drawn) > width:
            yield line.rstrip() + "\n"
            line = margin
        line += drawn + "   "
        empty = False
    yield line.rstrip() + "\n"


def _cell(cell: Cell) -> str:
    node = cell.node
    if not node.slots:
        drawn = f"cpu {_bar(node.cpu)} memory {_bar(node.memory)}"
    elif len(node.slots) > _LONGEST_ROW:
        drawn = f"{_bar(node.fullness)} {node.used}/{len(node.slots)}"
    else:
        drawn = _USED * node.used + _FREE * (len(node.slots) - node.used)
    work = " with cpu work only" if node.slots and node.in_use and not node.used else ""
    return f"{drawn} x {cell.number}{work}"


def _bar(share: float) -> str:
    """Eight characters; anything above nothing shows, and only what is full looks full."""
    filled = min(_EIGHTHS, max(0, math.floor(share * _EIGHTHS)))
    if share > 0:
        filled = max(filled, 1)
    return _USED * filled + _FREE * (_EIGHTHS - filled)
