"""Findings as GitHub workflow annotations."""

from __future__ import annotations

from collections.abc import Iterable

from ..finding import Finding, Severity, in_order

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github_text(findings: Iterable[Finding]) -> str:
    """One workflow command per finding that is not waived."""
    lines = []
    for finding in in_order(findings):
        if finding.waived:
            continue
        span = finding.span
        fix = f"\n{finding.fix.title}" if finding.fix else ""
        properties = {
            "file": span.file,
            "line": str(span.line),
            "col": str(span.column),
            "endLine": str(span.end_line),
            "endColumn": str(span.end_column),
            "title": f"{finding.code} {finding.name}",
        }
        joined = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        lines.append(f"::{_COMMANDS[finding.severity]} {joined}::{_data(finding.message + fix)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
