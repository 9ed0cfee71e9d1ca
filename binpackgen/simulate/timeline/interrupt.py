"""Ctrl-C between two events instead of in the middle of one."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self


class Interrupt:
    """While it is entered, the first SIGINT sets `is_set`; a second one is a KeyboardInterrupt as usual.

    In threads, and where the program handles SIGINT in its own way, nothing is changed.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._is_mine = False

    def __enter__(self) -> Self:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._catch)
            self._is_mine = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        if self.is_set:
            raise KeyboardInterrupt
        self.is_set = True
