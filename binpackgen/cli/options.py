"""Arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def profiles_argument(function: F) -> F:
    """One or more profile files; `-` is standard input."""
    return click.argument("profiles", nargs=-1, required=True, type=click.Path(exists=False, dir_okay=False))(
        function
    )


def templates_option(function: F) -> F:
    """A folder with the user's own job skeletons."""
    return click.option(
        "--templates",
        type=click.Path(exists=True, file_okay=False),
        envvar="BINPACKGEN_TEMPLATES",
        help="Folder with job templates of your own; same names replace the built-in ones.",
    )(function)


def stdin_bytes(profile: str) -> bytes | None:
    """Standard input where the profile is `-`."""
    return sys.stdin.buffer.read() if profile == "-" else None
