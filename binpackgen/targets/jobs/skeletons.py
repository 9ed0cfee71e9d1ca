"""Where job templates are: the built-in folder, and one of the user's that goes before it."""

from __future__ import annotations

from pathlib import Path as FilePath

from ...errors import BinpackgenError

SUFFIX = ".yaml.j2"

_PACKAGE = FilePath(__file__).resolve().parents[2]


def template_folders(own: FilePath | None = None) -> tuple[FilePath, ...]:
    """The folders to look in, first match wins. Raises BinpackgenError where `own` is no folder."""
    if own is not None and not own.is_dir():
        raise BinpackgenError(f"{own} is no folder of job templates")
    # the wheel holds the templates inside the package, a checkout beside it
    built_in = _PACKAGE / "templates"
    if not built_in.is_dir():
        built_in = _PACKAGE.parent / "templates"
    return (built_in,) if own is None else (own, built_in)


def template_names(own: FilePath | None = None) -> frozenset[str]:
    """What a job may name as its template. Files that start with `_` are parts, not templates."""
    return frozenset(
        file.name.removesuffix(SUFFIX)
        for folder in template_folders(own)
        for file in folder.glob(f"*{SUFFIX}")
        if not file.name.startswith("_")
    )
