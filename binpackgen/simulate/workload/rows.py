"""Rows of a CSV list, plain or gzip, with what is wrong about the file and its numbers as findings."""

from __future__ import annotations

import csv
import gc
import gzip
import io
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from ...profile.codes import BAD_ROW, MISSING_COLUMN, UNREADABLE_WORKLOAD
from .reading import Findings

_GZIP = b"\x1f\x8b"


@contextmanager
def without_collection() -> Iterator[None]:
    """While millions of objects are made that refer to nothing, looking for cycles among them takes half the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


#: What gzip raises for a file that is cut short or damaged.
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)


class Rows:
    """Lines and rows of one file; `-` is `stdin`. Rows of another length than the header are findings and left out.

    `columns` maps names to positions. `is_good` says whether the header has all of `required`; of `together` a file
    has all or none.
    """

    def __init__(
        self,
        file: str,
        stdin: bytes | None,
        findings: Findings,
        required: Sequence[str],
        together: Sequence[str] = (),
    ) -> None:
        self.file = file
        self.columns: dict[str, int] = {}
        self.is_good = False
        self._findings = findings
        self._required = required
        self._together = together
        self._stdin = stdin
        self._open_files = ExitStack()
        self._reader: Any = iter(())

    def __enter__(self) -> Self:
        try:
            self._reader = csv.reader(self._open(), strict=True)
            header = next(self._reader, None)
        except (OSError, UnicodeDecodeError, csv.Error, *_DAMAGE) as error:
            self._unreadable(error, 1)
            return self
        if header is None:
            self._findings.add(UNREADABLE_WORKLOAD, self.file, 1, "the file is empty")
            return self
        self._read_header([name.strip().removeprefix("\ufeff") for name in header])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open_files.close()

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        if not self.is_good:
            return
        reader, width = self._reader, len(self.columns)
        line = 1
        try:
            for row in reader:
                line = reader.line_num
                if len(row) == width:
                    yield line, row
                elif row:
                    message = f"{len(row)} fields where the header has {width}"
                    self._findings.add(BAD_ROW, self.file, line, message)
        except (OSError, UnicodeDecodeError, csv.Error, *_DAMAGE) as error:
            self._unreadable(error, line + 1)

    def complain(
        self,
        line: int,
        texts: Mapping[str, str],
        most: Mapping[str, float],
        may_lack: Collection[str] = (),
    ) -> bool:
        """Findings for the values that are no whole numbers from 0 to the most of their column; whether there are any."""
        found = False
        for column, text in texts.items():
            problem = None if not text and column in may_lack else _problem(text, most[column])
            if problem:
                self._findings.add(BAD_ROW, self.file, line, f"{column} {problem}")
                found = True
        return found

    def _open(self) -> IO[str]:
        raw: IO[bytes] = io.BytesIO(self._stdin or b"") if self.file == "-" else Path(self.file).open("rb")  # noqa: SIM115
        self._open_files.callback(raw.close)
        # a pipe through gzip has no name to go by
        is_packed = raw.read(2) == _GZIP
        raw.seek(0)
        stream: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
        return self._open_files.enter_context(io.TextIOWrapper(stream, encoding="utf-8", newline=""))

    def _unreadable(self, error: Exception, line: int) -> None:
        self.is_good = False
        if isinstance(error, _DAMAGE):
            message = "the file is cut short or damaged here"
        elif isinstance(error, UnicodeDecodeError):
            message = "the file is no UTF-8 text"
        elif isinstance(error, OSError):
            message = f"the file cannot be read: {error.strerror or error}"
        else:
            message = f"the text is no CSV: {error}"
        self._findings.add(UNREADABLE_WORKLOAD, self.file, line, message)

    def _read_header(self, header: list[str]) -> None:
        twice = sorted({name for name in header if header.count(name) > 1})
        lacking = [name for name in self._required if name not in header]
        if any(name in header for name in self._together):
            lacking += [name for name in self._together if name not in header]
        for name in twice:
            self._findings.add(MISSING_COLUMN, self.file, 1, f'column "{name}" stands in the header twice')
        if lacking:
            there = ", ".join(header) or "none"
            self._findings.add(
                MISSING_COLUMN, self.file, 1, f"no column {', '.join(lacking)}; there are: {there}"
            )
        self.is_good = not twice and not lacking
        self.columns = {name: position for position, name in enumerate(header)}


def _problem(text: str, most: float) -> str | None:
    if not text.strip():
        return "is empty"
    try:
        number = float(text)
    except ValueError:
        return f'is "{text[:40]}", which is no number'
    if number != number or number in (float("inf"), float("-inf")):
        return f'is "{text[:40]}", which is no number'
    if number < 0:
        return f"is {text}, which is negative"
    if number > most:
        return f"is {text}, more than {most:,.0f}"
    if not text.strip().isdecimal():
        return f"is {text}, which is not written as a whole number"
    return None
