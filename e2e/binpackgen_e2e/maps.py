"""The packing map of a ledger."""

from __future__ import annotations

from binpackgen.metrics.golden import Ledger, NodeUse
from binpackgen.report.packing_map import NodeRow, PackingMap


def packing_map(title: str, ledger: Ledger) -> PackingMap:
    """All nodes as they stand; one with nothing but the cluster's own pods is empty."""
    return PackingMap(
        title,
        tuple(
            NodeRow(
                node.name,
                node.pool or "",
                node.slots,
                _share(node, "cpu"),
                _share(node, "memory"),
            )
            for node in ledger.nodes()
        ),
    )


def _share(node: NodeUse, resource: str) -> float:
    most = node.allocatable.get(resource, 0)
    return min(1.0, node.requested.get(resource, 0) / most) if most and node.counted else 0.0
