"""The packing map of a ledger."""

from __future__ import annotations

from collections.abc import Mapping

from binpackgen.metrics.golden import Ledger
from binpackgen.report.packing_map import NodeRow, PackingMap


def packing_map(title: str, ledger: Ledger) -> PackingMap:
    """All nodes as they stand."""
    return PackingMap(
        title,
        tuple(
            NodeRow(
                node.name,
                node.pool or "",
                node.slots,
                _share(node.requested, node.allocatable, "cpu"),
                _share(node.requested, node.allocatable, "memory"),
            )
            for node in ledger.nodes()
        ),
    )


def _share(requested: Mapping[str, int], allocatable: Mapping[str, int], resource: str) -> float:
    most = allocatable.get(resource, 0)
    return min(1.0, requested.get(resource, 0) / most) if most else 0.0
