"""Tables in CSV: nodes and pods, as people and public traces list them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import FindingsError
from ..finding import Finding
from ..profile.codes import DUPLICATE_KEY, INVALID_VALUE, MISSING_KEY, SYNTAX, UNREADABLE
from ..profile.models import Gpu
from ..quantity import Quantity, QuantityError
from ..source import Span
from .gpus import MOST_DEVICES, type_name
from .model import ClusterNode, NodeList

_MIB = 1024**2

#: Columns of a node table whose cells are quantities.
COLUMNS = ("name", "cpu", "memory", "gpu", "gpu_type")
#: Columns of the node lists of the Alibaba GPU trace of 2023.
OPENB_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table by column, with the places of its cells."""

    cells: Mapping[str, str]
    spans: Mapping[str, Span]


class Table:
    """The rows of a CSV text; what is wrong with them collects in `findings`."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self._lines = text.splitlines()
        self._reader = csv.reader(self._lines, strict=True)
        self.header = [cell.strip().lower() for cell in next(self._reader, [])]

    def rows(self, required: Sequence[str], optional: Sequence[str] = ()) -> Iterator[Row]:
        """Every row that has as many cells as the header; blank lines are none.

        Raises FindingsError where a required column is missing or the text is no CSV.
        """
        if len(set(self.header)) < len(self.header):
            double = next(name for name in self.header if self.header.count(name) > 1)
            raise FindingsError(
                [DUPLICATE_KEY.at(self._span(1, 1), f'the header has column "{double}" twice')]
            )
        lacking = [name for name in required if name not in self.header]
        if lacking:
            raise FindingsError([self._no_column(lacking, required, optional)])
        while True:
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise FindingsError([SYNTAX.at(self._span(1, 1), f"is no CSV: {error}")]) from None
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(self.header):
                self.findings.append(
                    UNREADABLE.at(
                        self._span(1, 1),
                        f"this row has {len(cells)} cells and the header {len(self.header)}",
                    )
                )
                continue
            yield self._row(cells)

    def number(self, row: Row, column: str, most: int) -> int:
        """A whole number from 0 to `most`; 0 after a finding and of an empty cell."""
        cell = row.cells.get(column, "")
        if not cell:
            return 0
        if cell.isascii() and cell.isdigit() and len(cell) < 20 and int(cell) <= most:
            return int(cell)
        self.wrong(row, column, f'{column} is "{cell}", and a whole number from 0 to {most} is wanted')
        return 0

    def quantity(self, row: Row, column: str) -> Quantity:
        """A quantity that is not negative; 0 after a finding."""
        cell = row.cells[column]
        try:
            quantity = Quantity(cell)
        except QuantityError as error:
            self.wrong(row, column, f"{column}: {error}")
            return Quantity("0")
        if quantity.sign < 0:
            self.wrong(row, column, f"{column} is {cell}, less than nothing")
            return Quantity("0")
        return quantity

    def wrong(self, row: Row, column: str, message: str) -> None:
        """Note what is wrong with a cell."""
        self.findings.append(INVALID_VALUE.at(row.spans[column], message))

    def _row(self, cells: list[str]) -> Row:
        line = self._lines[self._reader.line_num - 1]
        plain = '"' not in line
        spans: dict[str, Span] = {}
        column = 1
        for name, cell in zip(self.header, cells, strict=True):
            spans[name] = self._span(column, len(cell)) if plain else self._span(1, len(line))
            column += len(cell) + 1
        return Row(
            {name: cell.strip() for name, cell in zip(self.header, cells, strict=True)},
            spans,
        )

    def _span(self, column: int, width: int) -> Span:
        line = max(self._reader.line_num, 1)
        return Span(self.file, line, column, line, column + max(width, 1))

    def _no_column(self, lacking: list[str], required: Sequence[str], optional: Sequence[str]) -> Finding:
        what = ", ".join(f'"{name}"' for name in lacking)
        columns = ",".join((*required, *optional))
        return MISSING_KEY.at(
            Span(self.file, 1, 1, 1, len(self._lines[0]) + 1 if self._lines else 2),
            f"the header has no column {what}",
            f"name the columns {columns}",
        )


def read_node_table(text: str, file: str) -> NodeList:
    """The nodes of a table; cpu and memory are what a node offers to pods.

    The header decides: `name,cpu,memory,gpu,gpu_type` holds quantities (the last two may be missing),
    `sn,cpu_milli,memory_mib,gpu,model` is the form of the Alibaba GPU trace of 2023.
    Raises FindingsError for every bad cell.
    """
    table = Table(text, file)
    openb = "sn" in table.header
    columns = OPENB_COLUMNS if openb else COLUMNS
    rows = table.rows(columns, ()) if openb else table.rows(columns[:3], columns[3:])
    nodes: list[ClusterNode] = []
    seen: dict[str, Span] = {}
    for row in rows:
        name_column, cpu_column, memory_column, gpu_column, type_column = columns
        name = row.cells[name_column]
        if not name:
            table.wrong(row, name_column, f"{name_column} is empty")
            continue
        if name in seen:
            table.findings.append(
                DUPLICATE_KEY.at(
                    row.spans[name_column],
                    f'node "{name}" is already in line {seen[name].line}',
                    related=((seen[name], "first here"),),
                )
            )
            continue
        seen[name] = row.spans[name_column]
        if openb:
            cpu = table.number(row, cpu_column, 10**8)
            memory = table.number(row, memory_column, 2**40) * _MIB
        else:
            cpu = table.quantity(row, cpu_column).milli_value()
            memory = table.quantity(row, memory_column).value()
        if not cpu or memory < 4 * _MIB:
            bad = memory_column if cpu else cpu_column
            if not any(finding.span.line == row.spans[bad].line for finding in table.findings):
                table.wrong(
                    row, bad, f'{bad} of node "{name}" is {row.cells[bad] or "empty"}; no pod fits there'
                )
            continue
        nodes.append(
            ClusterNode(
                name=name,
                cpu=cpu,
                memory=memory,
                allocatable_cpu=cpu,
                allocatable_memory=memory,
                gpu=_gpu(table, row, gpu_column, type_column),
            )
        )
    if table.findings:
        raise FindingsError(table.findings)
    unused = sorted(set(table.header) - set(columns))
    notes = (f"columns that say nothing about a pool: {', '.join(unused)}",) if unused else ()
    return NodeList(tuple(nodes), len(seen), notes)


def _gpu(table: Table, row: Row, gpu_column: str, type_column: str) -> Gpu | None:
    count = table.number(row, gpu_column, MOST_DEVICES)
    product = row.cells.get(type_column, "")
    if bool(count) == bool(product):
        return Gpu(type=type_name(product), count=count) if count else None
    if count:
        where = type_column if type_column in row.spans else gpu_column
        table.wrong(
            row, where, f"{gpu_column} is {count} and {type_column} is empty; jobs choose nodes by GPU type"
        )
    elif row.cells.get(gpu_column, "0") in ("", "0"):
        table.wrong(row, type_column, f'{type_column} is "{product}" on a node without GPUs')
    return None
