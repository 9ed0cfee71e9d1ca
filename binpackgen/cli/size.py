"""`binpackgen size`."""

from __future__ import annotations

import sys

import click

from .options import stdin_bytes, templates_option
from .simulating import answer_option, needs_packages, prepare_fast_path


@click.command()
@click.argument("profile", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--backlog",
    "backlogs",
    multiple=True,
    metavar="[JOB=]N",
    help="Every job, or one job, N times at once, and none of them waits; may be given several times.",
)
@click.option(
    "--load",
    type=click.FloatRange(0, 10, min_open=True),
    help="Jobs that come and go instead: their offered load in terms of the profile's own nodes.",
)
@click.option(
    "--wait",
    "level",
    metavar="LIMIT",
    help="With --load: how long jobs may wait, such as p95<=10m, mean<=90s, max<=1h.",
)
@click.option(
    "--submissions", type=click.IntRange(1, 1_000_000), help="With --load: runs of jobs.  [default: 1000]"
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=2,
    show_default=True,
    help="With --load: the limit holds at each.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="POOL=NUMBER",
    help="What a node of a pool costs an hour: least money instead of fewest nodes; may be given several times.",
)
@answer_option
@templates_option
def command(
    profile: str,
    backlogs: tuple[str, ...],
    load: float | None,
    level: str | None,
    submissions: int | None,
    seeds: int,
    prices: tuple[str, ...],
    form: str,
    templates: str | None,
) -> int:
    """Say how many nodes of each of PROFILE's pools are enough, and how few no scheduler could do with.

    Queues are left out, since their quotas follow from the nodes.
    """
    from pathlib import Path

    from ..compilation import compile_profile

    if bool(backlogs) == (load is not None):
        raise click.UsageError("say what is to be served: either --backlog, or --load with --wait")
    if (load is None) != (level is None):
        raise click.UsageError("--load and --wait belong together")
    compiled = compile_profile(
        profile, stdin=stdin_bytes(profile), templates=Path(templates) if templates else None
    )
    with needs_packages():
        from ..report.progress import Progress
        from ..report.study.as_json import size_json
        from ..report.study.text import size_text
        from ..study.sizing import Demand, Level, backlog, fewest, service
        from ..study.source import Mix
        from ..study.strategies import read_prices
        from ..study.subject import read_subject

        subject = read_subject(compiled)
        priced = read_prices(prices, subject)
        demand: Demand
        if load is None:
            demand = backlog(subject, _times(backlogs, [job.name for job in subject.plan.jobs]))
        else:
            source = Mix(subject, load, submissions or 1000, subject.cluster())
            demand = service(source, Level.read(level or ""), seeds)
        with Progress(sys.stderr) as progress:
            prepare_fast_path(progress)
            size = fewest(subject, demand, prices=priced, progress=progress.step)
        click.echo(size_json(size) if form == "json" else size_text(size), nl=False)
    if size.partial:
        click.echo(f"stopped: {size.partial}", err=True)
        return 130
    return 0


def _times(texts: tuple[str, ...], jobs: list[str]) -> dict[str, int]:
    times: dict[str, int] = {}
    for text in texts:
        job, has_job, number = text.rpartition("=")
        if has_job and job not in jobs:
            raise click.UsageError(
                f"--backlog {text}: there is no job {job}; there are {', '.join(jobs) or 'none'}"
            )
        if not number.isascii() or not number.isdigit() or int(number) > 100_000:
            raise click.UsageError(f"--backlog {text}: {number!r} is no number of runs from 0 to 100000")
        times.update(dict.fromkeys([job] if has_job else jobs, int(number)))
    return times
