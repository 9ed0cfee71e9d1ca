"""The catalogue of findings about a profile's text and shape, before any rule looks at its meaning."""

from __future__ import annotations

from typing import NamedTuple

from ..finding import Edit, Finding, Fix, Severity
from ..source import Span


class InputCode(NamedTuple):
    """A stable code with its name and what it means; `binpackgen explain CODE` prints it."""

    code: str
    name: str
    doc: str

    def at(
        self,
        span: Span,
        message: str,
        fix: str | None = None,
        edits: tuple[Edit, ...] = (),
        related: tuple[tuple[Span, str], ...] = (),
    ) -> Finding:
        """A finding of this code; input findings are always errors."""
        return Finding(
            self.code,
            self.name,
            Severity.ERROR,
            message,
            span,
            Fix(fix, edits) if fix else None,
            related,
        )


UNREADABLE = InputCode(
    "BP001",
    "unreadable-file",
    "The file cannot be read: it is missing, too large, or no UTF-8 text.",
)
SYNTAX = InputCode(
    "BP002",
    "yaml-syntax",
    "The text is not YAML. Tabs cannot indent; a profile is a single mapping.",
)
DUPLICATE_KEY = InputCode(
    "BP003",
    "duplicate-key",
    "A mapping has the same key twice. Most YAML readers silently keep the last one.",
)
AMBIGUOUS_SCALAR = InputCode(
    "BP004",
    "ambiguous-scalar",
    "A bare word or number that YAML readers disagree about: `NO` and `on` are booleans to some and text to "
    "others, `08` and `0o17` are octal or text, `1e3` is text or a number, `1:30` is ninety or text. "
    "Quote it, or write the value plainly.",
)
UNSUPPORTED_YAML = InputCode(
    "BP005",
    "unsupported-yaml",
    "Merge keys, custom tags, several documents, keys that are no text, aliases that refer to themselves and "
    "documents that unfold to more than 200,000 nodes are refused, since they hide what a profile says.",
)
UNKNOWN_KEY = InputCode(
    "BP006",
    "unknown-key",
    "The profile language has no such key here. Unknown keys are never ignored: a typo must not switch a "
    "default back on.",
)
MISSING_KEY = InputCode("BP007", "missing-key", "A key that has no default is not given.")
WRONG_TYPE = InputCode(
    "BP008",
    "wrong-type",
    "The value has another type than the key takes, such as a number where text is expected. A version "
    "such as 1.30 must be quoted: read as a number it becomes 1.3.",
)
INVALID_VALUE = InputCode(
    "BP009",
    "invalid-value",
    "The value has the right type but is outside what the key allows, or outside what Kubernetes accepts.",
)
LAYER = InputCode(
    "BP010",
    "bad-layer",
    "A file named by `extends` is missing, extends itself in a circle, or cannot be merged.",
)

INPUT_CODES = (
    UNREADABLE,
    SYNTAX,
    DUPLICATE_KEY,
    AMBIGUOUS_SCALAR,
    UNSUPPORTED_YAML,
    UNKNOWN_KEY,
    MISSING_KEY,
    WRONG_TYPE,
    INVALID_VALUE,
    LAYER,
)
