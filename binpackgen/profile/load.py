"""Load a profile: text to ClusterProfile, with every finding about its shape at once."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from ..errors import FindingsError
from ..finding import Edit, Finding, in_order
from ..source import Path, Span
from .codes import INVALID_VALUE, MISSING_KEY, UNKNOWN_KEY, WRONG_TYPE
from .layers import read_layers
from .node import Node
from .types import kind_of

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from .models import ClusterProfile


@dataclass(frozen=True)
class LoadedProfile:
    """A profile, the tree it was written as, and the files that it came from (lowest layer first)."""

    profile: ClusterProfile
    root: Node
    files: tuple[str, ...]

    def span(self, path: Path) -> Span:
        """Where the value at `path` was written: the file is the layer that set it."""
        return self.root.locate(path)


def load_profile(file: str, stdin: bytes | None = None) -> LoadedProfile:
    """Load `file` (`-` is `stdin`) with the layers that it extends.

    Raises FindingsError with all findings about text and shape.
    """
    root, findings, files = read_layers(file, stdin)
    if root is None:
        raise FindingsError(in_order(findings))
    profile, problems = validate(root)
    if profile is None:
        raise FindingsError(in_order(problems))
    return LoadedProfile(profile, root, tuple(files))


def validate(root: Node) -> tuple[ClusterProfile | None, list[Finding]]:
    """The typed profile of a merged tree, or None with what is wrong with it."""
    from pydantic import ValidationError

    from .models import ClusterProfile

    try:
        return ClusterProfile.model_validate(root.plain()), []
    except ValidationError as error:
        findings: dict[tuple[Span, str, str], Finding] = {}
        errors = error.errors(include_url=False)
        spoiled = {details["loc"][:end] for details in errors for end in range(len(details["loc"]))}
        for details in errors:
            if details["type"] == "too_short" and details["loc"] in spoiled:
                continue  # a list whose items are wrong is not empty
            finding = _finding(details, root, ClusterProfile)
            findings.setdefault((finding.span, finding.code, finding.message), finding)
        return None, list(findings.values())


def _finding(details: ErrorDetails, root: Node, model: type[BaseModel]) -> Finding:
    path: Path = tuple(details["loc"])
    node, reached = root.nearest(path)
    kind = details["type"]
    here = root.locate(path)
    if kind == "extra_forbidden":
        return _unknown_key(str(path[-1]), node, reached, model)
    if kind == "missing":
        name = path[-1]
        place = f"{_owner(root, reached)} lacks {name}, which has no default"
        return MISSING_KEY.at(root.locate(reached), place, f"add {name}")
    message = _message(details)
    if kind in ("wrong_type", "model_type", "tuple_type", "dict_type", "string_type", "list_type"):
        return WRONG_TYPE.at(here, message)
    fix = None
    edits: tuple[Edit, ...] = ()
    if kind == "literal_error":
        choices = [choice.strip().strip("'") for choice in _choices(details)]
        close = difflib.get_close_matches(str(details["input"]), choices, 1, 0.5)
        if close:
            fix, edits = f"did you mean {close[0]}?", (Edit(node.span, close[0]),)
        key = path[-1]
        shown = kind_of(details["input"])
        message = f"{key} is {shown}; it takes {', '.join(choices)}"
    return INVALID_VALUE.at(here, message, fix, edits)


def _choices(details: ErrorDetails) -> list[str]:
    expected = str(details.get("ctx", {}).get("expected", ""))
    return expected.replace(" or ", ", ").split(", ")


def _message(details: ErrorDetails) -> str:
    kind, ctx = details["type"], details.get("ctx", {})
    key = details["loc"][-1] if details["loc"] else "the profile"
    given = kind_of(details["input"])
    match kind:
        case "greater_than_equal":
            return f"{key} is {given}, less than {ctx['ge']}"
        case "less_than_equal":
            return f"{key} is {given}, more than {ctx['le']}"
        case "too_short":
            return f"{key} is empty; at least {ctx['min_length']} is wanted"
        case "string_too_short":
            return f"{key} is empty"
        case "string_pattern_mismatch":
            return f"{key} is {given}, which does not match {ctx['pattern']}"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{key} takes a mapping, this is {given}"
        case "tuple_type" | "list_type":
            return f"{key} takes a list, this is {given}"
        case _:
            return details["msg"]


def _owner(root: Node, path: Path) -> str:
    if not path:
        return "the profile"
    node, _ = root.nearest(path)
    name = node.child("name")
    if isinstance(path[-1], int):
        owner = f"{path[-2]}[{path[-1]}]"
        return f'{owner} "{name.value}"' if name is not None else owner
    return str(path[-1])


def _unknown_key(key: str, node: Node, reached: Path, model: type[BaseModel]) -> Finding:
    span = node.key_span or node.span
    known = _known_keys(model, reached[:-1])
    close = difflib.get_close_matches(key, known, 1, 0.6) or [
        name for name in known if name.lower() == key.replace("_", "").replace("-", "").lower()
    ]
    where = reached[-2] if len(reached) > 1 else "the profile"
    if isinstance(where, int):
        where = f"{reached[-3]}[{where}]"
    message = f'{where} has no key "{key}"'
    if close:
        return UNKNOWN_KEY.at(span, message, f"did you mean {close[0]}?", (Edit(span, close[0]),))
    return UNKNOWN_KEY.at(span, message, f"known keys: {', '.join(known)}" if known else None)


def _known_keys(model: type[BaseModel], path: Path) -> list[str]:
    """The keys that a mapping at `path` may have; none where the path leads to no model."""
    current: Any = model
    for step in path:
        current = _step_into(_plain_type(current), step)
    current = _plain_type(current)
    fields = getattr(current, "model_fields", None)
    return [info.alias or name for name, info in fields.items()] if fields else []


def _step_into(annotation: Any, step: str | int) -> Any:
    """The type one step below `annotation`: a model's field, or what a tuple or dict holds."""
    fields = getattr(annotation, "model_fields", None)
    if fields is not None:
        return next((info.annotation for name, info in fields.items() if step == (info.alias or name)), None)
    arguments = get_args(annotation)
    if not arguments:
        return None
    return arguments[1] if get_origin(annotation) is dict else arguments[0]


def _plain_type(annotation: Any) -> Any:
    """`annotation` without Annotated and Optional."""
    while True:
        if hasattr(annotation, "__metadata__"):
            annotation = annotation.__origin__
        elif get_origin(annotation) in (Union, UnionType):
            annotation = next(arg for arg in get_args(annotation) if arg is not type(None))
        else:
            return annotation
