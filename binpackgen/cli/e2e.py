"""`binpackgen e2e`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from .options import stdin_bytes, templates_option

if TYPE_CHECKING:
    from binpackgen_e2e.outcome import Run

#: Report formats by file name suffix.
SUFFIXES = (".json", ".xml", ".html", ".svg")


@click.command()
@click.argument("profile", type=click.Path(dir_okay=False))
@click.option(
    "--backend",
    type=click.Choice(["processes", "kind"]),
    default="processes",
    show_default=True,
    help="A control plane of plain processes with simulated nodes, or a kind cluster that runs containers.",
)
@click.option(
    "--kubernetes",
    metavar="MINOR",
    help="Kubernetes of the control plane, 1.34 to 1.37. Default: the profile's.",
)
@click.option(
    "--scenario",
    "names",
    multiple=True,
    metavar="NAME",
    help="Run only this one; may be given several times. `list` names them all.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the order in which jobs arrive.")
@click.option("--node-image", metavar="IMAGE", help="kind: node image instead of kind's published one.")
@click.option(
    "--kind-patch",
    type=click.Path(exists=True, dir_okay=False),
    help="kind: YAML file with cluster configuration to merge into the compiled one.",
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FILE",
    help="Write a report, by suffix .json, .xml (JUnit), .html or .svg; may be given several times.",
)
@click.option(
    "--keep-logs", is_flag=True, help="Keep the logs of all processes; after a failure they are kept."
)
@templates_option
def command(
    profile: str,
    backend: str,
    kubernetes: str | None,
    names: tuple[str, ...],
    seed: int,
    node_image: str | None,
    kind_patch: str | None,
    reports: tuple[str, ...],
    keep_logs: bool,
    templates: str | None,
) -> int:
    """Compile PROFILE, run it on a real control plane, and say whether the cluster packs.

    Real etcd, API server, controller manager, scheduler, Kueue and JobSet are built from pinned Go modules on
    first use (minutes; then cached) and run on loopback; `--backend kind` needs Docker and kind. Exit code 0
    only when every scenario reaches its bars and every negative control misses one.
    """
    from pathlib import Path

    from ..compilation import compile_profile
    from ..errors import BinpackgenError

    for file in reports:
        if not file.endswith(SUFFIXES):
            raise click.UsageError(f"--report {file}: the suffix must be one of {', '.join(SUFFIXES)}")
        if not Path(file).absolute().parent.is_dir():
            raise click.UsageError(f"--report {file}: there is no folder {Path(file).parent}")
    if backend != "kind" and (node_image or kind_patch):
        raise click.UsageError("--node-image and --kind-patch need --backend kind")
    try:
        from binpackgen_e2e.run import chosen_scenarios, nearest_version, run
    except ModuleNotFoundError as error:
        raise BinpackgenError(
            f"the package {error.name} is not installed; run: pip install 'binpackgen[e2e]'"
        ) from error
    from binpackgen_e2e.options import Options
    from binpackgen_e2e.report.terminal import terminal_text, wants_color

    from ..report.progress import Progress

    compiled = compile_profile(
        profile, stdin=stdin_bytes(profile), templates=Path(templates) if templates else None
    )
    options = Options(
        backend,
        kubernetes or nearest_version(compiled.plan),
        seed,
        keep_logs,
        node_image,
        Path(kind_patch) if kind_patch else None,
    )
    scenarios = chosen_scenarios(names, compiled.plan, backend)
    with Progress(sys.stderr) as progress:
        finished = run(compiled, options, scenarios, progress)
    click.echo(terminal_text(finished, color=wants_color(sys.stdout)), nl=False)
    for file in reports:
        Path(file).write_text(_report(finished, file), encoding="utf-8")
    return 0 if finished.passed else 1


def _report(run: Run, file: str) -> str:
    from binpackgen_e2e.report.as_json import json_text
    from binpackgen_e2e.report.html import html_text
    from binpackgen_e2e.report.junit import junit_text

    from ..report.packing_map import svg

    if file.endswith(".json"):
        return json_text(run)
    if file.endswith(".xml"):
        return junit_text(run)
    if file.endswith(".html"):
        return html_text(run)
    return svg([one for outcome in run.outcomes for one in outcome.maps])
