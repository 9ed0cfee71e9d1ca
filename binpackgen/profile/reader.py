"""YAML text to Node tree: strict where YAML readers disagree, and never more than one reading.

The C composer of libyaml finds structure and positions; scalars are resolved here, since the YAML 1.1 rules
that PyYAML and kubectl follow (each in its own way) turn `NO`, `08` and `1e3` into surprises.
"""

from __future__ import annotations

import re
from pathlib import Path as FilePath
from typing import Any

import yaml

from ..finding import Edit, Finding
from ..source import Span
from .codes import AMBIGUOUS_SCALAR, DUPLICATE_KEY, SYNTAX, UNREADABLE, UNSUPPORTED_YAML
from .node import DecimalText, Node

MAX_BYTES = 32 * 1024 * 1024
MAX_NODES = 200_000

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+\Z")
_BOOLEAN_WORDS = frozenset(
    ("y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF")
)
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_NUMBER_TRAP = re.compile(
    r"""(?x) (?:
    [-+]?0[0-9_]+ (?:\.[0-9]*)?                 # 08, 010
  | [-+]?0[xXoObB][0-9a-fA-F_]+                 # 0x1F, 0o17
  | [-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+   # 1e3
  | [-+]?[0-9]+(?:_[0-9]+)+ (?:\.[0-9_]*)?      # 1_000
  | [-+]?[0-9]+(?::[0-5]?[0-9])+ (?:\.[0-9]*)?  # 1:30
  | \+[0-9]+ (?:\.[0-9]*)?                      # +5
  | [-+]?\.[0-9]+ | [-+]?[0-9]+\. | -0          # .5, 1.
  | [-+]?\.(?:inf|Inf|INF) | \.(?:nan|NaN|NAN)
    ) \Z"""
)
_STR = "tag:yaml.org,2002:str"
_CORE = "tag:yaml.org,2002:"


def read_file(path: FilePath, shown_as: str) -> tuple[Node | None, list[Finding]]:
    """Read one profile file; findings name it `shown_as`."""
    try:
        if path.stat().st_size > MAX_BYTES:
            size = path.stat().st_size
            return None, [
                UNREADABLE.at(
                    Span.start_of(shown_as),
                    f"the file has {size} bytes, more than the {MAX_BYTES} that a profile may have",
                )
            ]
        raw = path.read_bytes()
    except OSError as error:
        return None, [UNREADABLE.at(Span.start_of(shown_as), f"cannot be read: {error.strerror}")]
    return read_bytes(raw, shown_as)


def read_bytes(raw: bytes, file: str) -> tuple[Node | None, list[Finding]]:
    """Read the bytes of one profile file."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        span = Span(file, line, column, line, column + 1)
        return None, [
            UNREADABLE.at(
                span,
                f"byte 0x{raw[error.start]:02x} is no UTF-8 text",
                "save the file as UTF-8",
            )
        ]
    return read_text(text, file)


def read_text(text: str, file: str) -> tuple[Node | None, list[Finding]]:
    """Read a YAML text with a single mapping.

    With findings, the tree lacks what they are about, or is None where nothing could be read.
    """
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        return None, [_syntax_finding(error, text, file)]
    except (RecursionError, ValueError) as error:
        return None, [SYNTAX.at(Span.start_of(file), f"is no YAML that can be read: {error}")]
    if root is None:
        return None, [
            SYNTAX.at(
                Span.start_of(file),
                "the file is empty",
                "start from `binpackgen init`",
            )
        ]
    builder = _Builder(file)
    node = builder.build(root)
    if node is not None and not isinstance(node.value, dict) and not builder.findings:
        builder.findings.append(SYNTAX.at(node.span, f"a profile is a mapping, this is {_kind(node.value)}"))
    return node, builder.findings


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else "a single value"


def _syntax_finding(error: yaml.YAMLError, text: str, file: str) -> Finding:
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    if mark is None:
        position = getattr(error, "position", 0) or 0
        line = text.count("\n", 0, position) + 1
        column = position - (text.rfind("\n", 0, position) + 1) + 1
    else:
        line, column = mark.line + 1, mark.column + 1
    lines = text.splitlines()
    if line > max(len(lines), text.count("\n") + 1):
        # where the last line has no line break, libyaml places its end on a line that is not there
        line, column = len(lines), len(lines[-1]) + 1
    span = Span(file, line, column, line, column + 1)
    if "but found another document" in problem or "expected a single document" in str(error):
        return UNSUPPORTED_YAML.at(
            span,
            "a second YAML document starts here; a profile is one document, the rest would be ignored",
            "put each cluster into a file of its own",
        )
    for number, content in enumerate(lines[: line + 1], start=1):
        indent = content[: len(content) - len(content.lstrip())]
        if "\t" in indent and number >= line - 1:
            at = indent.index("\t") + 1
            return SYNTAX.at(
                Span(file, number, at, number, at + 1),
                "a tab indents this line; YAML allows only spaces there",
                "replace the tab by spaces",
            )
    return SYNTAX.at(span, problem.replace("\n", " ").rstrip("."))


class _Builder:
    """Turns composed YAML nodes into Node, collecting findings on the way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self.count = 0
        self.open: set[int] = set()

    def span(self, node: Any) -> Span:
        start, end = node.start_mark, node.end_mark
        return Span(self.file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def build(self, node: Any, key_span: Span | None = None) -> Node | None:
        self.count += 1
        if self.count >= MAX_NODES:
            if self.count == MAX_NODES:
                self.findings.append(
                    UNSUPPORTED_YAML.at(
                        self.span(node),
                        f"the document unfolds to more than {MAX_NODES} nodes, most likely by aliases of aliases",
                        "write the values out",
                    )
                )
            return None
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, key_span)
        if id(node) in self.open:
            self.findings.append(
                UNSUPPORTED_YAML.at(self.span(node), "this anchor contains an alias to itself")
            )
            return None
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self.mapping(node, key_span)
            return self.sequence(node, key_span)
        finally:
            self.open.discard(id(node))

    def mapping(self, node: Any, key_span: Span | None) -> Node | None:
        self.check_tag(node, _CORE + "map")
        values: dict[str, Node] = {}
        spans: dict[str, Span] = {}
        for key_node, value_node in node.value:
            here = self.span(key_node)
            key = self.key(key_node)
            if key is None:
                continue
            if key in spans:
                self.findings.append(
                    DUPLICATE_KEY.at(
                        here,
                        f'key "{key}" is already set at line {spans[key].line}; readers would silently keep one of the two',
                        "remove one of them",
                        related=((spans[key], "first set here"),),
                    )
                )
                continue
            spans[key] = here
            child = self.build(value_node, here)
            if child is not None:
                values[key] = child
        return Node(values, self.span(node), key_span)

    def sequence(self, node: Any, key_span: Span | None) -> Node | None:
        self.check_tag(node, _CORE + "seq")
        items = [self.build(item) for item in node.value]
        return Node([item for item in items if item is not None], self.span(node), key_span)

    def key(self, node: Any) -> str | None:
        here = self.span(node)
        if not isinstance(node, yaml.ScalarNode):
            self.findings.append(UNSUPPORTED_YAML.at(here, "this key is no text"))
            return None
        if node.value == "<<" and not node.style:
            self.findings.append(
                UNSUPPORTED_YAML.at(
                    here,
                    "a merge key hides where values come from",
                    "write the keys out, or share them between files with `extends`",
                )
            )
            return None
        built = self.scalar(node, None)
        if built is None:
            return None
        if not isinstance(built.value, str) or isinstance(built.value, DecimalText):
            self.findings.append(
                UNSUPPORTED_YAML.at(
                    here,
                    f"key {node.value or 'null'} is no text",
                    f'write "{node.value}"',
                    (Edit(here, f'"{node.value}"'),),
                )
            )
            return None
        return built.value

    def check_tag(self, node: Any, expected: str) -> None:
        if node.tag != expected:
            self.findings.append(
                UNSUPPORTED_YAML.at(
                    self.span(node),
                    f"tag {_short(node.tag)} is not supported; a profile is plain data",
                    "remove the tag",
                )
            )

    def scalar(self, node: Any, key_span: Span | None) -> Node | None:
        here = self.span(node)
        text: str = node.value
        if node.style:  # quoted or block: always text (plain is None, or '' from the C composer)
            if node.tag not in (_STR, "!"):
                self.check_tag(node, _STR)
                return None
            return Node(text, here, key_span)
        if node.end_mark.index - node.start_mark.index != len(text):  # a tag, or text over several lines
            if node.tag == _STR:
                return Node(text, here, key_span)
            if node.tag != _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)):
                self.check_tag(node, _STR)
                return None
        if text[:1] in _NUMBER_STARTS:
            return self.number(text, here, key_span)
        if text in _CONSTANTS:
            return Node(_CONSTANTS[text], here, key_span)
        if text in _BOOLEAN_WORDS:
            self.findings.append(
                AMBIGUOUS_SCALAR.at(
                    here,
                    f"{text} is a boolean to some YAML readers and text to others",
                    f'write "{text}" for text, or true or false',
                    (Edit(here, f'"{text}"'),),
                )
            )
            return None
        return Node(text, here, key_span)

    def number(self, text: str, here: Span, key_span: Span | None) -> Node | None:
        """A bare scalar that starts like a number; text such as 256Gi or 75% may be one, too."""
        if _INTEGER.match(text):
            return Node(int(text) if len(text) < 40 else text, here, key_span)
        if _DECIMAL.match(text):
            return Node(DecimalText(text), here, key_span)
        if _NUMBER_TRAP.match(text):
            self.findings.append(
                AMBIGUOUS_SCALAR.at(
                    here,
                    f"{text} is read differently by different YAML readers: as text, or as one number or another",
                    f'write "{text}" for text, or the plain decimal number',
                    (Edit(here, f'"{text}"'),),
                )
            )
            return None
        return Node(text, here, key_span)


_RESOLVER: Any = yaml.resolver.Resolver()


def _short(tag: str) -> str:
    return "!!" + tag[len(_CORE) :] if tag.startswith(_CORE) else tag
