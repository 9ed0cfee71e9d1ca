"""`binpackgen tune`."""

from __future__ import annotations

import sys

import click

from .options import templates_option
from .simulating import needs_packages, prepare_fast_path, read_source, workload_options

GOALS = ("allocation", "rejected", "wait", "nodes")


@click.command()
@click.argument("profile", type=click.Path(exists=True, dir_okay=False))
@workload_options
@click.option(
    "--goal",
    type=click.Choice(GOALS),
    default="allocation",
    show_default=True,
    help="What to make best: allocation at saturation, jobs turned away (loss), mean waiting time, nodes in use.",
)
@click.option(
    "--candidates",
    type=click.IntRange(2, 1_000_000),
    default=200,
    show_default=True,
    help="Profiles that are tried.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Workloads that each is tried on.",
)
@click.option(
    "--held-out",
    type=click.IntRange(2, 1000),
    default=8,
    show_default=True,
    help="Further workloads on which the best is judged beside the profile as it is.",
)
@click.option(
    "--search-seed", type=int, default=0, show_default=True, help="Of the order in which profiles are tried."
)
@click.option("--workers", type=click.IntRange(1, 1024), help="Processes.  [default: one for each core]")
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster instead of processes of this machine.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep answers here; the same search begun again goes on from them.",
)
@click.option("--write", is_flag=True, help="Change PROFILE; without it the patch goes to standard output.")
@click.option(
    "--evidence",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write what the patch rests on as JSON.  [default with --write: beside the profile]",
)
@templates_option
def command(
    profile: str,
    load: float | None,
    submissions: int | None,
    workload: str | None,
    nodes: str | None,
    goal: str,
    candidates: int,
    seeds: int,
    held_out: int,
    search_seed: int,
    workers: int | None,
    dask: str | None,
    journal: str | None,
    write: bool,
    evidence: str | None,
    templates: str | None,
) -> int:
    """Search the numbers of PROFILE's packing that serve a mix of jobs best, and write them as a patch.

    Every profile that is tried compiles and packs with a positive margin. Exit code 1 if no gain is greater than the
    noise of the workloads. Ctrl-C ends with the best so far, marked as partial and never written.
    """
    import os
    from pathlib import Path

    from ..compilation import compile_profile

    folder = Path(templates) if templates else None
    compiled = compile_profile(profile, templates=folder)
    with needs_packages():
        from ..report.progress import Progress
        from ..report.study.as_json import text as json_text
        from ..report.study.text import tuning_text
        from ..study import tuning
        from ..study.patch import replace_text, unified, with_values
        from ..study.source import Source, retargeted
        from ..study.subject import Subject, read_subject
        from ..study.workers import dask as dask_workers
        from ..study.workers import processes

        subject = read_subject(compiled)
        source, notes = read_source(subject, load, submissions, workload, nodes)

        def source_of(chosen: Subject) -> Source:
            return source if chosen is subject else retargeted(source, chosen)

        opened = dask_workers(dask) if dask else processes(workers or len(os.sched_getaffinity(0)))
        search = tuning.Search(goal, candidates, seeds, held_out, search_seed)
        with Progress(sys.stderr) as progress:
            prepare_fast_path(progress)
            progress.step("searching")
            outcome = tuning.tune(
                subject,
                source_of,
                search,
                opened,
                journal=Path(journal) if journal else None,
                templates=folder,
                notes=notes,
                progress=lambda done, total, words: progress.count(done, total, f"profiles tried, {words}"),
            )
        before = Path(profile).read_bytes().decode()
        after = with_values(before, outcome.changes, profile) if outcome.changes else before
        click.echo(tuning_text(outcome), nl=False, err=True)
        proof = evidence or (f"{profile}.tuning.json" if write and outcome.is_gain else None)
        if proof:
            replace_text(Path(proof), json_text(tuning.evidence(outcome)))
        if outcome.partial:
            return 130
        if not outcome.is_gain:
            return 1
        if write:
            replace_text(Path(profile), after)
        else:
            click.echo(unified(before, after, profile), nl=False)
    return 0
