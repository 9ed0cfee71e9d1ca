"""Rule pages and test fragments as whole profiles: a piece of `spec`, over a small base."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from inspect import cleandoc
from textwrap import indent

import yaml

from binpackgen.errors import FindingsError
from binpackgen.finding import Edit, Finding, blocking
from binpackgen.plan.compile import compile_plan
from binpackgen.profile.load import LoadedProfile, load_profile
from binpackgen.rules.run import apply_policies, check_plan, check_profile

#: The day on which examples are judged.
TODAY = date(2026, 6, 1)

#: Every key of a fragment takes the place of the one here.
BASE: dict[str, str] = {
    "kubernetes": 'kubernetes: {version: "1.37", controlPlane: second-scheduler}',
    "nodePools": """\
nodePools:
  - {name: gpu, count: 4, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
  - {name: cpu, count: 2, cpu: 32, memory: 128Gi}""",
}

_HEADER = "apiVersion: binpackgen.dev/v1alpha1\nkind: ClusterProfile\nmetadata: {name: example}\nspec:\n"

#: Where the fragment's first line stands in the profile.
FIRST_LINE = _HEADER.count("\n") + 1


def profile_text(fragment: str) -> str:
    """A whole profile: the fragment first, so that its line numbers are known, then the rest of the base."""
    given = yaml.safe_load(fragment) or {}
    parts = [fragment.rstrip(), *(text for key, text in BASE.items() if key not in given)]
    return _HEADER + indent("\n".join(parts), "  ") + "\n"


def load(text: str) -> LoadedProfile:
    """The loaded profile of a text."""
    return load_profile("-", text.encode())


def judged(text: str) -> list[Finding]:
    """All findings about a profile, as a build would see them before its targets."""
    try:
        loaded = load(text)
    except FindingsError as error:
        return error.findings
    findings = check_profile(loaded)
    early = apply_policies(loaded, findings, TODAY)
    if blocking(early):
        return early
    findings += check_plan(compile_plan(loaded))
    return apply_policies(loaded, findings, TODAY, complete=True)


def findings_of(fragment: str, code: str) -> list[Finding]:
    """The findings of one rule about a fragment."""
    return [finding for finding in judged(profile_text(fragment)) if finding.code == code]


def section(rule: object, heading: str) -> str:
    """The text below one heading of a rule's page."""
    match = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", cleandoc(rule.__doc__ or ""), re.M | re.S)
    return match[1].strip() if match else ""


def fragments(rule: object, heading: str) -> list[str]:
    """The YAML blocks below a heading."""
    return re.findall(r"```yaml\n(.*?)```", section(rule, heading), re.S)


def marked_line(fragment: str) -> int:
    """Where in the whole profile the line with the mark stands."""
    lines = [number for number, line in enumerate(fragment.splitlines()) if line.endswith("# <-")]
    assert len(lines) == 1, fragment
    return FIRST_LINE + lines[0]


def edited(text: str, edits: Iterable[Edit]) -> str:
    """`text` with edits applied, from the end so that spans stay right."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda e: (e.span.line, e.span.column), reverse=True):
        span = edit.span
        assert span.line == span.end_line
        line = lines[span.line - 1]
        lines[span.line - 1] = line[: span.column - 1] + edit.text + line[span.end_column - 1 :]
    return "".join(lines)
