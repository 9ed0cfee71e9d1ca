"""Which nodes pods may run on at all, and shapes that no node could take, however empty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..filters import CORDON, tolerates_node
from ..matching import tolerated
from ..model import Node, PodShape


def look(node: Node) -> object:
    """Equal for nodes that pods can't tell apart but by name, allocatable left out."""
    labels = frozenset(item for item in node.labels.items() if item[1] != node.name)
    return labels, node.taints, node.unschedulable


def may_run(shape: PodShape, node: Node) -> bool:
    """Whether labels, taints and cordon let the pod onto the node."""
    if node.unschedulable and not tolerated(CORDON, shape.tolerations):
        return False
    return shape.accepts(node) and tolerates_node(shape, node)


def homeless(shapes: Sequence[PodShape], nodes: Iterable[Node]) -> tuple[int, ...]:
    """Indexes of the shapes that fit on none of `nodes` when it is empty: by size, labels, taints and cordons."""
    kinds = list({(look(node), frozenset(node.allocatable.items())): node for node in nodes}.values())
    return tuple(
        index for index, shape in enumerate(shapes) if not any(_takes(node, shape) for node in kinds)
    )


def _takes(node: Node, shape: PodShape) -> bool:
    there = node.allocatable
    return (
        there.get("pods", 0) > 0
        and all(amount <= there.get(name, 0) for name, amount in shape.requests.items() if amount > 0)
        and may_run(shape, node)
    )
