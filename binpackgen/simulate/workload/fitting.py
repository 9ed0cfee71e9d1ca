"""Shapes that no node could take, however empty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..filters import CORDON, tolerates_node
from ..matching import tolerated
from ..model import Node, PodShape


def homeless(shapes: Sequence[PodShape], nodes: Iterable[Node]) -> tuple[int, ...]:
    """Indexes of the shapes that fit on none of `nodes` when it is empty: by size, labels, taints and cordons."""
    looks = {_look(node): node for node in nodes}
    kinds = list(looks.values())
    return tuple(
        index for index, shape in enumerate(shapes) if not any(_takes(node, shape) for node in kinds)
    )


def _look(node: Node) -> object:
    labels = frozenset(item for item in node.labels.items() if item[1] != node.name)
    return labels, frozenset(node.allocatable.items()), node.taints, node.unschedulable


def _takes(node: Node, shape: PodShape) -> bool:
    there = node.allocatable
    return (
        there.get("pods", 0) > 0
        and all(amount <= there.get(name, 0) for name, amount in shape.requests.items() if amount > 0)
        and tolerates_node(shape, node)
        and not (node.unschedulable and not tolerated(CORDON, shape.tolerations))
        and shape.accepts(node)
    )
