"""Figures of studies in words, the same in every report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...study.compare import Comparison, Figure, Row
from ..packing_map import NodeRow, PackingMap
from ..printable import printable

#: What a group of rows is called, and what it says.
GROUPS: dict[str, tuple[str, str]] = {
    "allocation": ("Allocation over time", "mean share that jobs hold, after the cluster has filled"),
    "saturation": (
        "At saturation",
        "pods arrive one by one until they ask for 130 % of the cluster; none leaves",
    ),
    "packing": ("Packing", "placements of the highest packing score, nodes in use"),
    "free": ("Free", "share that nobody holds, by GPU type"),
    "unusable": (
        "Fragmentation",
        "share of what is free that no pod of the workload can use, weighted by how often each is asked for",
    ),
    "rejected": ("Rejected", "submissions that found no room or lost it"),
    "waiting": ("Waiting", "from arrival until all pods are bound"),
    "preemption": ("Preemption", "by the scheduler; success is being bound within 60 s"),
}

#: How units are told in the terminal: the name of a row gets them, the cells stay short.
_TINY = 0.0005


def value_text(unit: str, value: float) -> str:
    """A value with its unit; "-" for none."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "none"
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "s":
        return duration(value)
    if unit == "money":
        return f"{value:,.2f}"
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:,.1f}"


def figure_text(unit: str, figure: Figure) -> str:
    """Mean and, of several seeds, the standard deviation."""
    text = value_text(unit, figure.mean)
    spread = figure.deviation
    if math.isnan(figure.mean) or math.isnan(spread):
        return text
    if unit == "share":
        return f"{100 * figure.mean:.1f} ± {100 * spread:.1f} %"
    return f"{text} ± {value_text(unit, spread)}"


def duration(seconds: float) -> str:
    """Seconds as a person says them: 45 s, 12 min, 3.4 h, 2.1 d."""
    for least, size, unit in ((172_800, 86_400, "d"), (5400, 3600, "h"), (90, 60, "min")):
        if seconds >= least:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f} s"


def best(row: Row) -> frozenset[int]:
    """Positions of the best strategies: of the best mean, and those whose distance to it is noise of the seeds.

    None where nothing is better, or where no strategy is worse.
    """
    known = [index for index, figure in enumerate(row.figures) if not math.isnan(figure.mean)]
    if not row.better or len(known) < 2:
        return frozenset()
    sign = 1 if row.better == "more" else -1
    top = max(known, key=lambda index: sign * row.figures[index].mean)
    equal = {index for index in known if _is_equal(row.figures[index], row.figures[top])}
    return frozenset() if len(equal) == len(known) else frozenset(equal)


def _is_equal(one: Figure, other: Figure) -> bool:
    distance = one.less(other)
    if len(distance.known) < 2:
        return abs(one.mean - other.mean) <= _TINY * max(1.0, abs(other.mean))
    return distance.is_noise


def is_main(row: Row, comparison: Comparison) -> bool:
    """Whether a row belongs into a compact table."""
    has_gpus = any(other.name.startswith("GPU") for other in comparison.rows if other.group == row.group)
    if row.group in ("free", "unusable"):
        return row.name.startswith("GPU") or (not has_gpus)
    if row.group == "waiting":
        # who never waits need not be told of
        return not row.name.startswith("job ") and any(figure.mean > 0 for figure in row.figures)
    return True


def packing_maps(comparison: Comparison) -> list[PackingMap]:
    """A map for each strategy."""
    return [
        PackingMap(
            printable(name),
            tuple(NodeRow(node.name, node.pool, node.slots, node.cpu, node.memory) for node in nodes),
        )
        for name, nodes in comparison.maps.items()
    ]


def groups(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows by group, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.group, []).append(row)
    return list(found.items())
