"""Tests that ask something outside the repository: skipped where it cannot be had, failed where it must."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import pytest

from e2e.binaries import UnavailableError

T = TypeVar("T")


def ask(oracle: Callable[[], T]) -> T:
    """What `oracle` answers; skips the test where it is not available.

    With BINPACKGEN_REQUIRE_TIERS=1 the test fails instead, so that CI cannot lose a tier in silence.
    """
    try:
        return oracle()
    except UnavailableError as error:
        if os.environ.get("BINPACKGEN_REQUIRE_TIERS") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))
