"""`binpackgen explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import stdin_bytes, templates_option

if TYPE_CHECKING:
    from ..compilation import Compilation
    from ..source import Path


@click.command()
@click.argument("subject")
@click.argument("what", required=False)
@templates_option
def command(subject: str, what: str | None, templates: str | None) -> int:
    """Say where something comes from, and why.

    \b
    binpackgen explain BP201                      a rule
    binpackgen explain PROFILE                    the weights and the margin
    binpackgen explain PROFILE:12                 what follows from line 12 of the profile
    binpackgen explain PROFILE spec.caps          what follows from a value of the profile
    binpackgen explain PROFILE FILE               every reason in a file of the tree
    binpackgen explain PROFILE FILE#NAME:PATH     one field of the object NAME in it
    """
    import os
    import re
    from pathlib import Path as FilePath

    from ..compilation import compile_profile
    from ..errors import BinpackgenError
    from ..report import margin, origin, rule_page
    from ..rules.catalogue import find_rule

    rule = find_rule(subject)
    if rule is not None and what is None:
        click.echo(rule_page.text(rule), nl=False)
        return 0
    if re.fullmatch(r"BP\d{3}", subject) and not os.path.exists(subject):
        raise BinpackgenError(f"there is no rule {subject}")
    line = None
    match = re.fullmatch(r"(.+):(\d+)", subject)
    if match and not os.path.exists(subject):
        subject, line = match[1], int(match[2])
    compiled = compile_profile(
        subject, stdin=stdin_bytes(subject), templates=FilePath(templates) if templates else None
    )
    plan = compiled.plan
    if line is not None:
        shown = "<stdin>" if subject == "-" else subject
        paths = origin.paths_at(plan.loaded.root, shown, line)
        if not paths:
            raise BinpackgenError(f"line {line} of {shown} sets nothing")
        return _following(compiled, paths)
    if what is None or what == "margin":
        click.echo(margin.margin_text(plan), nl=False)
        return 0
    if what.startswith(("spec", "metadata")):
        path = origin.parse_path(what)
        if path is None or plan.loaded.root.nearest(path)[1] != path:
            raise BinpackgenError(f"the profile does not state {what}; it has its default")
        return _following(compiled, [path])
    return _fields(compiled, what)


def _following(compiled: Compilation, paths: list[Path]) -> int:
    from ..report import origin
    from ..source import path_text

    count = 0
    last = None
    for output, path, because in origin.following(compiled.outputs, paths):
        title = f"{output.path}  {origin.document_title(output)}"
        if title != last:
            click.echo(title)
            last = title
        click.echo(f"  {path_text(path) or '(whole object)'}: {because.reason}")
        count += 1
    if not count:
        click.echo(f"no output field follows from {', '.join(path_text(path) for path in paths)} alone")
    return 0


def _fields(compiled: Compilation, what: str) -> int:
    import re

    from ..document import Document
    from ..errors import BinpackgenError
    from ..report import origin

    match = re.fullmatch(r"([^#:]+)(?:#([^:]+))?(?::(.+))?", what)
    if match is None:
        raise BinpackgenError(f"{what} is no FILE, FILE#NAME or FILE#NAME:PATH of the tree")
    file, name, field = match.groups()
    plan = compiled.plan
    prefix = f"out/{plan.name}/"
    file = file.removeprefix("./").removeprefix(prefix)
    found = [output for output in compiled.outputs if output.path == file]
    if not found:
        import difflib

        known = sorted({output.path for output in compiled.outputs})
        close = difflib.get_close_matches(file, known, 1, 0.4)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise BinpackgenError(f"the tree has no file {file}{hint}")
    shown = False
    for output in found:
        if not isinstance(output, Document):
            click.echo(f"{output.path}\n" + "\n".join(origin.because_lines(plan, output.why)))
            shown = True
            continue
        if name and origin.document_title(output).rpartition("/")[2] != name:
            continue
        if field is None:
            click.echo(origin.document_text(plan, output), nl=False)
            shown = True
            continue
        path = origin.parse_path(field)
        if path is not None and origin.lookup(output.body, path)[1] == path:
            click.echo(f"{output.path}  {origin.document_title(output)}")
            click.echo(origin.field_text(plan, output, path), nl=False)
            shown = True
    if not shown:
        raise BinpackgenError(f"{what} names nothing in the tree")
    return 0
