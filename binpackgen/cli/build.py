"""`binpackgen build`."""

from __future__ import annotations

import sys

import click

from .options import profiles_argument, stdin_bytes, templates_option


@click.command()
@profiles_argument
@click.option(
    "-d",
    "--out-dir",
    type=click.Path(file_okay=False),
    default="out",
    show_default=True,
    envvar="BINPACKGEN_OUT_DIR",
    help="Folder that holds one tree per profile.",
)
@click.option(
    "--check", is_flag=True, help="Write nothing; exit 1 where a tree is not what the profile compiles to."
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["tree", "yaml"]),
    default="tree",
    show_default=True,
    help="A tree of files, or all objects to apply as one stream on standard output.",
)
@click.option("--force", is_flag=True, help="Overwrite generated files that were edited by hand.")
@templates_option
def command(
    profiles: tuple[str, ...], out_dir: str, check: bool, form: str, force: bool, templates: str | None
) -> int:
    """Compile PROFILES, each into OUT_DIR/<name>.

    A tree is written whole or not at all; files of others in it are never touched. `-` reads a profile from
    standard input.
    """
    from pathlib import Path

    from ..compilation import compile_profile
    from ..emit.folder import compare, write_tree
    from ..emit.tree import render
    from ..report.margin import margin_summary
    from ..report.text import write_findings

    compiled = [
        compile_profile(profile, stdin=stdin_bytes(profile), templates=Path(templates) if templates else None)
        for profile in profiles
    ]
    names = [one.plan.name for one in compiled]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f'two profiles have the name "{name}" and would share a tree')
    for one in compiled:
        if one.findings:
            write_findings(list(one.findings), sys.stderr)
    trees = [render(one.plan, one.outputs) for one in compiled]
    if form == "yaml":
        for tree in trees:
            sys.stdout.buffer.write(tree.stream())
        return 0
    stale = False
    for one, tree in zip(compiled, trees, strict=True):
        folder = Path(out_dir) / one.plan.name
        if check:
            differences = compare(tree, folder)
            for difference in differences:
                click.echo(f"{difference.state}: {folder / difference.path}")
            stale = stale or bool(differences)
            continue
        changed = write_tree(tree, folder, force=force)
        wrote = f"wrote {len(tree.files)} files" if changed else f"{len(tree.files)} files, nothing to change"
        click.echo(f"{folder}: {wrote}; {margin_summary(one.plan.scheduler)}", err=True)
    if stale:
        click.echo(f"run: binpackgen build {' '.join(profiles)} -d {out_dir}", err=True)
    return 1 if stale else 0
