"""How findings are shown: one file per format."""

from __future__ import annotations

from ..finding import Finding


def render(form: str, findings: list[Finding]) -> str:
    """`findings` as text, json, sarif or github."""
    if form == "json":
        from .json import json_text

        return json_text(findings)
    if form == "sarif":
        from .sarif import sarif_text

        return sarif_text(findings)
    if form == "github":
        from .github import github_text

        return github_text(findings)
    from .text import findings_text, summary

    body = findings_text(findings)
    return f"{body}\n{summary(findings)}\n" if body else f"{summary(findings)}\n"
