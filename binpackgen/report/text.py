"""Findings for a person: the place, the source line with a caret, the fix, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from ..finding import Finding, in_order
from ..source import Span


def findings_text(findings: Iterable[Finding]) -> str:
    """Findings in file order, each with the line it is about."""
    lines = _Lines()
    blocks = [_block(finding, lines) for finding in in_order(findings)]
    return "\n".join(blocks)


def write_findings(findings: list[Finding], stream: TextIO) -> None:
    """Write all findings and the summary line."""
    if findings:
        stream.write(findings_text(findings))
        stream.write("\n")
    stream.write(summary(findings) + "\n")


def summary(findings: Iterable[Finding]) -> str:
    """One line that counts findings by severity."""
    counts = Counter("waived" if finding.waived else finding.severity.value for finding in findings)
    parts = [
        f"{counts[kind]} {kind}{'s' if counts[kind] != 1 and kind != 'waived' else ''}"
        for kind in ("error", "warning", "note", "waived")
        if counts[kind]
    ]
    return ", ".join(parts) if parts else "no findings"


class _Lines:
    """The lines of the files that findings speak of, read when first needed."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def line(self, span: Span) -> str | None:
        if span.file not in self._files:
            try:
                with open(span.file, encoding="utf-8-sig", errors="replace") as file:
                    self._files[span.file] = file.read().splitlines()
            except OSError:
                self._files[span.file] = []
        lines = self._files[span.file]
        return lines[span.line - 1] if 0 < span.line <= len(lines) else None


def _block(finding: Finding, lines: _Lines) -> str:
    level = "waived" if finding.waived else finding.severity.value
    text = f"{level}[{finding.code}] {finding.name}: {finding.message}\n"
    text += _place(finding.span, lines, "-->")
    for span, label in finding.related:
        text += _place(span, lines, "...", label)
    if finding.fix:
        text += f"    = fix: {finding.fix.title}\n"
    if finding.waived:
        text += f"    = waived: {finding.waived}\n"
    return text


def _place(span: Span, lines: _Lines, arrow: str, label: str = "") -> str:
    text = f"  {arrow} {span}{f': {label}' if label else ''}\n"
    line = lines.line(span)
    if line is None:
        return text
    # a long line (a pool in flow style) is shown around the place
    start = max(0, span.column - 1 - 60) if len(line) > 110 else 0
    shown = "".join(char if char.isprintable() else " " for char in line[start : start + 110])
    end = span.end_column if span.end_line == span.line else len(line) + 1
    width = max(1, min(end - span.column, len(shown) - (span.column - 1 - start)))
    number = str(span.line)
    text += f"{number:>5} | {shown.rstrip()}\n"
    text += f"      | {' ' * (span.column - 1 - start)}{'^' * width}\n"
    return text
