"""The page of a rule or input code, from the docstring that is its only source."""

from __future__ import annotations

import inspect

from ..profile.codes import InputCode
from ..rules.rule import Rule


def text(rule: Rule | InputCode) -> str:
    """Code, name and documentation."""
    if isinstance(rule, InputCode):
        return f"{rule.code} {rule.name} (error)\n\n{rule.doc}\n"
    doc = inspect.cleandoc(rule.__doc__ or "")
    return f"{rule.code} {rule.name()} ({rule.severity.value})\n\n{doc}\n"
