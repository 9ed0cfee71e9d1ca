"""What `simulate`, `size` and `tune` have in common: options about the workload, and how a missing package is told."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import BinpackgenError

if TYPE_CHECKING:
    from ..report.progress import Progress
    from ..study.source import Source
    from ..study.subject import Subject

F = TypeVar("F", bound=Callable[..., Any])

LOAD, SUBMISSIONS = 0.9, 1000


def workload_options(function: F) -> F:
    """Where the workload comes from."""
    for option in reversed(
        (
            click.option(
                "--load",
                type=click.FloatRange(0, 10, min_open=True),
                help="Offered load, 1 for all that the nodes can do; draws the arrivals of --workload together or apart.  "
                f"[default: {LOAD}; as recorded]",
            ),
            click.option(
                "--submissions",
                type=click.IntRange(1, 1_000_000),
                help=f"Runs of jobs in the mix.  [default: {SUBMISSIONS}]",
            ),
            click.option(
                "--workload",
                type=click.Path(dir_okay=False, allow_dash=True),
                metavar="FILE",
                help="Instead of the mix: a list of pods (openb .csv, .csv.gz), or Kubernetes objects (.json, .yaml).",
            ),
            click.option(
                "--nodes",
                type=click.Path(dir_okay=False),
                metavar="FILE",
                help="With --workload: nodes in the same form, instead of the profile's pools.",
            ),
        )
    ):
        function = option(function)
    return function


def answer_option(function: F) -> F:
    """The form of the answer on standard output."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Form of the answer.",
    )(function)


@contextlib.contextmanager
def needs_packages() -> Iterator[None]:
    """Turns a missing package into a message with the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("binpackgen"):
            raise
        extra = {"distributed": "dask", "dask": "dask"}.get(error.name, "simulate")
        raise BinpackgenError(
            f"the package {error.name} is not installed; run: pip install 'binpackgen[{extra}]'"
        ) from error


def prepare_fast_path(progress: Progress) -> None:
    """Compile what numba has not compiled on this machine yet, and say so: it takes a while."""
    try:
        from ..simulate.compiled import prepare
    except ModuleNotFoundError as error:
        if error.name != "numba":
            raise
        return
    progress.step("machine code, compiled on first use")
    prepare()


def read_source(
    subject: Subject, load: float | None, submissions: int | None, workload: str | None, nodes: str | None
) -> tuple[Source, list[str]]:
    """The workload that the options name, and notes about it; findings that do not block go to standard error."""
    import sys

    from ..report.text import write_findings
    from ..study.source import Mix, at_load, read_trace

    if workload is not None and submissions is not None:
        raise click.UsageError("--submissions belongs to the mix of the profile's jobs, not to --workload")
    if workload is None and nodes is not None:
        raise click.UsageError(
            "--nodes needs --workload: the mix of the profile's jobs runs on its own pools"
        )
    if workload is None:
        mix = Mix(subject, load or LOAD, submissions or SUBMISSIONS, subject.cluster())
        return mix, mix.notes()
    stdin = sys.stdin.buffer.read() if workload == "-" else None
    trace, notes, findings = read_trace(subject, workload, nodes, stdin)
    if findings:
        write_findings(list(findings), sys.stderr)
    return (at_load(trace, load, subject.resources) if load is not None else trace), notes
