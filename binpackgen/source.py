"""Where a value stands in a text: spans, paths and the lines around them."""

from __future__ import annotations

from typing import NamedTuple

#: A route of keys and list positions from the document's root, such as ("spec", "nodePools", 0, "cpu").
Path = tuple[str | int, ...]


class Span(NamedTuple):
    """A stretch of text in a file. Lines and columns count from 1; the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @classmethod
    def start_of(cls, file: str) -> Span:
        """The first character of `file`, for facts about the file as a whole."""
        return cls(file, 1, 1, 1, 1)


def path_text(path: Path) -> str:
    """`path` as a person writes it: spec.nodePools[0].cpu; keys with dots are quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif "." in step or "/" in step or not step:
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text
