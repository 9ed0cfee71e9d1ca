"""Charts in SVG: lines over time or demand, and bars side by side; no scripts, the same bytes for the same figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from ..packing_map.marks import COLORS, PLAIN
from ..packing_map.shapes import coordinate
from ..printable import columns, fitted, printable

#: Patterns of lines, so that they differ without color as well.
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "1 2", "12 3")
_LABEL = 12.0

_STYLE = f"""
.chart {{ font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  --ink: #1b1f24; --soft: #59616b; --line: {PLAIN}; --grid: #d5d9de;
  print-color-adjust: exact; -webkit-print-color-adjust: exact }}
.chart text {{ fill: var(--ink); font-size: 12px }}
.chart .title {{ font-size: 15px; font-weight: 650 }}
.chart .soft {{ fill: var(--soft); font-size: 11px }}
.chart .name {{ font-size: 12px }}
.chart .strong {{ font-weight: 650 }}
.chart .end {{ text-anchor: end }}
.chart .middle {{ text-anchor: middle }}
.chart .grid {{ stroke: var(--grid); stroke-width: 1 }}
.chart .bound {{ stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 3 2 }}
.chart .spread {{ stroke: var(--ink); stroke-width: 1.2 }}
.chart .track {{ fill: var(--grid); opacity: .45 }}
.chart .course {{ fill: none; stroke-width: 2; stroke-linejoin: round }}
{"".join(f".chart .l{i} {{ stroke: {c} }} .chart .b{i} {{ fill: {c} }}{chr(10)}" for i, c in enumerate(COLORS))}\
@media screen and (prefers-color-scheme: dark) {{
.chart {{ --ink: #e6e9ed; --soft: #a5adb8; --grid: #3a4049 }}
}}
"""


class Line(NamedTuple):
    """A named course; `color` is its place among the strategies."""

    name: str
    color: int
    points: Sequence[tuple[float, float]]


class Bar(NamedTuple):
    """A value of a strategy with its spread (NaN: none), and how both read. NaN as value: none."""

    name: str
    color: int
    value: float
    spread: float
    text: str
    is_best: bool


class Panel(NamedTuple):
    """Bars of one figure. `bound` is drawn as a line where there is one; `most` is the end of the scale."""

    title: str
    words: str
    bars: Sequence[Bar]
    bound: float | None
    bound_text: str
    most: float


def lines_chart(
    title: str,
    lines: Sequence[Line],
    *,
    x_name: str,
    y_name: str,
    x_ticks: Sequence[tuple[float, str]],
    width: float = 520,
    height: float = 270,
) -> str:
    """Shares over something, with the names at the ends of the lines."""
    top, left, bottom = 46.0, 40.0, 40.0
    right = 20 + 7.0 * max((min(columns(line.name), 22) for line in lines), default=0)
    plot_width, plot_height = width - left - right, height - top - bottom
    xs = [x for line in lines for x, _ in line.points] + [x for x, _ in x_ticks]
    low, high = min(xs, default=0.0), max(xs, default=1.0)
    span = (high - low) or 1.0
    ceiling = _ceiling(max((y for line in lines for _, y in line.points), default=1.0))

    def place(x: float, y: float) -> tuple[float, float]:
        return left + (x - low) / span * plot_width, top + (1 - y / ceiling) * plot_height

    body = Element("g")
    _text(body, "title", 0, 15, fitted(title, 70))
    _text(body, "soft", left, 36, y_name)
    for step in range(5):
        share = ceiling * step / 4
        x, y = place(low, share)
        _rule(body, "grid", x, y, left + plot_width, y)
        _text(body, "soft end", left - 6, y + 4, f"{100 * share:.0f} %")
    for value, words in x_ticks:
        x, y = place(value, 0)
        _rule(body, "grid", x, y, x, y + 4)
        _text(body, "soft middle", x, y + 17, words)
    _text(body, "soft middle", left + plot_width / 2, height - 6, x_name)
    drawn = [line for line in lines if line.points]
    ends = _spread_out([place(*line.points[-1])[1] for line in drawn], top, top + plot_height)
    for line, end in zip(drawn, ends, strict=True):
        spots = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in (place(*p) for p in line.points))
        color = line.color % len(COLORS)
        shown = SubElement(body, "polyline", {"class": f"course l{color}", "points": spots})
        if dash := _DASHES[line.color % len(_DASHES)]:
            shown.set("stroke-dasharray", dash)
        SubElement(shown, "title").text = printable(line.name)
        x, y = place(*line.points[-1])
        _rule(body, f"course l{color}", x + 3, y, x + 11, end)
        _text(body, "name", x + 14, end + 4, fitted(line.name, 22))
    described = "; ".join(f"{line.name} ends at {100 * line.points[-1][1]:.1f} %" for line in drawn)
    return _root(body, title, described, width, height)


def bars_chart(title: str, panels: Sequence[Panel], *, width: float = 1040, beside: int = 2) -> str:
    """Panels of bars, so many beside each other; all bars start at 0. A single column has no heading."""
    body = Element("g")
    is_headed = beside > 1
    if is_headed:
        _text(body, "title", 0, 15, fitted(title, 90))
    gap = 36.0
    column = (width - gap * (beside - 1)) / beside
    top = 30.0 if is_headed else 0.0
    for start in range(0, len(panels), beside):
        row = panels[start : start + beside]
        bottoms = [
            _panel(body, panel, place * (column + gap), top, column) for place, panel in enumerate(row)
        ]
        top = max(bottoms) + 18
    described = "; ".join(
        f"{panel.title}: " + ", ".join(f"{bar.name} {bar.text}" for bar in panel.bars) for panel in panels
    )
    return _root(body, title, described, width, top)


def _panel(body: Element, panel: Panel, left: float, top: float, width: float) -> float:
    names = 6.6 * max((min(columns(bar.name), 20) for bar in panel.bars), default=0) + 12
    values = 7.0 * max((columns(bar.text) + bar.is_best for bar in panel.bars), default=0) + 14
    room = width - names - values
    _text(body, "name strong", left, top + 12, fitted(panel.title, 44))
    _text(body, "soft", left, top + 27, fitted(panel.words, int(width / 5.6)))
    y = top + 36
    scale = room / panel.most if panel.most > 0 else 0.0
    for bar in panel.bars:
        start = left + names
        _text(body, "name", left, y + 12, fitted(bar.name, 20))
        _box(body, "track", start, y + 2, room, 13)
        if not math.isnan(bar.value):
            length = max(0.0, min(room, bar.value * scale))
            shown = _box(body, f"b{bar.color % len(COLORS)}", start, y + 2, length, 13)
            SubElement(shown, "title").text = printable(f"{bar.name}: {bar.text}")
            if bar.spread > 0:
                low = start + max(0.0, (bar.value - bar.spread) * scale)
                high = start + min(room, (bar.value + bar.spread) * scale)
                _rule(body, "spread", low, y + 8.5, high, y + 8.5)
        kind = "name end strong" if bar.is_best else "name end"
        _text(body, kind, left + width, y + 12, f"{bar.text}{' ✓' if bar.is_best else ''}")
        y += 20
    if panel.bound is not None and 0 <= panel.bound * scale <= room + 0.5:
        x = left + names + panel.bound * scale
        _rule(body, "bound", x, top + 34, x, y)
        _text(body, "soft middle", min(x, left + width - values - 20), y + 11, panel.bound_text)
        y += 14
    return y


def _ceiling(value: float) -> float:
    """The end of a scale of shares: the whole, or a quarter or half of it where that is enough."""
    return next(
        (end for end in (0.1, 0.2, 0.4, 0.6, 0.8) if value <= end), max(1.0, math.ceil(value * 10) / 10)
    )


def _spread_out(places: Sequence[float], low: float, high: float) -> list[float]:
    """Heights of labels, as near to their lines as they can be without touching each other."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    found = list(places)
    last = low - _LABEL
    for index in order:
        found[index] = last = max(places[index], last + _LABEL + 2)
    limit = high + _LABEL
    for index in reversed(order):
        found[index] = min(found[index], limit)
        limit = found[index] - _LABEL - 2
    return found


def _root(body: Element, title: str, described: str, width: float, height: float) -> str:
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "chart",
            "role": "img",
            "aria-label": printable(f"{title}. {described}"),
            "viewBox": f"-1 -1 {coordinate(width + 2)} {coordinate(height + 2)}",
            "width": coordinate(width + 2),
            "height": coordinate(height + 2),
        },
    )
    SubElement(root, "title").text = printable(title)
    SubElement(root, "desc").text = printable(described)
    SubElement(root, "style").text = _STYLE
    root.append(body)
    return tostring(root, encoding="unicode") + "\n"


def _text(body: Element, kind: str, x: float, y: float, words: str) -> None:
    SubElement(body, "text", {"class": kind, "x": coordinate(x), "y": coordinate(y)}).text = printable(words)


def _rule(body: Element, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    SubElement(body, "line", {"class": kind, **{name: coordinate(value) for name, value in ends.items()}})


def _box(body: Element, kind: str, x: float, y: float, width: float, height: float) -> Element:
    sides = {"x": x, "y": y, "width": width, "height": height}
    return SubElement(
        body, "rect", {"class": kind, "rx": "2", **{name: coordinate(value) for name, value in sides.items()}}
    )
