"""Nodes from whatever a person has: the API's JSON or a table, told apart by their content."""

from __future__ import annotations

import gzip
import zlib

from ..errors import FindingsError
from ..profile.codes import UNREADABLE
from ..source import Span
from .kubectl import read_kubectl
from .model import NodeList
from .table import read_node_table

#: Most bytes of an input, also after decompression: a hundred thousand nodes with their labels and images.
MAX_BYTES = 2**30
_WANTED = "kubectl get nodes -o json, or a table with the header name,cpu,memory,gpu,gpu_type"


def read_nodes(raw: bytes, file: str) -> NodeList:
    """The nodes in `raw`. Raises FindingsError where it is no list of nodes."""
    text = decode(raw, file)
    start = text.lstrip()[:200]
    if start[:1] in ("{", "["):
        return read_kubectl(text, file)
    header = start.splitlines()[0] if start else ""
    if "," in header and ":" not in header:
        return read_node_table(text, file)
    what = "is empty" if not start else "is neither JSON nor a table"
    if start.startswith("NAME "):
        what = "is kubectl's table for people, which does not say what the nodes offer"
    elif start.startswith(("apiVersion:", "items:", "kind:", "---")):
        what = "is YAML, and nodes are read as JSON"
    raise FindingsError([UNREADABLE.at(Span.start_of(file), what, _WANTED)])


def decode(raw: bytes, file: str) -> str:
    """The text of `raw`, which may be gzip-compressed. Raises FindingsError where it is no UTF-8 text."""
    if raw.startswith(b"\x1f\x8b"):
        try:
            raw = _inflate(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise FindingsError(
                [UNREADABLE.at(Span.start_of(file), f"cannot be decompressed: {str(error).lower()}")]
            ) from None
    if len(raw) > MAX_BYTES:
        raise FindingsError([UNREADABLE.at(Span.start_of(file), f"has more than {MAX_BYTES} bytes")])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        span = Span(file, line, column, line, column + 1)
        raise FindingsError(
            [UNREADABLE.at(span, f"byte 0x{raw[error.start]:02x} is no UTF-8 text", "save the file as UTF-8")]
        ) from None


def _inflate(raw: bytes) -> bytes:
    import io

    with gzip.open(io.BytesIO(raw)) as stream:
        return stream.read(MAX_BYTES + 1)
