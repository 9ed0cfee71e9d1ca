"""One cell of the picture: a node as a frame with its device slots, or with bars where it has none."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

from ..printable import fitted, percent, printable
from .cells import Cell
from .marks import COLORS, DARK_COLORS, Mark
from .model import NodeRow, node_text


class Look(NamedTuple):
    """Sizes of a cell, in units of the picture."""

    slot: float
    gap: float
    pad: float
    per_row: int
    letter: float
    named: bool
    """Whether there is room for the node's name and for figures."""
    bars: float
    """The width of a cell without devices."""


LARGE = Look(slot=15, gap=3, pad=7, per_row=8, letter=10, named=True, bars=155)
SMALL = Look(slot=10, gap=1, pad=3, per_row=4, letter=7.5, named=False, bars=49)

_NAME_HEIGHT = 13
_NARROWEST = 72  # a name of twelve characters
_COUNT_WIDTH = 46


def rows_of(slots: int, look: Look) -> int:
    """How many rows of slots a node has: many devices get longer rows, not a tower."""
    return ceil(slots / _per_row(slots, look))


def _per_row(slots: int, look: Look) -> int:
    return max(1, min(slots, look.per_row if slots <= 2 * look.per_row else 2 * look.per_row))


def size(slots: int, look: Look, *, counted: bool) -> tuple[float, float]:
    """Width and height of the cells of a pool whose largest node has `slots` devices."""
    step = look.slot + look.gap
    if slots:
        width = 2 * look.pad + _per_row(slots, look) * step - look.gap
        height = 2 * look.pad + rows_of(slots, look) * step - look.gap
    else:
        width, height = look.bars, 2 * look.pad + 2 * look.slot + look.gap
    if look.named:
        width, height = max(width, _NARROWEST), height + _NAME_HEIGHT
    return width + (_COUNT_WIDTH if counted else 0), height


def draw(cell: Cell, pool_slots: int, look: Look, marks: Mapping[str, Mark] | None) -> Element:
    """The cell with its upper left corner at 0, 0; without `marks` jobs aren't told apart."""
    node = cell.node
    width, height = size(pool_slots, look, counted=False)
    group = Element("g")
    SubElement(group, "title").text = _title(cell)
    frame = {
        "x": ".5",
        "y": ".5",
        "width": coordinate(width - 1),
        "height": coordinate(height - 1),
        "rx": "3",
    }
    SubElement(group, "rect", {"class": "used" if node.in_use else "empty", **frame})
    top = look.pad
    if look.named:
        name = {"class": "name", "x": coordinate(look.pad), "y": coordinate(look.pad + 8)}
        room = int((width - 2 * look.pad) / 5.5)
        like = "like " if cell.number > 1 else ""
        SubElement(group, "text", name).text = like + fitted(node.name, room - len(like), keep_end=True)
        top += _NAME_HEIGHT
    if node.slots:
        _slots(group, node, look, top, marks)
    else:
        _bars(group, node, look, top, width)
    if cell.number > 1:
        place = {"class": "count", "x": coordinate(width + 5), "y": coordinate(height / 2 + 4)}
        SubElement(group, "text", place).text = f"\N{MULTIPLICATION SIGN} {cell.number:,}"
    return group


def _title(cell: Cell) -> str:
    name = cell.node.name if cell.number == 1 else f"{cell.number:,} nodes like {cell.node.name}"
    return printable(f"{name}: {node_text(cell.node)}")


def _slots(group: Element, node: NodeRow, look: Look, top: float, marks: Mapping[str, Mark] | None) -> None:
    """A path for the free slots, and a path and a row of letters for each job."""
    per_row = _per_row(len(node.slots), look)
    places: dict[Mark | str, list[tuple[float, float]]] = {}
    for index, job in enumerate(node.slots):
        row, column = divmod(index, per_row)
        place = (look.pad + column * (look.slot + look.gap), top + row * (look.slot + look.gap))
        places.setdefault(_kind(job, marks), []).append(place)
    for kind, corners in places.items():
        name = f"c{kind.color}" if isinstance(kind, Mark) else kind
        SubElement(group, "path", {"class": name, "d": _squares(corners, look.slot)})
        if isinstance(kind, Mark):
            middle, base = look.slot / 2, look.slot / 2 + look.letter * 0.36
            text = SubElement(
                group,
                "text",
                {
                    "class": f"letter {ink(kind.color)}",
                    "x": " ".join(coordinate(x + middle) for x, _ in corners),
                    "y": " ".join(coordinate(y + base) for _, y in corners),
                    "font-size": coordinate(look.letter),
                },
            )
            text.text = kind.letter * len(corners)


def _kind(job: str | None, marks: Mapping[str, Mark] | None) -> Mark | str:
    if job is None:
        return "free"
    return marks[job] if marks is not None else "plain"


def _squares(corners: list[tuple[float, float]], side: float) -> str:
    """Squares half a unit inside, where the outline, a unit wide, rounds them off."""
    edge = coordinate(side - 1)
    return "".join(f"M{coordinate(x + 0.5)} {coordinate(y + 0.5)}h{edge}v{edge}h-{edge}z" for x, y in corners)


def _bars(group: Element, node: NodeRow, look: Look, top: float, width: float) -> None:
    """A bar for cpu above a bar for memory."""
    left, right = (look.pad + 26, look.pad + 44) if look.named else (look.pad + 9, look.pad)
    length = width - left - right
    for index, (name, share) in enumerate((("cpu", node.cpu), ("mem", node.memory))):
        y = top + index * (look.slot + look.gap)
        base = coordinate(y + look.slot / 2 + 3)
        thick = look.slot - (6 if look.named else 2)
        box = {
            "x": coordinate(left),
            "y": coordinate(y + (look.slot - thick) / 2),
            "height": coordinate(thick),
        }
        word = SubElement(group, "text", {"class": "figure", "x": coordinate(look.pad), "y": base})
        word.text = name if look.named else name[0]
        SubElement(group, "rect", {"class": "free", "width": coordinate(length), **box})
        if share > 0:
            filled = length * min(1, share)
            SubElement(group, "rect", {"class": "share", "width": coordinate(filled), **box})
        if look.named:
            place = {"class": "figure end", "x": coordinate(width - look.pad), "y": base}
            SubElement(group, "text", place).text = percent(share)


def ink(color: int) -> str:
    """The class of a letter that is readable on a color."""
    return "white" if COLORS[color] in DARK_COLORS else "black"


def coordinate(number: float) -> str:
    """A number with at most one decimal, rounded the same everywhere."""
    return f"{number:.1f}".removesuffix(".0")
