"""Tests that ask something outside the repository: skipped where it cannot be had, failed where it must.

BINPACKGEN_REQUIRE_TIERS says what must be there: `tools` (real binaries, schemas, charts), `all` (also the
public traces beside the checkout), or nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from binpackgen_e2e.binaries import UnavailableError

T = TypeVar("T")

#: Public traces, read in place and never part of the repository.
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def ask(oracle: Callable[[], T]) -> T:
    """What `oracle` answers; where it is not available the test is skipped, or fails if tools are required."""
    try:
        return oracle()
    except UnavailableError as error:
        _lacking(str(error), os.environ.get("BINPACKGEN_REQUIRE_TIERS", "") != "")
        raise


def trace(name: str, public: str) -> Path:
    """A file or folder of the traces; `public` names where everybody finds it."""
    path = DATA / name
    if not path.exists():
        _lacking(
            f"{path} is not there; it is public as {public}",
            os.environ.get("BINPACKGEN_REQUIRE_TIERS") == "all",
        )
    return path


def _lacking(what: str, required: bool) -> None:
    if required:
        pytest.fail(what)
    pytest.skip(what)
