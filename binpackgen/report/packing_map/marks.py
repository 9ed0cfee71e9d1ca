"""How jobs are told apart: by a color that color-blind readers can tell from the others, and by a letter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..printable import natural

# Of medium luminance, so that each stands out by 3:1 from a white page and from a dark one (WCAG 2.2, 1.4.11);
# chosen by a search for the largest smallest distance in CIELAB, also as protanopes, deuteranopes and
# tritanopes see them. Seven, because 7 and 26 have no common factor: 182 jobs differ in color or letter.
COLORS = ("#578efa", "#9e4c20", "#277058", "#b88c09", "#7a33ff", "#7f9963", "#e650a5")
DARK_COLORS = frozenset({"#9e4c20", "#277058", "#7a33ff"})
"""The colors on which a white letter is readable; on the others it is a black one."""

PLAIN = "#7d828a"
"""For devices whose job isn't told, and for the outlines of free ones."""


class Mark(NamedTuple):
    """The letter of a job and the index of its color."""

    letter: str
    color: int


def marks(jobs: Iterable[str]) -> dict[str, Mark]:
    """A mark per job, in the natural order of the names."""
    ordered = sorted(set(jobs), key=natural)
    return {job: Mark(chr(ord("A") + i % 26), i % len(COLORS)) for i, job in enumerate(ordered)}
