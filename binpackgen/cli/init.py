"""`binpackgen init`."""

from __future__ import annotations

import click


@click.command()
@click.argument("file", type=click.Path(dir_okay=False), default="cluster.profile.yaml")
@click.option("--preset", help="minimal, training or cpu-batch.  [default: minimal; asked on a terminal]")
@click.option("--name", help="Name of the cluster.  [default: the file's name]")
@click.option("--list", "list_presets", is_flag=True, help="List the presets and exit.")
def command(file: str, preset: str | None, name: str | None, list_presets: bool) -> int:
    """Write a first profile to FILE; `-` prints it. An existing file is never overwritten."""
    import os
    import re
    import sys

    from ..errors import BinpackgenError
    from ..profile.presets import PRESETS, preset_text

    if list_presets:
        for key, purpose in PRESETS.items():
            click.echo(f"{key:10} {purpose}")
        return 0
    if preset is None:
        asks = sys.stdin.isatty() and sys.stderr.isatty() and file != "-"
        preset = (
            click.prompt("preset", type=click.Choice(list(PRESETS)), default="minimal", err=True)
            if asks
            else "minimal"
        )
    if preset not in PRESETS:
        raise BinpackgenError(f'there is no preset "{preset}"; there are {", ".join(PRESETS)}')
    if name is None:
        stem = os.path.basename(file).split(".")[0].lower()
        name = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:63].strip("-") or "cluster"
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
        raise BinpackgenError(f'"{name}" is no DNS label: at most 63 of a-z, 0-9 and "-"')
    text = preset_text(preset, name)
    if file == "-":
        click.echo(text, nl=False)
        return 0
    try:
        with open(file, "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise BinpackgenError(f"{file} exists; choose another name or remove it first") from None
    click.echo(f"wrote {file}; next: binpackgen build {file}", err=True)
    return 0
