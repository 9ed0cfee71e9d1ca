"""`binpackgen check`."""

from __future__ import annotations

import click

from .options import profiles_argument, stdin_bytes, templates_option


@click.command()
@profiles_argument
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="Form of the findings.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    default="error",
    show_default=True,
    help="Least severity that makes the exit code 1.",
)
@templates_option
def command(profiles: tuple[str, ...], form: str, fail_on: str, templates: str | None) -> int:
    """Say what is wrong with PROFILES, all at once; `-` reads standard input.

    Checks the text, the references, what Kubernetes accepts, quotas against pools, jobs against nodes, and by
    arithmetic whether packing dominates.
    """
    from pathlib import Path

    from ..compilation import compile_profile
    from ..errors import FindingsError
    from ..finding import Finding, Severity
    from ..report import render

    findings: list[Finding] = []
    for profile in profiles:
        try:
            compiled = compile_profile(
                profile, stdin=stdin_bytes(profile), templates=Path(templates) if templates else None
            )
            findings += compiled.findings
        except FindingsError as error:
            findings += error.findings
    click.echo(render(form, findings), nl=False)
    if fail_on == "never":
        return 0
    worst = Severity(fail_on).rank
    return 1 if any(f.severity.rank <= worst and not f.waived for f in findings) else 0
