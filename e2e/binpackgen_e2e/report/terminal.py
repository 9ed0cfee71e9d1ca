"""Outcomes for a person at a terminal or in a CI log."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TextIO

from binpackgen.report.packing_map import text as map_text
from binpackgen.report.printable import columns, counted, fitted, printable

from ..outcome import Measure, Outcome, Run
from .figures import control_text, figure, outcome_verdict, rows, run_verdict, seconds, verdict, why_missing

_MOST_EVIDENCE = 10
_BOLD, _RED, _GREEN, _DIM = "1", "31", "32", "2"
_COLORS = {"passed": _GREEN, "holds": _GREEN, "failed": _RED, "misses": _RED, "error": _RED}


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether `stream` is a terminal that shows colors and nobody asked for none (no-color.org)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def terminal_text(run: Run, *, width: int = 100, color: bool = False) -> str:
    """A block per scenario, then one line for the run."""
    blocks = "".join(outcome_text(outcome, width=width, color=color) + "\n" for outcome in run.outcomes)
    where = f"{run.profile} on {run.backend}, Kubernetes {run.kubernetes}, {seconds(run.seconds)}"
    word = "passed" if run.outcomes and run.passed else "failed"
    end = f"{_painted(run_verdict(run), _COLORS[word], color)} ({printable(where)})\n"
    return blocks + end + (f"logs: {printable(run.logs)}\n" if run.logs else "")


def outcome_text(outcome: Outcome, *, width: int = 100, color: bool = False) -> str:
    """One scenario: verdict, table, control, evidence, maps."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(outcome, width, color))


def _lines(outcome: Outcome, width: int, color: bool) -> Iterator[str]:
    word = outcome_verdict(outcome)
    head = f"{printable(outcome.scenario)}: {printable(outcome.title)}"
    yield f"{_painted(word.upper(), _COLORS[word], color)} {_painted(head, _BOLD, color)} ({seconds(outcome.seconds)})"
    if outcome.error:
        yield f"  did not come to its end: {printable(outcome.error)}"
    yield from _table(outcome, color)
    if control := control_text(outcome):
        yield f"  {printable(control)}"
    shown = outcome.evidence if len(outcome.evidence) <= _MOST_EVIDENCE else outcome.evidence[:_MOST_EVIDENCE]
    for line in shown:
        yield f"  - {printable(line)}"
    if left := len(outcome.evidence) - len(shown):
        yield _painted(f"  - and {counted(left, 'line')} more in the JSON and HTML reports", _DIM, color)
    for cluster in outcome.maps:
        yield from (f"  {line}" for line in map_text(cluster, width - 2).splitlines())


def _table(outcome: Outcome, color: bool) -> Iterator[str]:
    """Measures as aligned columns; the control's only where one ran."""
    table = [
        ["measure", "value", "bar", *(["control"] if outcome.control else []), "verdict"],
        *(
            [
                fitted(row.name, 48),
                figure(row.measure),
                printable(row.bar),
                *([figure(row.control)] if outcome.control else []),
                _judged(row.measure),
            ]
            for row in rows(outcome)
        ),
    ]
    if len(table) == 1:
        return
    widths = [max(columns(line[i]) for line in table) for i in range(len(table[0]))]
    for number, line in enumerate(table):
        padded = [
            _aligned(cell, widths[i], right=table[0][i] in ("value", "control"))
            for i, cell in enumerate(line)
        ]
        if number == 0:
            yield _painted("  " + "  ".join(padded).rstrip(), _DIM, color)
        else:
            yield "  " + "  ".join(
                [*padded[:-1], _painted(line[-1], _COLORS.get(line[-1].partition(":")[0], ""), color)]
            )


def _judged(measure: Measure | None) -> str:
    return ": ".join(part for part in (verdict(measure), why_missing(measure)) if part)


def _aligned(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - columns(cell))
    return space + cell if right else cell + space


def _painted(text: str, code: str, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color and code and text else text
