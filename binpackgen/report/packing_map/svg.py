"""The packing map as a picture: no scripts, no fonts of its own, the same bytes for the same maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from ..printable import columns, counted, fitted, printable
from .cells import Cell, Grouping, cells, grouping
from .marks import COLORS, PLAIN, Mark, marks
from .model import NodeRow, PackingMap, pool_name, rest_text, use_text
from .shapes import LARGE, SMALL, Look, coordinate, draw, ink, size

_COLUMN = 319
_SPACE = 32
_BESIDE = 3  # maps in a row
_FEW_NODES = 40  # up to here there is room for names
_FEW_GROUPS = 24
_FEW_JOBS = 12  # up to here the legend names them

_STYLE = f"""
.packing-map {{ font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  --ink: #1b1f24; --soft: #59616b; --line: {PLAIN}; --track: #d5d9de;
  print-color-adjust: exact; -webkit-print-color-adjust: exact }}
.packing-map text {{ fill: var(--ink) }}
.packing-map .title {{ font-size: 15px; font-weight: 650 }}
.packing-map .words {{ font-size: 12.5px }}
.packing-map .key {{ font-size: 12px; fill: var(--soft) }}
.packing-map .pool {{ font-size: 12px; font-weight: 600 }}
.packing-map .rest {{ font-size: 11px; fill: var(--soft) }}
.packing-map .end {{ text-anchor: end }}
.packing-map .name {{ font-size: 9.5px; fill: var(--soft) }}
.packing-map .figure {{ font-size: 9px; fill: var(--soft) }}
.packing-map .count {{ font-size: 12px; font-weight: 600 }}
.packing-map .track {{ fill: var(--track) }}
.packing-map .share-of-nodes, .packing-map .share {{ fill: var(--ink) }}
.packing-map .used, .packing-map .empty {{ fill: none; stroke: var(--ink); stroke-width: 1.2 }}
.packing-map .empty {{ stroke: var(--line); stroke-width: 1; stroke-dasharray: 2 2 }}
.packing-map .free {{ fill: none; stroke: var(--line); stroke-width: 1 }}
.packing-map path {{ stroke-linejoin: round; stroke-width: 1 }}
.packing-map .plain {{ fill: {PLAIN}; stroke: {PLAIN} }}
.packing-map .letter {{ font-weight: 600; text-anchor: middle }}
.packing-map .white {{ fill: #fff }}
.packing-map .black {{ fill: #000 }}
{"".join(f".packing-map .c{i} {{ fill: {c}; stroke: {c} }}{chr(10)}" for i, c in enumerate(COLORS))}\
@media screen and (prefers-color-scheme: dark) {{
.packing-map {{ --ink: #e6e9ed; --soft: #a5adb8; --track: #3a4049 }}
}}
"""


class _Page(NamedTuple):
    """What all maps of a picture have in common, so that they can be compared."""

    pools: dict[str, int]
    """The pools of all maps with the most devices of a node."""
    by: Grouping
    look: Look
    marks: Mapping[str, Mark] | None


def svg(maps: Sequence[PackingMap], beside: Sequence[PackingMap] = ()) -> str:
    """One picture of `maps`, side by side, in three columns at most.

    The maps `beside` are shown in other pictures next to this one: jobs keep their marks and nodes their
    size. No pod or node name can change the picture's structure.
    """
    page = _page([*maps, *beside])
    width = min(len(maps), _BESIDE) * (_COLUMN + _SPACE) - _SPACE if maps else _COLUMN
    body = Element("g")
    top = 0.0
    for start in range(0, len(maps), _BESIDE):
        top = _row(body, maps[start : start + _BESIDE], page, top) + 12
    height = _legend(body, maps, page, width, top)
    return _root(body, maps, width, height)


def _page(maps: Sequence[PackingMap]) -> _Page:
    pools: dict[str, int] = {}
    for cluster in maps:
        for node in cluster.nodes:
            pools[node.pool] = max(pools.get(node.pool, 0), len(node.slots))
    by = grouping(maps)
    most = max(
        (sum(len(cells(nodes, by)) for nodes in cluster.pools.values()) for cluster in maps), default=0
    )
    look = LARGE if most <= (_FEW_GROUPS if by.together else _FEW_NODES) else SMALL
    return _Page(pools, by, look, marks(_jobs(maps)) if by.tells_jobs else None)


def _jobs(maps: Sequence[PackingMap]) -> set[str]:
    return {job for cluster in maps for node in cluster.nodes for job in node.slots if job is not None}


def _row(body: Element, maps: Sequence[PackingMap], page: _Page, top: float) -> float:
    """Maps side by side, each pool at one height; where they end."""
    for index, cluster in enumerate(maps):
        left = index * (_COLUMN + _SPACE)
        _text(body, "title", left, top + 14, fitted(cluster.title, 36))
        for line, words in enumerate(use_text(cluster.nodes).split(", ", 1)):
            _text(body, "words", left, top + 33 + 16 * line, words)
    top += 64
    pools_of = [cluster.pools for cluster in maps]
    for pool, slots in page.pools.items():
        bottoms = [
            _pool(body, pool, pools[pool], slots, page, (index * (_COLUMN + _SPACE), top))
            for index, pools in enumerate(pools_of)
            if pool in pools
        ]
        top = max(bottoms, default=top)
    return top


def _pool(
    body: Element, pool: str, nodes: list[NodeRow], slots: int, page: _Page, at: tuple[float, float]
) -> float:
    """A pool's heading, a line that is filled as far as nodes are in use, and its cells; where they end."""
    left, top = at
    used = sum(node.in_use for node in nodes)
    rest = rest_text(nodes)
    words = f"{used:,} of {len(nodes):,} in use"
    if rest and 6 * len(f"{words}, {rest}") + 7.5 * columns(pool_name(pool)) < _COLUMN:
        words = f"{words}, {rest}"
    _text(body, "rest end", left + _COLUMN, top + 12, words)
    _text(body, "pool", left, top + 12, fitted(pool_name(pool), int((_COLUMN - 6 * len(words)) / 7.5)))
    line = {"x": coordinate(left), "y": coordinate(top + 18), "height": "3", "rx": "1.5"}
    SubElement(body, "rect", {"class": "track", "width": coordinate(_COLUMN), **line})
    if used:
        SubElement(
            body,
            "rect",
            {"class": "share-of-nodes", "width": coordinate(_COLUMN * used / len(nodes)), **line},
        )
    return _cells(body, cells(nodes, page.by), slots, page, (left, top + 28)) + 18


def _cells(body: Element, drawn: list[Cell], slots: int, page: _Page, at: tuple[float, float]) -> float:
    space = 5 if page.look.named else 3
    width, height = size(slots, page.look, counted=page.by.together)
    per_row = max(1, int((_COLUMN + space) // (width + space)))
    for index, cell in enumerate(drawn):
        row, column = divmod(index, per_row)
        group = draw(cell, slots, page.look, page.marks)
        x, y = at[0] + column * (width + space), at[1] + row * (height + space)
        group.set("transform", f"translate({coordinate(x)} {coordinate(y)})")
        group.tail = "\n"
        body.append(group)
    return at[1] + -(-len(drawn) // per_row) * (height + space) - space


def _legend(body: Element, maps: Sequence[PackingMap], page: _Page, width: float, top: float) -> float:
    """What colors, letters and outlines mean; where it ends."""
    shown = page.marks or {}
    jobs = [job for job in shown if job in _jobs(maps)]
    entries = [(f"c{shown[job].color}", shown[job], fitted(job, 40)) for job in jobs[:_FEW_JOBS]]
    keys: list[tuple[str, Mark | None, str]] = [*entries] if len(jobs) <= _FEW_JOBS else []
    if page.marks is None and _jobs(maps):
        keys.append(("plain", None, "GPU in use"))
    if any(slots for slots in page.pools.values()):
        keys.append(("free", None, "GPU free"))
    keys += [("used", None, "node in use"), ("empty", None, "node empty")] if page.pools else []
    x, y = 0.0, top
    for kind, mark, words in keys:
        taken = 20 + 6.6 * columns(words) + 14
        if x and x + taken > width:
            x, y = 0.0, y + 20
        _key(body, kind, mark, (x, y))
        _text(body, "key", x + 19, y + 11, words)
        x += taken
    y += 20 if keys else 0
    if len(jobs) > _FEW_JOBS:
        _text(body, "key", 0, y + 11, f"{counted(len(jobs), 'job')}; each node's tooltip names its own")
        y += 20
    if page.by.together:
        _text(body, "key", 0, y + 11, "\N{MULTIPLICATION SIGN} 37 stands for 37 nodes like the one drawn")
        y += 20
    return y


def _key(body: Element, kind: str, mark: Mark | None, at: tuple[float, float]) -> None:
    box = {
        "x": coordinate(at[0] + 0.5),
        "y": coordinate(at[1] + 0.5),
        "width": "13",
        "height": "13",
        "rx": "2",
    }
    SubElement(body, "rect", {"class": kind, **box})
    if mark:
        place = {
            "class": f"letter {ink(mark.color)}",
            "x": coordinate(at[0] + 7),
            "y": coordinate(at[1] + 10.6),
        }
        SubElement(body, "text", {**place, "font-size": "10"}).text = mark.letter


def _root(body: Element, maps: Sequence[PackingMap], width: float, height: float) -> str:
    """The picture with its names for those who don't see it."""
    title = printable(" / ".join(cluster.title for cluster in maps)) or "no nodes"
    described = printable(". ".join(f"{cluster.title}: {_description(cluster)}" for cluster in maps))
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "packing-map",
            "role": "img",
            "aria-label": f"{title}. {described}",
            "viewBox": f"-1 -1 {coordinate(width + 2)} {coordinate(height + 2)}",
            "width": coordinate(width + 2),
            "height": coordinate(height + 2),
        },
    )
    SubElement(root, "title").text = title
    SubElement(root, "desc").text = described
    SubElement(root, "style").text = _STYLE
    root.append(body)
    return tostring(root, encoding="unicode") + "\n"


def _description(cluster: PackingMap) -> str:
    pools = "; ".join(f"pool {pool_name(pool)}: {use_text(nodes)}" for pool, nodes in cluster.pools.items())
    return f"{use_text(cluster.nodes)}{f' ({pools})' if pools else ''}"


def _text(body: Element, kind: str, x: float, y: float, words: str) -> None:
    SubElement(body, "text", {"class": kind, "x": coordinate(x), "y": coordinate(y)}).text = words
