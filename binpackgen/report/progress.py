"""Live progress on the error stream: one line that changes on a terminal, a line per step elsewhere."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TextIO

from .printable import fitted, printable

_TOO_OFTEN = 0.1  # seconds between two changes of the line on a terminal
_PLAIN_EVERY = 15.0  # seconds between two lines of the same step in a log


class Progress:
    """What a run is doing at the moment.

    May be told from several threads. As a context manager it leaves a clean line, also after an exception.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._live = stream.isatty() and environ.get("TERM") != "dumb"
        self._clock = clock
        self._start = clock()
        self._lock = threading.Lock()
        self._step = ""
        self._shown_at = float("-inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def step(self, words: str) -> None:
        """A new step begins."""
        with self._lock:
            self._step = printable(words)
            self._show(self._step)

    def count(self, done: int, total: int, noun: str) -> None:
        """How far the step is: `count(340, 1000, "jobs bound")`. Calls that come too fast aren't shown."""
        with self._lock:
            every = _TOO_OFTEN if self._live else _PLAIN_EVERY
            if done >= total or self._clock() - self._shown_at >= every:
                self._show(f"{self._step}: {done:,} of {total:,} {printable(noun)}")

    def line(self, words: str) -> None:
        """A line that stays, such as a scenario's verdict."""
        with self._lock:
            self._clear()
            self._stream.write(f"{printable(words)}\n")
            self._stream.flush()

    def close(self) -> None:
        """Takes the changing line away."""
        with self._lock:
            self._clear()
            self._stream.flush()

    def _show(self, words: str) -> None:
        now = self._clock()
        self._shown_at = now
        text = f"[{now - self._start:6.1f} s] {words}"
        if self._live:
            self._clear()
            self._stream.write(fitted(text, self._width() - 1))
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def _clear(self) -> None:
        if self._live:
            self._stream.write("\r\x1b[2K")

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80
