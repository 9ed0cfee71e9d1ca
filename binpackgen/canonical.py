"""The one YAML writer: every reader gets back what was meant, and the same data gives the same bytes.

PyYAML's and ruamel.yaml's writers leave text bare (`1e3`, `y`, `on`) that kubectl reads as a number or a
boolean, so none of them is used.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from .errors import BinpackgenError

_BARE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*\Z")

#: What YAML 1.1 or 1.2 readers resolve to a boolean, null or float although it looks like a word.
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"])

#: What must not stand raw in a quoted scalar: controls, the line breaks of YAML 1.1 (NEL, LS, PS), byte order
#: marks and noncharacters; and spaces, joiners and direction marks that a reviewer cannot see. The list is
#: spelled out because str.isprintable() follows the Unicode version of the interpreter.
_HIDDEN = (
    "\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff"
)
_ESCAPED = re.compile(f'["\\\\{_HIDDEN}]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

#: Text that a literal block (`|`) cannot hold exactly or that an editor would change: hidden characters
#: other than line feed and tab, blanks at the end of a line, and a first line that is empty or indented.
_NOT_LITERAL = re.compile(f"(?![\\n\\t])[{_HIDDEN}]|[ \\t]$|\\A[ \\t\\n]|\\n\\n\\Z", re.MULTILINE)

#: Readers take a key of more than 1,024 characters only after `? `.
_LONG_KEY = 1000

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def to_yaml(body: Any) -> str:
    """`body` (dicts, lists, strings, integers, booleans, None) as one YAML document, in block style.

    Ends with a line feed and has no document marker. Raises BinpackgenError for anything else inside: other
    types, keys that are no text, integers beyond 64 bits, and lone surrogates.
    """
    lines: list[str] = []
    if body and isinstance(body, dict | list):
        _block(body, "", lines)
    else:
        lines.append(_inline(body, ""))
    return "\n".join(lines) + "\n"


def _block(body: dict[str, Any] | list[Any], indent: str, lines: list[str]) -> None:
    """Append a collection that is not empty as lines that begin at `indent`."""
    deeper = indent + "  "
    if isinstance(body, dict):
        for key, value in body.items():
            if not isinstance(key, str):
                raise BinpackgenError(f"key {key!r} of a document is no text")
            written = _scalar(key)
            head = f"{indent}{written}:" if len(written) < _LONG_KEY else f"{indent}? {written}\n{indent}:"
            if value and isinstance(value, dict | list):
                lines.append(head)
                _block(value, deeper, lines)
            else:
                lines.append(f"{head} {_inline(value, indent)}")
        return
    for value in body:
        if value and isinstance(value, dict | list):
            first = len(lines)
            _block(value, deeper, lines)
            lines[first] = f"{indent}- {lines[first][len(deeper) :]}"
        else:
            lines.append(f"{indent}- {_inline(value, indent)}")


def _inline(value: Any, indent: str) -> str:
    """A value that starts on the line of its key: a scalar, a literal block or an empty collection."""
    if isinstance(value, str):
        if "\n" in value and not _NOT_LITERAL.search(value):
            return _literal(value, indent)
        return _scalar(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not _INT_MIN <= value <= _INT_MAX:
            raise BinpackgenError(f"{value} does not fit into 64 bits, as numbers of a document must")
        return str(int(value))
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    raise BinpackgenError(f"a {type(value).__name__} has no place in a document: {value!r}")


def _literal(text: str, indent: str) -> str:
    """Text of several lines as a literal block below a line that begins at `indent`."""
    chomping = "|" if text.endswith("\n") else "|-"
    lines = text.removesuffix("\n").split("\n")
    return "\n".join([chomping, *(f"{indent}  {line}" if line else "" for line in lines)])


@lru_cache(maxsize=1 << 14)
def _scalar(text: str) -> str:
    """`text` on one line: bare where every reader takes it for text, else in double quotes."""
    if _BARE.match(text) and text.lower() not in _WORDS:
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise BinpackgenError(
            f"U+{code:04X} is half of a surrogate pair and no character that a file can hold"
        )
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
