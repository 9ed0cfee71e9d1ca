"""From a job template to data, with no way for a value to become structure.

A template's expressions never put their values into the text. Each leaves a hole, the text with its holes is
read as YAML, and only then the values go into the tree, whole. So the YAML reader sees nothing but what the
template's author wrote, and equal texts need to be read only once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from types import TracebackType
from typing import Any, NamedTuple

from jinja2 import FileSystemLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError, Undefined, nodes
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import pass_context
from markupsafe import Markup

from ...finding import Finding
from ...profile.codes import AMBIGUOUS_SCALAR, DUPLICATE_KEY
from ...profile.node import DecimalText, Node
from ...profile.reader import read_text
from ...rules.workloads.bad_template import BadTemplate
from ...source import Span
from .skeletons import SUFFIX, template_folders

#: The rule that findings about templates belong to (BP510).
BAD_TEMPLATE = BadTemplate()

#: Private-use characters that stand for holes and for the ends of template lines.
_HOLE, _LINE = "\ue000", "\ue001"
_RESERVED = re.compile(f"[{_HOLE}{_LINE}]")
_HOLES = re.compile(f"{_HOLE}(\\d+){_HOLE}")
_LINES = re.compile(f"{_LINE}(\\d+):(\\d+){_LINE}")

_KINDS = {"Job": "batch/v1", "CronJob": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2"}

#: Tags by which text would get around the holes.
_TAGS: Mapping[type[nodes.Node], str] = {
    nodes.CallBlock: "{% call %}",
    nodes.FilterBlock: "{% filter %}",
    nodes.ScopedEvalContextModifier: "{% autoescape %}",
}

#: Findings of the reader whose fixes hold for templates too.
_FIXES_FOR_TEMPLATES = frozenset({AMBIGUOUS_SCALAR.code, DUPLICATE_KEY.code})

Place = tuple[str, int]


class BadTemplateError(Exception):
    """A template cannot be used; `finding` says why and where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Hole(NamedTuple):
    """A scalar that is one value."""

    number: int


class _Text(NamedTuple):
    """A scalar with values in its text: literal parts and indexes of values by turns, literals first."""

    parts: tuple[str | int, ...]
    place: Place


class _Skeleton(NamedTuple):
    """What a text says: data with holes, and where its kind is written."""

    tree: Any
    kind_place: Place


class Templates:
    """The templates of some folders, each read once.

    Rendering is not safe for several threads at a time.
    """

    def __init__(self, own: FilePath | None = None) -> None:
        self._files: list[str] = []
        self._values: list[Any] = []
        self._skeletons: dict[str, _Skeleton] = {}
        self._environment = self._make_environment(own)

    def render(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The object that template `name` makes of `values`, which are plain data.

        Raises BadTemplateError.
        """
        file = name + SUFFIX
        try:
            body, kind_place = self._data(file, values)
        except BadTemplateError:
            raise
        except Exception as error:  # whatever an expression raises is the template's fault
            raise self._failure(error, file) from error
        kind = body.get("kind")
        if not isinstance(kind, str) or _KINDS.get(kind) != body.get("apiVersion"):
            known = ", ".join(f"{kind} ({version})" for kind, version in _KINDS.items())
            shown = f"kind {kind} of apiVersion {body.get('apiVersion')}"
            raise self._bad(kind_place, f"{shown} is no kind of job", f"known kinds: {known}")
        return body

    def refuse(self, name: str, message: str) -> BadTemplateError:
        """The exception for what template `name` gives not being what it should."""
        return self._bad((self._path(name + SUFFIX), 1), message)

    def _data(self, file: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], Place]:
        """What a template says, and where it says of which kind that is."""
        outer, self._values = self._values, []
        try:
            template = self._environment.get_template(file)
            text = template.render(values)
            if text not in self._skeletons:
                self._skeletons[text] = self._read(text, template.filename or file)
            skeleton = self._skeletons[text]
            return self._fill(skeleton.tree), skeleton.kind_place
        finally:
            self._values = outer

    @pass_context
    def _part(self, context: Context, name: str, **values: Any) -> dict[str, Any]:
        """part("pod", pod=worker): what _pod.yaml.j2 says, as a value; it knows what its caller knows."""
        return self._data(f"_{name}{SUFFIX}", {**context.get_all(), **values})[0]

    def _make_environment(self, own: FilePath | None) -> ImmutableSandboxedEnvironment:
        files = self._files

        class Lines(Extension):
            """Ends every line of a template's text with its place, so that findings can name it."""

            def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
                files.append(stream.filename or stream.name or "")
                number = len(files) - 1
                for token in stream:
                    if token.type != "data":
                        yield token
                        continue
                    reserved = _RESERVED.search(token.value)
                    if reserved is not None:
                        raise TemplateSyntaxError(
                            "the private-use characters U+E000 and U+E001 are reserved",
                            token.lineno + token.value.count("\n", 0, reserved.start()),
                            stream.name,
                            stream.filename,
                        )
                    first, *rest = token.value.split("\n")
                    text = first + "".join(
                        f"{_LINE}{number}:{token.lineno + index}{_LINE}\n{line}"
                        for index, line in enumerate(rest)
                    )
                    yield Token(token.lineno, token.type, text)

        environment = _Environment(
            # markup tells text that a template made (a macro's result) from values; nothing is escaped
            autoescape=True,
            auto_reload=False,
            cache_size=-1,
            extensions=[Lines],
            finalize=self._hole,
            keep_trailing_newline=True,
            loader=FileSystemLoader([str(folder) for folder in template_folders(own)]),
            undefined=StrictUndefined,
        )
        # chance has no place in a build
        del environment.globals["lipsum"], environment.filters["random"]
        environment.globals["env_list"] = _env_list
        environment.globals["part"] = self._part
        # values enter whole anyway; jinja's own filter would make one text of them
        environment.filters["json"] = environment.filters["tojson"] = _unchanged
        return environment

    @pass_context
    def _hole(self, _context: Context, value: Any) -> str:
        """Keep the value of an expression for later, and leave a hole in the text.

        jinja passes a context, and for that very reason does not call this when it compiles a template.
        """
        self._values.append(_plain(value))
        return f"{_HOLE}{len(self._values) - 1}{_HOLE}"

    def _read(self, text: str, file: str) -> _Skeleton:
        lines: list[str] = []
        places: list[Place] = []
        for line in text.split("\n"):
            end = _LINES.search(line)
            # only the last line of a file has no end
            places.append((self._files[int(end[1])], int(end[2])) if end else (file, 0))
            lines.append(_LINES.sub("", line))
        return _Reader(lines, places).read(file)

    def _fill(self, node: Any) -> Any:
        kind = type(node)
        if kind is dict:
            return {key: value for key, below in node.items() if (value := self._fill(below)) is not None}
        if kind is list:
            items = [value for below in node if (value := self._fill(below)) is not None]
            return items if items or not node else None
        if kind is _Hole:
            return self._values[node.number]
        if kind is _Text:
            return "".join(
                self._in_text(self._values[part], node.place) if isinstance(part, int) else part
                for part in node.parts
            )
        return node

    def _in_text(self, value: Any, place: Place) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int):
            return str(value)
        what = "none" if value is None else "a list" if isinstance(value, list) else "a mapping"
        raise self._bad(
            place, f"{what} cannot stand inside a text", "give it a place of its own, without quotes"
        )

    def _failure(self, error: Exception, file: str) -> BadTemplateError:
        """What jinja or an expression had to say, at the line of the template that it is about."""
        message = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        if isinstance(error, TemplateSyntaxError):
            return self._bad(
                (error.filename or error.name or file, error.lineno), (error.message or message).rstrip(".")
            )
        if isinstance(error, UnicodeDecodeError):
            return self._bad((self._path(file), 1), "is no UTF-8 text")
        if isinstance(error, TemplateNotFound):
            message = f'there is no template file "{error.name}"'
        return self._bad(_innermost(error.__traceback__, self._files) or (self._path(file), 1), message)

    def _path(self, file: str) -> str:
        loader = self._environment.loader
        folders = loader.searchpath if isinstance(loader, FileSystemLoader) else []
        found = [path for folder in folders if (path := FilePath(folder) / file).exists()]
        return str(found[0]) if found else file

    @staticmethod
    def _bad(place: Place, message: str, fix: str | None = None) -> BadTemplateError:
        return BadTemplateError(BAD_TEMPLATE.finding(_span(place), message, fix))


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox in which every value passes through `finalize`: what goes around that is refused."""

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for block in tree.find_all(tuple(_TAGS)):
            message = f"{_TAGS[type(block)]} is not supported; use {{{{ part(...) }}}} or {{% include %}}"
            raise TemplateSyntaxError(message, block.lineno, name, filename)
        return tree


class _Reader:
    """Reads a text with holes, and says where in the templates something is wrong with it."""

    def __init__(self, lines: list[str], places: list[Place]) -> None:
        self.lines = lines
        self.places = places

    def read(self, file: str) -> _Skeleton:
        node, findings = read_text("\n".join(self.lines), file)
        if node is None or findings:
            raise BadTemplateError(self.finding(findings[0]))
        kind = node.child("kind")
        return _Skeleton(self.build(node), self.place((kind or node).span))

    def finding(self, found: Finding) -> Finding:
        """What the reader of profiles found, about the template that the line comes from."""
        message = _HOLES.sub("{{ }}", found.message).replace("a profile is", "a template gives")
        related = []
        for span, label in found.related:
            here = _span(self.place(span))
            message = message.replace(f"at line {span.line}", f"at line {here.line}")
            related.append((here, label))
        fix = found.fix.title if found.fix and found.code in _FIXES_FOR_TEMPLATES else None
        return BAD_TEMPLATE.finding(_span(self.place(found.span)), message, fix, related=tuple(related))

    def place(self, span: Span) -> Place:
        return self.places[min(span.line, len(self.places)) - 1]

    def build(self, node: Node) -> Any:
        value = node.value
        if isinstance(value, dict):
            for key, child in value.items():
                if _HOLE in key:
                    raise self.bad(child, "a value cannot be a key", "give the whole mapping as one value")
            return {key: self.build(child) for key, child in value.items()}
        if isinstance(value, list):
            return [self.build(item) for item in value]
        if isinstance(value, DecimalText):
            raise self.bad(node, f"{value} is a number with a decimal point", f'write "{value}" for text')
        if not isinstance(value, str) or _HOLE not in value:
            return value
        parts = tuple(int(part) if index % 2 else part for index, part in enumerate(_HOLES.split(value)))
        bare = self.lines[node.span.line - 1][node.span.column - 1] == _HOLE
        if bare and len(parts) == 3 and parts[0] == parts[2] == "":
            return _Hole(int(parts[1]))
        return _Text(parts, self.place(node.span))

    def bad(self, node: Node, message: str, fix: str) -> BadTemplateError:
        return BadTemplateError(
            BAD_TEMPLATE.finding(_span(self.place(node.key_span or node.span)), message, fix)
        )


def _plain(value: Any) -> Any:
    """A copy of `value` of text, whole numbers, booleans, lists and mappings, without none."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is list or kind is tuple:
        return [item for below in value if (item := _plain(below)) is not None]
    if kind is dict:
        return {_key(key): item for key, below in value.items() if (item := _plain(below)) is not None}
    if isinstance(value, Undefined):
        str(value)  # raises jinja's own error, which names what is undefined
    if isinstance(value, Markup):
        raise TypeError(
            "text made by a macro, a block or an HTML filter is no value; use part(...) or {% include %}"
        )
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{kind.__name__} is no value for a manifest")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"key {key} is no text")
    return str(key)


def _unchanged(value: Any) -> Any:
    return value


def _env_list(*layers: Mapping[str, Any]) -> list[dict[str, str]] | None:
    """Environment variables as a container takes them; later layers win, each name stays where it was first."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update(layer)
    plain: dict[str, Any] = _plain(merged)
    return [{"name": name, "value": str(value)} for name, value in plain.items()] or None


def _innermost(traceback: TracebackType | None, files: list[str]) -> Place | None:
    """The deepest line of a template in a traceback; jinja puts template lines into it."""
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file in files:
            place = (file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def _span(place: Place) -> Span:
    """The text of a line of a template."""
    file, number = place
    try:
        lines = FilePath(file).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    number = number or len(lines) or 1
    line = lines[number - 1] if number <= len(lines) else ""
    start = len(line) - len(line.lstrip()) + 1
    return Span(file, number, start, number, max(len(line.rstrip()) + 1, start))
