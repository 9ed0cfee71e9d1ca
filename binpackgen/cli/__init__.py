"""The command line: one file per command; nothing heavy is imported before a command runs."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from .. import __version__
from ..errors import BinpackgenError, FindingsError

#: Command name to (module, one-line help), in the order in which a newcomer needs them.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Write a first profile from a preset."),
    "import": ("import_", "Make a profile from a cluster's nodes."),
    "check": ("check", "Say what is wrong with profiles."),
    "build": ("build", "Compile profiles into trees of configuration."),
    "explain": ("explain", "Say where an output field, a margin or a rule comes from."),
    "simulate": ("simulate", "Say what a profile would do with jobs, beside other configurations."),
    "size": ("size", "Say how many nodes of each pool are enough."),
    "tune": ("tune", "Search the weights that serve a mix of jobs best."),
    "e2e": ("e2e", "Run a profile on a real control plane: does it pack?"),
    "schema": ("schema", "Print the JSON Schema of profiles, for editors."),
    "completion": ("completion", "Print the shell completion script."),
}

#: Exit codes, as kubectl diff and ruff use them.
YES, NO, COULD_NOT = 0, 1, 2


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f".{COMMANDS[name][0]}", __name__)
        loaded: click.Command = module.command
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, 1) if args else []
            if not close:
                raise
            raise click.UsageError(f'{error.message} Did you mean "{close[0]}"?', ctx) from None

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, and turn what went wrong into an exit code and a message, never a traceback."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except click.exceptions.Exit as error:
            code = error.exit_code
        except click.ClickException as error:
            error.show()
            code = COULD_NOT
        except (click.Abort, KeyboardInterrupt):
            click.echo("stopped", err=True)
            code = 130
        except FindingsError as error:
            from ..report.text import write_findings

            write_findings(error.findings, sys.stderr)
            code = NO
        except BinpackgenError as error:
            click.echo(f"error: {error}", err=True)
            code = COULD_NOT
        except BrokenPipeError:
            # the reader of a pipe has gone; what it wanted it has
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = YES
        except OSError as error:
            click.echo(f"error: {error.filename or ''}: {error.strerror or error}", err=True)
            code = COULD_NOT
        sys.exit(code if isinstance(code, int) else YES)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def command() -> None:
    """Compile one cluster profile into a Kubernetes configuration that provably packs.

    Exit codes: 0 yes, 1 no (findings, differences), 2 could not do it.
    """
