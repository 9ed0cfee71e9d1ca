"""What HTML pages are made with: templates in which every value is escaped and none hides characters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .printable import printable


def pages(folder: Path) -> Environment:
    """The templates of a folder; a name that is not given is an error."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shown(value: Any) -> Any:
    """Whatever enters a page, without characters that change how it is read; before it is escaped."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
