"""The catalogue of findings about what is read, profiles and workloads, before any rule looks at a meaning."""

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

# ---- workloads: traces and dumps of objects, for commands that simulate

UNREADABLE_WORKLOAD = InputCode(
    "BP020",
    "unreadable-workload",
    "The file cannot be read to its end: it is missing, cut short, or not what its name says.",
)
MISSING_COLUMN = InputCode(
    "BP021", "missing-column", "A list lacks a column that it must have, or has one twice."
)
BAD_ROW = InputCode(
    "BP022",
    "bad-workload-value",
    "A value is no number, negative, or beyond what any machine has, or a row has not as many fields as the header. "
    "Rows are not skipped: a workload without them would be another one.",
)
UNKNOWN_GPU_TYPE = InputCode(
    "BP023", "unknown-gpu-model", "Pods ask for a GPU model that no node of the list has."
)
DUPLICATE_NAME = InputCode("BP024", "duplicate-workload-name", "Two nodes, or two pods, have the same name.")
FITS_NOWHERE = InputCode(
    "BP025",
    "fits-no-node",
    "Pods of a shape fit on no node even when it is empty. They wait for ever, or are turned away.",
)
NO_NODES = InputCode("BP026", "no-nodes", "There is no node to place anything on.")
UNMODELED = InputCode(
    "BP027",
    "unmodeled-object",
    "An object uses something that would change the scheduler's decisions and is not in the model.",
)
NO_PODS = InputCode("BP028", "no-pods", "There is nothing to place.")
UNKNOWN_REFERENCE = InputCode(
    "BP029",
    "unknown-workload-reference",
    "An object names a priority class or a queue that is not among the objects, so its rank is not known.",
)
ASSUMED = InputCode(
    "BP030",
    "assumed",
    "Something that the objects do not tell is taken for granted, since simulating without it says more than refusing.",
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
    UNREADABLE_WORKLOAD,
    MISSING_COLUMN,
    BAD_ROW,
    UNKNOWN_GPU_TYPE,
    DUPLICATE_NAME,
    FITS_NOWHERE,
    NO_NODES,
    UNMODELED,
    NO_PODS,
    UNKNOWN_REFERENCE,
    ASSUMED,
)
