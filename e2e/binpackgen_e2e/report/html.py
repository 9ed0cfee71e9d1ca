"""A run as one HTML page without scripts, for a browser, a printer and a CI artifact."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from binpackgen.report.packing_map import svg
from binpackgen.report.pages import pages

from ..outcome import Outcome, Run
from .figures import (
    control_text,
    figure,
    outcome_verdict,
    rows,
    run_verdict,
    seconds,
    share,
    verdict,
    why_missing,
)


def html_text(run: Run) -> str:
    """The page: the verdict, the table of all bars, then each scenario with its maps and evidence."""
    templates = pages(Path(__file__).parent)
    templates.globals |= {
        "control_text": control_text,
        "figure": figure,
        "pictures": _pictures,
        "rows": rows,
        "seconds": seconds,
        "share": share,
        "verdict": verdict,
        "outcome_verdict": outcome_verdict,
        "why_missing": why_missing,
    }
    page = templates.get_template("page.html.j2")
    return page.render(run=run, passed=bool(run.outcomes) and run.passed, words=run_verdict(run))


def _pictures(outcome: Outcome) -> list[Markup]:
    """A picture per map, so that a narrow page can put them below each other."""
    return [Markup(svg([cluster], beside=outcome.maps)) for cluster in outcome.maps]  # noqa: S704 - svg escapes names
