"""Reports of comparisons: whole documents, whatever names are in them."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from xml.etree.ElementTree import fromstring

from binpackgen.report.study.as_json import comparison_json
from binpackgen.report.study.chart import Line, lines_chart
from binpackgen.report.study.figures import best, duration, figure_text
from binpackgen.report.study.html import comparison_html
from binpackgen.report.study.pictures import comparison_svg
from binpackgen.report.study.text import comparison_text
from binpackgen.simulate.model import SchedulerProfile
from binpackgen.study.compare import Comparison, Course, Figure, MapNode, Row
from binpackgen.study.strategies import Strategy

EVIL = "</svg><script>alert(1)</script>\x1b[2J"


def comparison(partial: str | None = None) -> Comparison:
    strategies = tuple(
        Strategy(name, SchedulerProfile(37), frozenset(), "words") for name in ("compiled", EVIL)
    )
    rows = (
        Row("saturation", "GPU", "share", "more", (Figure((0.9, 0.92)), Figure((0.5, 0.51))), 1.0),
        Row("waiting", "all, mean", "s", "less", (Figure((math.nan, math.nan)), Figure((3.0, 4.0)))),
    )
    courses = (
        Course("compiled", "GPU", ((0.0, 0.0), (10.0, 0.9))),
        Course(EVIL, "GPU", ((0.0, 0.0), (10.0, 0.5))),
    )
    maps = {EVIL: (MapNode("n", "gpu", ("job", None), 0.5, 0.5),)}
    return Comparison(EVIL, EVIL, "wait", strategies, 1, 2, rows, courses, courses, maps, (EVIL,), partial)


def test_no_name_changes_the_structure_of_a_report() -> None:
    """Markup and terminal codes are shown, not obeyed."""
    page, picture, text = (
        report(comparison()) for report in (comparison_html, comparison_svg, comparison_text)
    )

    assert "<script" not in page
    assert "<script" not in picture
    assert "\x1b" not in page + picture + text
    assert fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314  our own


def test_a_partial_result_never_looks_whole() -> None:
    """Every form says so first."""
    found = comparison("interrupted; 1 of 3 seeds")

    assert "PARTIAL: interrupted; 1 of 3 seeds" == comparison_text(found).splitlines()[0]
    assert "<title>Partial: " in comparison_html(found)
    assert json.loads(comparison_json(found))["partial"] == "interrupted; 1 of 3 seeds"


def test_the_best_is_marked_where_it_differs() -> None:
    """Beyond the noise of the seeds; none where a figure is missing for all but one."""
    saturation, waiting = comparison().rows

    assert {0} == best(saturation)
    assert best(waiting) == frozenset()


def test_figures_read_as_people_say_them() -> None:
    """With the spread of several seeds."""
    assert "91.0 ± 1.4 %" == figure_text("share", Figure((0.9, 0.92)))
    assert ["45 s", "2.0 min", "3.4 h", "2.1 d"] == [duration(s) for s in (45, 120, 12_240, 181_440)]
    assert "-" == figure_text("s", Figure((math.nan,)))


def test_labels_of_lines_do_not_touch() -> None:
    """Lines that end at one height have their names below each other."""
    lines = [Line(f"line {i}", i, ((0.0, 0.0), (1.0, 0.5))) for i in range(4)]
    picture = fromstring(lines_chart("t", lines, x_name="x", y_name="y", x_ticks=()))  # noqa: S314  our own
    names = [e for e in picture.iter() if (e.text or "").startswith("line ") and e.get("class") == "name"]
    heights = sorted(float(name.get("y", "0")) for name in names)

    assert len(names) == 4
    assert all(low + 12 <= high for low, high in pairwise(heights))
