"""The exceptions that end a command: each carries what a person needs, none is ever shown as a traceback."""

from __future__ import annotations

from .finding import Finding


class BinpackgenError(Exception):
    """Something could not be done; the command ends with exit code 2 and this message."""


class FindingsError(BinpackgenError):
    """The input has findings that forbid going on; the command ends with exit code 1."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("; ".join(f"{f.span}: {f.code} {f.message}" for f in findings))
        self.findings = findings
