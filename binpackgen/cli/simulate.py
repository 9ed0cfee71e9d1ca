"""`binpackgen simulate`."""

from __future__ import annotations

import sys

import click

from .options import stdin_bytes, templates_option
from .simulating import answer_option, needs_packages, prepare_fast_path, read_source, workload_options

#: Report formats by file name suffix.
SUFFIXES = (".json", ".html", ".svg")


@click.command()
@click.argument("profile", type=click.Path(dir_okay=False, allow_dash=True))
@workload_options
@click.option(
    "--against",
    "against",
    multiple=True,
    metavar="STRATEGY",
    help="Compare with: default, article, naive, a KubeSchedulerConfiguration FILE (what runs today), or weights such "
    "as cpu=1,memory=1,gpu=5,fit=3 and curve=0:0/50:3/100:10; may be given several times.  [default: default]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Repetitions, each with other arrivals; figures come with their standard deviation.",
)
@click.option(
    "--wait/--loss",
    "waits",
    default=True,
    show_default=True,
    help="Whether jobs that find no room wait (in the profile's queues), or are turned away.",
)
@click.option(
    "--queues/--no-queues", default=True, show_default=True, help="Whether Kueue's queues admit jobs."
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="POOL=NUMBER",
    help="What a node of a pool costs an hour; may be given several times.",
)
@answer_option
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FILE",
    help="Write a report, by suffix .json, .html or .svg; may be given several times.",
)
@templates_option
def command(
    profile: str,
    load: float | None,
    submissions: int | None,
    workload: str | None,
    nodes: str | None,
    against: tuple[str, ...],
    seeds: int,
    waits: bool,
    queues: bool,
    prices: tuple[str, ...],
    form: str,
    reports: tuple[str, ...],
    templates: str | None,
) -> int:
    """Say what PROFILE would do with your jobs, beside other configurations of the scheduler.

    The scheduler is simulated exactly; nothing is built or started. Ctrl-C ends it with what is known so far, marked as
    partial.
    """
    from pathlib import Path

    from ..compilation import compile_profile

    check_reports(reports)
    compiled = compile_profile(
        profile, stdin=stdin_bytes(profile), templates=Path(templates) if templates else None
    )
    with needs_packages():
        from ..report.progress import Progress
        from ..report.study.as_json import comparison_json
        from ..report.study.text import comparison_text
        from ..study.compare import Options, compare
        from ..study.strategies import read_prices, read_strategies
        from ..study.subject import read_subject

        subject = read_subject(compiled)
        names = tuple(dict.fromkeys(("compiled", *(against or ("default",)))))
        strategies = read_strategies(names, subject)
        priced = read_prices(prices, subject)
        source, notes = read_source(subject, load, submissions, workload, nodes)
        options = Options("wait" if waits else "loss", seeds, subject.queues if queues else None, priced)
        with Progress(sys.stderr) as progress:
            prepare_fast_path(progress)
            comparison = compare(subject, strategies, source, options, notes=notes, progress=progress.step)
        answer = comparison_json(comparison) if form == "json" else comparison_text(comparison)
        click.echo(answer, nl=False)
        for file in reports:
            Path(file).write_text(_report(comparison, file), encoding="utf-8")
    if comparison.partial:
        click.echo(f"stopped: {comparison.partial}", err=True)
        return 130
    return 0


def check_reports(reports: tuple[str, ...]) -> None:
    """Says at once what is wrong with the reports that are asked for."""
    from pathlib import Path

    for file in reports:
        if not file.endswith(SUFFIXES):
            raise click.UsageError(f"--report {file}: the suffix must be one of {', '.join(SUFFIXES)}")
        if not Path(file).absolute().parent.is_dir():
            raise click.UsageError(f"--report {file}: there is no folder {Path(file).parent}")


def _report(comparison: object, file: str) -> str:
    from ..report.study.as_json import comparison_json
    from ..report.study.html import comparison_html
    from ..report.study.pictures import comparison_svg
    from ..study.compare import Comparison

    assert isinstance(comparison, Comparison)  # noqa: S101
    if file.endswith(".json"):
        return comparison_json(comparison)
    return comparison_html(comparison) if file.endswith(".html") else comparison_svg(comparison)
