"""`binpackgen schema`."""

from __future__ import annotations

import click


@click.command()
def command() -> None:
    """Print the JSON Schema (draft 7) of profiles.

    Editors check and complete a profile whose first line is
    `# yaml-language-server: $schema=PATH-OR-URL`.
    """
    from ..profile.schema import schema_text

    click.echo(schema_text(), nl=False)
