"""The packing map: nodes by device slots, as a picture in SVG and as text."""

from .model import NodeRow, PackingMap
from .svg import svg
from .text import text

__all__ = ["NodeRow", "PackingMap", "svg", "text"]
