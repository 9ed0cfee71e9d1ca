"""What reading a workload gives: the workload, or findings about what cannot be simulated as it stands."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ...errors import FindingsError
from ...finding import Finding, Fix, Severity, blocking, in_order
from ...profile.codes import InputCode
from ...source import Span
from ..model import ClusterState
from .model import Workload

#: Findings of one code in one file that are told one by one.
MOST_OF_A_KIND = 20


class Reading(NamedTuple):
    """A workload, and what is worth knowing about it; no finding blocks.

    `cluster` has the workload's nodes with the pods that stay on them, None where no pod does.
    """

    workload: Workload
    findings: tuple[Finding, ...] = ()
    cluster: ClusterState | None = None


class Findings:
    """Collects findings; of many of a kind the first are kept and the others counted."""

    def __init__(self) -> None:
        self._found: list[Finding] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._last: dict[tuple[str, str], Finding] = {}

    def add(
        self,
        code: InputCode,
        file: str,
        line: int,
        message: str,
        fix: str | None = None,
        *,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """One finding about a line (1 for the file as a whole)."""
        finding = Finding(
            code.code,
            code.name,
            severity,
            message,
            Span(file, line, 1, line, 1),
            Fix(fix) if fix else None,
        )
        kind = (code.code, file)
        self._counts[kind] += 1
        if self._counts[kind] <= MOST_OF_A_KIND:
            self._found.append(finding)
        else:
            self._last[kind] = finding

    def all(self) -> list[Finding]:
        """The findings in order of file and line."""
        rest = []
        for kind, finding in self._last.items():
            more = self._counts[kind] - MOST_OF_A_KIND
            message = f"{more:,} more of the same, the last one: {finding.message}"
            rest.append(
                Finding(finding.code, finding.name, finding.severity, message, finding.span, finding.fix)
            )
        return in_order([*self._found, *rest])

    def result(self, workload: Workload, cluster: ClusterState | None = None) -> Reading:
        """The reading. Raises FindingsError with all findings if one of them blocks."""
        self.raise_blocking()
        return Reading(workload, tuple(self.all()), cluster)

    def raise_blocking(self) -> None:
        """Raises FindingsError with all findings if one of them blocks."""
        found = self.all()
        if blocking(found):
            raise FindingsError(found)
