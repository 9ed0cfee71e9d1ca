"""`binpackgen completion`."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    For bash: source <(binpackgen completion bash)
    """
    from click.shell_completion import get_completion_class

    root = ctx.find_root()
    completion = get_completion_class(shell)
    assert completion is not None  # noqa: S101  (the choice above names only shells that click knows)
    click.echo(completion(root.command, {}, "binpackgen", "_BINPACKGEN_COMPLETE").source())
