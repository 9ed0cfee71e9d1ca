"""Names from profiles and clusters as text that can't steer a terminal, an XML file or the reader's eye."""

from __future__ import annotations

import re
import unicodedata

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """`text` on one line, without control, format, surrogate and unassigned characters.

    What is replaced covers what XML 1.0 forbids, terminal escapes, and marks that turn the reading direction.
    """
    return "".join(char if char.isprintable() else _REPLACEMENT for char in text)


def columns(text: str) -> int:
    """How many columns of a fixed-width font `text` takes; wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def fitted(text: str, width: int, *, keep_end: bool = False) -> str:
    """`text`, shortened with an ellipsis to `width` columns; numbered names differ at their end."""
    text = printable(text)
    if columns(text) <= width:
        return text
    kept = ""
    for char in reversed(text) if keep_end else text:
        if columns(kept + char) >= width:
            break
        kept += char
    return f"…{kept[::-1]}" if keep_end else f"{kept}…"


def natural(text: str) -> tuple[tuple[str, int, str], ...]:
    """A sort key by which node-2 comes before node-10; two different texts never have the same key."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", text)
    return tuple((word, int(digits or 0), digits) for word, digits in parts)


def counted(number: int, noun: str, plural: str = "") -> str:
    """`3 nodes`, `1 node`, `1,204 nodes`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def percent(share: float) -> str:
    """A share of 0 to 1 as a percentage with one decimal."""
    return f"{share * 100:.1f}%"
