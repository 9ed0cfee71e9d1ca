"""The pictures of a comparison: courses of allocation, strategies side by side, packing maps."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from ...study.compare import Comparison, Course, Row
from ..packing_map import svg as map_svg
from .chart import Bar, Line, Panel, bars_chart, lines_chart
from .figures import GROUPS, best, duration, figure_text, is_main, packing_maps, value_text

#: Panels of the comparison at the most, and the rows that come first.
_PANELS = 10
_FIRST = (
    ("saturation", "GPU"),
    ("allocation", "GPU"),
    ("saturation", "cpu"),
    ("packing", "nodes in use (mean)"),
    ("packing", "cost an hour"),
    ("rejected", "all"),
    ("waiting", "all, mean"),
    ("waiting", "all, p95"),
    ("packing", "hit rate"),
    ("preemption", "success"),
)
_SPACE = 24.0


def comparison_chart(comparison: Comparison) -> str:
    """The most telling figures as bars."""
    rows = list(_chosen(comparison))
    return bars_chart("Strategies side by side", [_panel(row, comparison) for row in rows[:_PANELS]])


def panel_charts(comparison: Comparison) -> list[str]:
    """The same as a picture for each figure, so that a narrow page can put them below each other."""
    panels = [_panel(row, comparison) for row in _chosen(comparison)]
    return [bars_chart(panel.title, [panel], width=502, beside=1) for panel in panels[:_PANELS]]


def saturation_chart(comparison: Comparison) -> str:
    """What is in use as demand grows; empty without such a run."""
    lines = _lines(comparison, comparison.saturation)
    if not lines:
        return ""
    most = max(x for line in lines for x, _ in line.points)
    ticks = [(share / 100, f"{share} %") for share in range(0, math.ceil(most * 100) + 1, 20)]
    name = comparison.saturation[0].resource
    return lines_chart(
        f"{name} in use as demand grows",
        lines,
        x_name="demand that has arrived, of all there is; nothing leaves",
        y_name=f"{name} in use",
        x_ticks=ticks,
    )


def over_time_chart(comparison: Comparison, resource: str) -> str:
    """What is in use over time; empty without times."""
    courses = [course for course in comparison.over_time if course.resource == resource]
    lines = _lines(comparison, courses)
    if not lines:
        return ""
    end = max(x for line in lines for x, _ in line.points)
    ticks = [(end * part / 4, duration(end * part / 4)) for part in range(5)]
    return lines_chart(
        f"{resource} in use over time", lines, x_name="time", y_name=f"{resource} in use", x_ticks=ticks
    )


def charts(comparison: Comparison) -> list[str]:
    """All pictures but the maps."""
    resources = dict.fromkeys(course.resource for course in comparison.over_time)
    found = [
        comparison_chart(comparison),
        saturation_chart(comparison),
        *(over_time_chart(comparison, resource) for resource in resources),
    ]
    return [one for one in found if one]


def comparison_svg(comparison: Comparison) -> str:
    """All pictures below each other in one."""
    pictures = charts(comparison)
    maps = packing_maps(comparison)
    if maps:
        pictures.append(map_svg(maps))
    sizes = [_size(picture) for picture in pictures]
    width = max((w for w, _ in sizes), default=1.0)
    height = sum(h for _, h in sizes) + _SPACE * max(0, len(sizes) - 1)
    parts, top = [], 0.0
    for picture, (_, taken) in zip(pictures, sizes, strict=True):
        # the pictures are our own, whole and escaped; only their place is added
        parts.append(picture.replace("<svg ", f'<svg y="{top:.1f}" ', 1))
        top += taken + _SPACE
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
    return "".join([head, "\n", *parts, "</svg>\n"])


def _chosen(comparison: Comparison) -> Iterator[Row]:
    rows = {(row.group, row.name): row for row in comparison.rows if is_main(row, comparison)}
    for key in _FIRST:
        if key in rows:
            yield rows.pop(key)
    yield from (row for row in rows.values() if row.group == "unusable")


def _panel(row: Row, comparison: Comparison) -> Panel:
    leading = best(row)
    bars = [
        Bar(
            strategy.name,
            index,
            figure.mean,
            0.0 if math.isnan(figure.deviation) else figure.deviation,
            figure_text(row.unit, figure),
            index in leading,
        )
        for index, (strategy, figure) in enumerate(zip(comparison.strategies, row.figures, strict=True))
    ]
    known = [bar.value + bar.spread for bar in bars if not math.isnan(bar.value)]
    bound = row.bound if row.bound is not None and math.isfinite(row.bound) else None
    most = max([*known, bound or 0.0, 0.0])
    if row.unit == "share":
        most = 1.0 if most > 0.4 else max(most * 1.1, 0.05)
    title = GROUPS[row.group][0]
    words = {"more": "more is better", "less": "less is better", "": ""}[row.better]
    limit = (
        ""
        if bound is None
        else f"{'most' if row.better == 'more' else 'least'} possible {value_text(row.unit, bound)}"
    )
    return Panel(f"{title}: {row.name}", words, bars, bound, limit, most or 1.0)


def _lines(comparison: Comparison, courses: Sequence[Course]) -> list[Line]:
    places = {strategy.name: index for index, strategy in enumerate(comparison.strategies)}
    return [
        Line(course.strategy, places[course.strategy], course.points)
        for course in courses
        if course.points and course.strategy in places
    ]


def _size(picture: str) -> tuple[float, float]:
    match = re.search(r'width="([0-9.]+)" height="([0-9.]+)"', picture)
    return (float(match[1]), float(match[2])) if match else (0.0, 0.0)
