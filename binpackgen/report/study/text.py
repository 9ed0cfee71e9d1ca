"""A comparison for a terminal: what was run, one compact table, a map of the first strategies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ...source import path_text
from ...study.compare import Comparison
from ...study.patch import flow
from ...study.sizing import Size
from ...study.trial import GOALS
from ...study.tuning import Outcome
from ..packing_map import text as map_text
from ..printable import columns, counted, fitted, printable
from .figures import GROUPS, best, figure_text, groups, is_main, packing_maps, value_text

#: Maps in the terminal; the other reports have all.
_MAPS = 2


def comparison_text(comparison: Comparison, *, width: int = 100) -> str:
    """The text, each line ending in a line break."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(comparison, width))


def _lines(comparison: Comparison, width: int) -> Iterator[str]:
    if comparison.partial:
        yield f"PARTIAL: {printable(comparison.partial)}"
    yield f"{printable(comparison.profile)} on {counted(comparison.nodes, 'node')}; {printable(comparison.workload)}"
    yield f"{counted(comparison.seeds, 'seed')}, mean ± standard deviation; * marks the best, and what differs from it by noise only"
    names = [strategy.name for strategy in comparison.strategies]
    for strategy in comparison.strategies:
        yield f"  {fitted(strategy.name, 24)}: {printable(strategy.words)}"
    yield ""
    rows = [row for row in comparison.rows if is_main(row, comparison)]
    table: list[list[str]] = [["", *(fitted(name, 24) for name in names), "bound"]]
    for group, members in groups(rows):
        table.append([GROUPS[group][0]])
        for row in members:
            leading = best(row)
            cells = [
                f"{figure_text(row.unit, figure)}{'*' if index in leading else ' '}"
                for index, figure in enumerate(row.figures)
            ]
            bound = "" if row.bound is None else value_text(row.unit, row.bound)
            table.append([f"  {fitted(row.name, 40)}", *cells, bound])
    yield from aligned(table)
    for cluster in packing_maps(comparison)[:_MAPS]:
        yield ""
        yield from map_text(cluster, width).splitlines()
    for note in comparison.notes:
        yield f"note: {printable(note)}"


def aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with columns below each other, all but the first to the right; a row of one cell is a heading."""
    full = [row for row in table if len(row) > 1]
    if not full:
        return
    widths = [max(columns(row[place]) for row in full) for place in range(len(full[0]))]
    for row in table:
        if len(row) == 1:
            yield row[0]
            continue
        first, *rest = row
        cells = [" " * (widths[place] - columns(cell)) + cell for place, cell in enumerate(rest, 1)]
        yield "  ".join([first + " " * (widths[0] - columns(first)), *cells])


def size_text(size: Size) -> str:
    """A size for a terminal."""
    return "".join(f"{line.rstrip()}\n" for line in _size_lines(size))


def _size_lines(size: Size) -> Iterator[str]:
    if size.partial:
        yield f"PARTIAL: {printable(size.partial)}"
    yield f"{printable(size.profile)}: {printable(size.demand)}"
    yield ""
    table = [["pool", "nodes", "at least", "profile", "one fewer"]]
    for name, count in size.counts.items():
        fewer = "fails" if name in size.tight else "" if not count else "not tried"
        table.append(
            [
                fitted(name, 32),
                f"{count:,}",
                value_text("nodes", size.bounds[name]),
                f"{size.stated[name]:,}",
                fewer,
            ]
        )
    table.append(
        [
            "all",
            f"{size.nodes:,}",
            value_text("nodes", size.bound) if size.prices is None else "",
            f"{sum(size.stated.values()):,}",
            "",
        ]
    )
    yield from aligned(table)
    yield ""
    unit, what = ("nodes", "nodes") if size.prices is None else ("money", "an hour")
    limit = f"{value_text(unit, size.bound)} ({size.bound_words})"
    if size.total < size.bound:
        yield f"{value_text(unit, size.total)} {what}, less than {limit}: the run is too short to show it, raise --submissions"
    elif size.total > size.bound:
        gap = size.total / size.bound - 1 if size.bound else math.inf
        yield f"{value_text(unit, size.total)} {what}; no scheduler does with less than {limit}: {100 * gap:.1f} % above it"
    else:
        yield f"{value_text(unit, size.total)} {what}, and no scheduler does with less ({size.bound_words})"
    yield f"the profile's own numbers are {'enough' if size.stated_is_enough else 'not enough'}; {size.runs} runs"


def tuning_text(outcome: Outcome) -> str:
    """What a search found, for a terminal."""
    return "".join(f"{line.rstrip()}\n" for line in _tuning_lines(outcome))


def _tuning_lines(outcome: Outcome) -> Iterator[str]:
    if outcome.partial:
        yield f"PARTIAL: {printable(outcome.partial)}"
    yield f"{printable(outcome.profile)}: {printable(outcome.workload)}"
    yield f"goal: {GOALS[outcome.goal]}"
    yield (
        f"{counted(outcome.candidates, 'profile')} tried on {counted(outcome.search.seeds, 'workload')}, "
        f"{outcome.forbidden:,} more were not allowed"
    )
    for path, value in outcome.changes.items():
        yield f"  {path_text(path)}: {flow(value)}"
    if not outcome.changes:
        yield "none is better than the profile as it is"
        return
    if outcome.margin is not None:
        yield f"packing still dominates by at least {outcome.margin:,} points"
    if outcome.before.values:
        gain = outcome.gain
        yield (
            f"at {len(outcome.before.values)} held-out workloads: {outcome.before.mean:.4f} before, "
            f"{outcome.after.mean:.4f} after, gain {gain.mean:+.4f} ± {gain.deviation:.4f} a workload"
        )
        if not outcome.is_gain:
            yield "the gain is within the noise of the workloads: nothing to change"
    for note in outcome.notes:
        yield f"note: {printable(note)}"
