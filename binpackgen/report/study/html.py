"""A comparison as one HTML page without scripts, for a browser, a printer and a CI artifact."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from ...study.compare import Comparison
from ..packing_map import svg
from ..pages import pages
from ..printable import counted
from .figures import GROUPS, best, figure_text, groups, packing_maps, value_text
from .pictures import over_time_chart, panel_charts, saturation_chart


def comparison_html(comparison: Comparison) -> str:
    """The page: what was run, the pictures, the whole table, a map for each strategy."""
    templates = pages(Path(__file__).parent)
    maps = packing_maps(comparison)
    resources = dict.fromkeys(course.resource for course in comparison.over_time)
    curves = [saturation_chart(comparison), *(over_time_chart(comparison, name) for name in resources)]
    # the pictures escape what they show themselves
    return templates.get_template("comparison.html.j2").render(
        run=comparison,
        bars=[Markup(panel) for panel in panel_charts(comparison)],  # noqa: S704
        curves=[Markup(curve) for curve in curves if curve],  # noqa: S704
        maps=[Markup(svg([one], beside=maps)) for one in maps],  # noqa: S704
        groups=groups(comparison.rows),
        names=GROUPS,
        best=best,
        figure=figure_text,
        value=value_text,
        counted=counted,
    )
