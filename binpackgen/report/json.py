"""Findings as JSON, with a version field."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..finding import Finding, in_order
from ..source import Span


def json_text(findings: Iterable[Finding]) -> str:
    """An object with `version` 1 and the findings in file order."""
    body = {"version": 1, "findings": [_finding(finding) for finding in in_order(findings)]}
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        **_span(finding.span),
        "fix": finding.fix.title if finding.fix else None,
        "edits": [
            {**_span(edit.span), "text": edit.text} for edit in (finding.fix.edits if finding.fix else ())
        ],
        "related": [{**_span(span), "label": label} for span, label in finding.related],
        "waived": finding.waived,
    }


def _span(span: Span) -> dict[str, Any]:
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
