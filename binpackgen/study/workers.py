"""Where the tuner's trials run: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from ..errors import BinpackgenError
from .trial import Cases, remember
from .tuning import Opened, Workers


def processes(count: int) -> Opened:
    """So many processes, each of which gets the cases once."""

    @contextlib.contextmanager
    def opened(cases: Cases) -> Iterator[Workers]:
        # forked children would share locks of libraries that run threads
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(count, context, initializer=remember, initargs=(cases,))
        try:
            yield Workers(executor, None)
        finally:
            executor.shutdown(wait=True, cancel_futures=True)

    return opened


def dask(address: str) -> Opened:
    """A Dask cluster by the address of its scheduler, through its concurrent.futures interface."""

    @contextlib.contextmanager
    def opened(cases: Cases) -> Iterator[Workers]:
        from distributed import Client

        try:
            client = Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise BinpackgenError(f"--dask {address}: {error}") from error
        with client, client.get_executor(pure=False) as executor:
            yield Workers(executor, client.scatter(dict(cases), broadcast=True, hash=False))

    return opened
