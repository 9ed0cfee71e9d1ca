"""The reports of a run: every form says the same, and says it when something failed."""

from __future__ import annotations

import io
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from e2e_outcomes import broken_off, mixed, packing, preemption, run, toothless

import binpackgen_e2e.report
from binpackgen.report.packing_map.marks import COLORS
from binpackgen.report.progress import Progress
from binpackgen_e2e.outcome import Measure, Outcome, Run
from binpackgen_e2e.report.as_json import json_text
from binpackgen_e2e.report.figures import control_text, figure, rows, run_verdict, share, verdict, why_missing
from binpackgen_e2e.report.html import html_text
from binpackgen_e2e.report.junit import CONTROL_CASE, END_CASE, junit_text
from binpackgen_e2e.report.terminal import outcome_text, terminal_text, wants_color
from tests.unit.report.packing_maps import HOSTILE, node, three
from tests.unit.report.wcag import contrast

FORMS = (terminal_text, json_text, junit_text, html_text)


def hostile() -> Run:
    """Every text that can come from a profile, a cluster or a program is hostile."""
    measure = Measure(HOSTILE, 1.0, HOSTILE, HOSTILE, False)
    outcome = Outcome(
        HOSTILE,
        HOSTILE,
        1.0,
        (measure, Measure(HOSTILE + "2", None)),
        HOSTILE,
        (measure,),
        (HOSTILE,),
        tuple(three(1, 1))[:1],
        HOSTILE,
    )
    return Run(HOSTILE, HOSTILE, HOSTILE, (outcome,), 1.0, HOSTILE)


class TestFigures:
    """Numbers with their units."""

    @pytest.mark.parametrize(
        ("measure", "expected"),
        [
            (Measure("hit rate", 0.97305, "share"), "97.3%"),
            (Measure("hit rate", 1, "share"), "100.0%"),
            (Measure("cpu", 61.28, "%"), "61.3%"),
            (Measure("slowest", 1234.56, "s"), "1,234.6 s"),
            (Measure("slowest", 3, "s"), "3.0 s"),
            (Measure("placements", 1204), "1,204"),
            (Measure("ratio", 1.0476), "1.05"),
            (Measure("left", 1.5, "cores"), "1.50 cores"),
            (Measure("evicted", 0, "pods"), "0 pods"),
            (Measure("hit rate, A100", None, "share"), "no choice"),
            (Measure("fragmentation", None, "share"), "–"),
            (Measure("ratio", float("nan")), "–"),
            (Measure("ratio", float("inf")), "–"),
            (None, ""),
        ],
    )
    def test_a_value(self, measure: Measure | None, expected: str) -> None:
        """Percentages and seconds have one decimal, whole numbers none."""
        assert expected == figure(measure)

    @pytest.mark.parametrize(
        ("measure", "expected"),
        [
            (Measure("hit rate", None), "no placement had a choice"),
            (Measure("slowest", None, "s"), "there was nothing to measure"),
            (Measure("hit rate", 0.0), ""),
            (None, ""),
        ],
    )
    def test_a_missing_value_has_a_reason(self, measure: Measure | None, expected: str) -> None:
        """And one that is there has none."""
        assert expected == why_missing(measure)

    def test_only_shares_have_meters(self) -> None:
        """Values beyond the scale end at it."""
        measures = [
            Measure("a", 0.5, "share"),
            Measure("a", 50, "%"),
            Measure("a", 1.5, "share"),
            Measure("a", 3),
            Measure("a", None, "share"),
        ]

        assert [0.5, 0.5, 1.0, None, None] == [share(measure) for measure in measures]

    def test_a_control_stands_beside_its_measure(self) -> None:
        """By name; what only the control measured follows."""
        outcome = packing(
            control=(Measure("extra", 1), Measure("fragmentation", 0.5, "share", "below 30%", False))
        )

        assert [
            ("hit rate, A100", ""),
            ("hit rate, L40S", ""),
            ("fragmentation", "50.0%"),
            ("nodes used against the lower bound", ""),
            ("placements", ""),
            ("placements without a choice", ""),
            ("extra", "1"),
        ] == [(row.name, figure(row.control)) for row in rows(outcome)]

    def test_verdicts(self) -> None:
        """A figure that is only told has none."""
        bar = Measure("a", 1, "", "at most 1", True)

        assert ["holds", "misses", "not measured", "", ""] == [
            verdict(measure)
            for measure in (bar, bar._replace(holds=False), bar._replace(holds=None), Measure("a", 1), None)
        ]

    def test_what_the_control_shows(self) -> None:
        """Missing a bar is its purpose; holding all is told as the failure that it is."""
        assert [
            "negative control (default scheduler profile) misses 3 of 4 bars, as it must miss one",
            "negative control (without the cap) misses no bar, so nothing shows that the bars can fail",
            "negative control (without quotas) did not run",
            "negative control (default scheduler profile) has no figures, so nothing shows that the bars can fail",
            "",
        ] == [
            control_text(outcome)
            for outcome in (
                packing(),
                toothless(),
                broken_off(),
                packing(control=()),
                packing(control_name=""),
            )
        ]

    def test_the_run_in_words(self) -> None:
        """A run of nothing has shown nothing."""
        assert ["passed: 1 scenario", "failed: 3 of 4 scenarios", "no scenario ran"] == [
            run_verdict(each) for each in (run(packing()), mixed(), run())
        ]


class TestTerminal:
    """The text form."""

    def test_a_run(self) -> None:
        """The whole text of a run in which everything can be seen."""
        plain = mixed()._replace(outcomes=(packing(maps=()), preemption(), toothless(), broken_off()))

        assert terminal_text(plain) == (
            "PASSED packing: Jobs go to the fullest node that can hold them (41.3 s)\n"
            "  measure                                 value  bar             control  verdict\n"
            "  hit rate, A100                          97.3%  above 85%         11.8%  holds\n"
            "  hit rate, L40S                      no choice  above 85%     no choice  not measured: no placement had a choice\n"
            "  fragmentation                           12.0%  below 30%         57.2%  holds\n"
            "  nodes used against the lower bound       1.05  at most 1.15       1.62  holds\n"
            "  placements                              1,204                    1,204\n"
            "  placements without a choice               312\n"
            "  negative control (default scheduler profile) misses 3 of 4 bars, as it must miss one\n"
            "  - pod train-wide-7 had 6 feasible nodes, score 92 on a100-004, and was bound to a100-004\n"
            "  - effective weights read from the running scheduler: nvidia.com/gpu 19, cpu 1, memory 1\n"
            "\n"
            "FAILED preemption: High tiers get their nodes in time (63.0 s)\n"
            "  measure                 value  bar           control  verdict\n"
            "  bound within 60 s       92.0%  above 95%        0.0%  misses\n"
            "  slowest                74.1 s  at most 60 s           misses\n"
            "  critical pods evicted       0  none                0  holds\n"
            "  negative control (preemption policy Never) misses 1 of 2 bars, as it must miss one\n"
            "  - victim notebook-3 got SIGTERM 30.0 s before it was gone\n"
            "\n"
            "FAILED caps: No node is filled above its cap (12.0 s)\n"
            "  measure              value  bar                 control  verdict\n"
            "  least cpu left  1.50 cores  at least 1 core  1.20 cores  holds\n"
            "  negative control (without the cap) misses no bar, so nothing shows that the bars can fail\n"
            "\n"
            "ERROR queueing: 1,000 jobs from several teams (120.0 s)\n"
            "  did not come to its end: Kueue's webhook did not answer within 120.0 s\n"
            "  negative control (without quotas) did not run\n"
            "\n"
            "failed: 3 of 4 scenarios (profiles/article.yaml on processes, Kubernetes 1.37.1, 252.3 s)\n"
            "logs: /tmp/binpackgen-e2e-1/logs\n"
        )

    def test_maps_come_last(self) -> None:
        """Indented, one after the other."""
        text = outcome_text(packing(measures=(), control=(), control_name="", evidence=()))

        assert text.startswith(
            "PASSED packing: Jobs go to the fullest node that can hold them (41.3 s)\n"
            "  before: 0 of 26 nodes in use\n"
            "    gpu-a100  ░░░░░░░░ x 13\n"
        )
        assert 3 == text.count("nodes in use")

    def test_without_a_control_there_is_no_column(self) -> None:
        """And figures that are only told need no verdict."""
        outcome = Outcome("weights", "Scoring is in force", 1.0, (Measure("weight of cpu", 1),))

        assert outcome_text(outcome) == (
            "PASSED weights: Scoring is in force (1.0 s)\n"
            "  measure        value  bar  verdict\n"
            "  weight of cpu      1\n"
        )

    def test_much_evidence_is_cut(self) -> None:
        """The log stays readable; the other forms have all of it."""
        text = outcome_text(packing(evidence=tuple(f"pod {i}" for i in range(25)), maps=()))

        assert "  - pod 9\n  - and 15 lines more in the JSON and HTML reports\n" in text
        assert "pod 10" not in text

    def test_color_changes_nothing_else(self) -> None:
        """Without the escapes it is the plain text."""
        colored = terminal_text(mixed(), color=True)

        assert "\x1b[32mPASSED\x1b[0m" in colored
        assert "\x1b[31mmisses\x1b[0m" in colored
        assert terminal_text(mixed()) == re.sub(r"\x1b\[\d+m", "", colored)

    @pytest.mark.parametrize(
        ("terminal", "environ", "expected"),
        [
            (True, {}, True),
            (True, {"NO_COLOR": ""}, True),
            (True, {"NO_COLOR": "1"}, False),
            (True, {"TERM": "dumb"}, False),
            (False, {}, False),
        ],
    )
    def test_when_there_is_color(self, terminal: bool, environ: dict[str, str], expected: bool) -> None:
        """On a terminal, unless somebody asked for none; an empty NO_COLOR asks for nothing."""
        assert expected == wants_color(Terminal(terminal), environ)


class Terminal(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class TestProgress:
    """What is shown while a run goes on."""

    def told(self, terminal: bool, environ: dict[str, str] | None = None) -> str:
        stream, clock = Terminal(terminal), Clock()
        with Progress(stream, environ=environ or {}, clock=clock) as progress:
            progress.step("starting etcd")
            clock.now += 1.5
            progress.step("packing")
            for done in range(1, 1001):
                clock.now += 0.03
                progress.count(done, 1000, "jobs bound")
            progress.line("passed packing")
        return stream.getvalue()

    def test_in_a_log(self) -> None:
        """A line per step, a few in between, no control characters."""
        assert self.told(False) == (
            "[   0.0 s] starting etcd\n"
            "[   1.5 s] packing\n"
            "[  16.5 s] packing: 500 of 1,000 jobs bound\n"
            "[  31.5 s] packing: 1,000 of 1,000 jobs bound\n"
            "passed packing\n"
        )

    def test_a_dumb_terminal_is_a_log(self) -> None:
        """It can't take a line back."""
        assert self.told(False) == self.told(True, {"TERM": "dumb"})

    def test_on_a_terminal(self) -> None:
        """One line that is rewritten, not more often than the eye follows, and gone in the end."""
        text = self.told(True)
        writes = text.split("\r\x1b[2K")

        assert ["", "[   0.0 s] starting etcd", "[   1.5 s] packing"] == writes[:3]
        assert ["[  31.5 s] packing: 1,000 of 1,000 jobs bound", "passed packing\n", ""] == writes[-3:]
        assert 200 < len(writes) < 320
        assert 1 == text.count("\n")

    def test_a_long_step_stays_on_its_line(self) -> None:
        """A wrapped line could not be taken back."""
        stream = Terminal(True)
        Progress(stream, environ={}, clock=Clock()).step("x" * 300)

        assert 79 == len(stream.getvalue().rpartition("\r\x1b[2K")[2])

    def test_the_line_is_gone_after_an_exception(self) -> None:
        """So that the message starts on a clean line."""
        stream = Terminal(True)
        progress = Progress(stream, environ={}, clock=Clock())

        def work() -> None:
            with progress:
                progress.step("dividing")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            work()

        assert stream.getvalue().endswith("dividing\r\x1b[2K")

    def test_hostile_words_steer_nothing(self) -> None:
        """Names of pods and jobs come in here, too."""
        stream = Terminal(False)
        progress = Progress(stream, environ={}, clock=Clock())
        progress.step(HOSTILE)
        progress.count(1, 1, HOSTILE)
        progress.line(HOSTILE)

        assert [] == [char for char in stream.getvalue() if char != "\n" and not char.isprintable()]


class TestJson:
    """The form for programs."""

    def test_a_run(self) -> None:
        """The whole document; the names are a promise."""
        map_of_one = three(1, 1, 0)[0]._replace(nodes=(node("n-1", "gpu", ("train", None), 0.5, 0.25),))
        outcome = packing(
            measures=(Measure("hit rate", 0.9731, "share", "above 85%", True), Measure("placements", 12)),
            control=(Measure("hit rate", None, "share", "above 85%", False),),
            evidence=("one",),
            maps=(map_of_one,),
        )

        assert json.loads(json_text(run(outcome))) == {
            "apiVersion": "binpackgen.dev/e2e/v1",
            "profile": "profiles/article.yaml",
            "backend": "processes",
            "kubernetes": "1.37.1",
            "passed": True,
            "seconds": 252.345,
            "logs": None,
            "scenarios": [
                {
                    "scenario": "packing",
                    "title": "Jobs go to the fullest node that can hold them",
                    "passed": True,
                    "holds": True,
                    "seconds": 41.27,
                    "error": None,
                    "measures": [
                        {
                            "name": "hit rate",
                            "value": 0.9731,
                            "unit": "share",
                            "bar": "above 85%",
                            "holds": True,
                        },
                        {"name": "placements", "value": 12, "unit": "", "bar": None, "holds": None},
                    ],
                    "control": {
                        "name": "default scheduler profile",
                        "fails": True,
                        "measures": [
                            {
                                "name": "hit rate",
                                "value": None,
                                "unit": "share",
                                "bar": "above 85%",
                                "holds": False,
                            }
                        ],
                    },
                    "evidence": ["one"],
                    "maps": [
                        {
                            "title": "before",
                            "nodes": [
                                {
                                    "name": "n-1",
                                    "pool": "gpu",
                                    "slots": ["train", None],
                                    "cpu": 0.5,
                                    "memory": 0.25,
                                }
                            ],
                        }
                    ],
                }
            ],
        }

    def test_what_is_no_number_is_null(self) -> None:
        """JSON has neither 0 of 0 nor 1 of 0."""
        outcome = packing(measures=(Measure("a", float("nan")), Measure("b", float("inf"))))
        read = json.loads(json_text(run(outcome)), parse_constant=pytest.fail)

        assert [None, None] == [measure["value"] for measure in read["scenarios"][0]["measures"]]

    def test_texts_arrive_as_they_are(self) -> None:
        """Programs need no protection from characters."""
        read = json.loads(json_text(hostile()))

        assert (HOSTILE, HOSTILE) == (read["profile"], read["scenarios"][0]["measures"][0]["name"])

    @pytest.mark.parametrize(
        ("outcomes", "expected"),
        [
            ((packing(),), True),
            ((packing(), preemption()), False),
            ((toothless(),), False),
            ((broken_off(),), False),
            ((), False),
        ],
    )
    def test_passed(self, outcomes: tuple[Outcome, ...], expected: bool) -> None:
        """A missed bar, a control that holds, an error, or nothing at all isn't a pass."""
        assert expected == json.loads(json_text(run(*outcomes)))["passed"]


def suites(report: Run) -> list[Element]:
    return list(fromstring(junit_text(report)).iter("testsuite"))  # noqa: S314 - our own text


def cases(suite: Element) -> dict[str, str]:
    """What became of each case of a suite."""
    return {
        str(case.get("name")): next((child.tag for child in case), "passed")
        for case in suite.iter("testcase")
    }


class TestJunit:
    """The form for the test tabs of CI systems."""

    def test_cases(self) -> None:
        """One for the end, one for each bar, one for the control; figures that are only told are none."""
        assert [
            {
                END_CASE: "passed",
                "hit rate, A100": "passed",
                "hit rate, L40S": "skipped",
                "fragmentation": "passed",
                "nodes used against the lower bound": "passed",
                CONTROL_CASE: "passed",
            },
            {
                END_CASE: "passed",
                "bound within 60 s": "failure",
                "slowest": "failure",
                "critical pods evicted": "passed",
                CONTROL_CASE: "passed",
            },
            {END_CASE: "passed", "least cpu left": "passed", CONTROL_CASE: "failure"},
            {END_CASE: "error", CONTROL_CASE: "skipped"},
        ] == [cases(suite) for suite in suites(mixed())]

    def test_the_sums_are_those_of_the_cases(self) -> None:
        """On each suite and on all together, counted anew."""
        root = fromstring(junit_text(mixed()))  # noqa: S314 - our own text
        for element in (root, *root.iter("testsuite")):
            found = list(element.iter("testcase"))
            counted = {
                "tests": len(found),
                "failures": sum(case.find("failure") is not None for case in found),
                "errors": sum(case.find("error") is not None for case in found),
                "skipped": sum(case.find("skipped") is not None for case in found),
            }

            assert counted == {name: int(element.get(name, "")) for name in counted}

        assert ("16", "3", "1", "2", "252.3") == tuple(
            root.get(name) for name in ("tests", "failures", "errors", "skipped", "time")
        )

    def test_nothing_fails_in_a_run_that_passed(self) -> None:
        """Negative control of the counts."""
        root = fromstring(junit_text(run(packing())))  # noqa: S314 - our own text

        assert ("0", "0") == (root.get("failures"), root.get("errors"))

    def test_a_failure_has_its_figures(self) -> None:
        """In the message, which is all that many systems show; names have none, so that cases are recognized."""
        messages = [failure.get("message") for suite in suites(mixed()) for failure in suite.iter("failure")]
        missing = packing(measures=(Measure("hit rate", None, "share", "above 85%", False),))

        assert [
            "92.0%, bar above 95%",
            "74.1 s, bar at most 60 s",
            "negative control (without the cap) misses no bar, so nothing shows that the bars can fail",
        ] == messages
        assert "no choice (no placement had a choice), bar above 85%" in junit_text(run(missing))

    def test_figures_without_bars_are_properties(self) -> None:
        """The control's, too."""
        properties = {item.get("name"): item.get("value") for item in suites(mixed())[0].iter("property")}

        assert {
            "title": "Jobs go to the fullest node that can hold them",
            "profile": "profiles/article.yaml",
            "backend": "processes",
            "kubernetes": "1.37.1",
            "placements": "1,204",
            "placements without a choice": "312",
            "placements (control)": "1,204",
        } == properties

    def test_hostile_texts_add_no_element(self) -> None:
        """The file is well-formed and has the elements that it would have."""
        root = fromstring(junit_text(hostile()))  # noqa: S314 - our own text

        assert {
            "testsuites",
            "testsuite",
            "properties",
            "property",
            "testcase",
            "error",
            "failure",
            "system-out",
        } == {element.tag for element in root.iter()}


class Page(HTMLParser):
    """A page read strictly: every element is closed where it must be."""

    VOID = ("meta", "link", "br", "img")

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"an attribute of {tag} stands twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open, f"{tag} closes itself outside of a picture"
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and data.strip():
            self.texts.append(data.strip())

    def values(self, attribute: str) -> list[str]:
        return [str(attributes[attribute]) for _, attributes in self.tags if attribute in attributes]


class TestHtml:
    """The page."""

    def test_it_says_everything(self) -> None:
        """Each bar with its figures, each figure without, the evidence, the maps, errors and verdicts."""
        report = mixed()
        page = Page(html_text(report))
        text = "\n".join(page.texts)
        for outcome in report.outcomes:
            expected = [outcome.title, outcome.error, *outcome.evidence, control_text(outcome)]
            for measure in (*outcome.measures, *outcome.control):
                expected += [measure.name, measure.bar, figure(measure)]

            assert [] == [words for words in expected if words not in text]

        assert 3 == sum(tag == "svg" for tag, _ in page.tags)
        assert "failed: 3 of 4 scenarios" in page.texts

    def test_a_run_that_passed_looks_so(self) -> None:
        """Negative control: nothing of a failure is on it, and the other way around."""
        passed = Page(html_text(run(packing())))
        failed = Page(html_text(run(preemption())))

        assert ["result good"] == [kind for kind in passed.values("class") if kind.startswith("result")]
        assert ["result bad"] == [kind for kind in failed.values("class") if kind.startswith("result")]
        assert ([], ["✗", "✗", "✗", "✗"]) == tuple(
            [text for text in page.texts if text == "✗"] for page in (passed, failed)
        )

    def test_a_run_of_nothing_failed(self) -> None:
        """An empty page in green would be a lie."""
        assert "result bad" in Page(html_text(run())).values("class")

    def test_every_row_has_all_columns(self) -> None:
        """With the scenario's cell over all its rows."""
        outcomes = (
            *mixed().outcomes,
            packing(error="broke off", measures=()),
            packing(measures=(), control=(), control_name=""),
            packing(control_name="", control=()),
            packing(measures=(), control=()),
        )
        widths: list[int] = []
        spanning = 0
        for tag, attributes in Page(html_text(run(*outcomes))).tags:
            if tag == "section":
                break
            if tag == "tr":
                widths.append(1 if spanning > 0 else 0)
                spanning -= 1
            elif tag in ("td", "th"):
                widths[-1] += int(attributes.get("colspan") or 1)
                if "rowspan" in attributes:
                    spanning = int(attributes["rowspan"] or 1) - 1
            elif tag == "tbody":
                assert spanning <= 0

        assert {6} == set(widths)

    def test_links_lead_somewhere(self) -> None:
        """Within the page, to identifiers that stand once."""
        page = Page(html_text(mixed()))
        ids = page.values("id")

        assert len(ids) == len(set(ids))
        assert {f"#scenario-{i}" for i in range(1, 5)} == set(page.values("href"))
        assert {href[1:] for href in page.values("href")} | set(page.values("aria-labelledby")) == set(ids)

    def test_no_scripts_and_nothing_from_outside(self) -> None:
        """The page works from a disk and from a CI artifact, and asks no other server."""
        for report in (mixed(), hostile()):
            page = Page(html_text(report))
            links = [*page.values("href"), *page.values("src"), *page.values("action")]

            assert set() == {tag for tag, _ in page.tags} & {
                "script",
                "iframe",
                "object",
                "link",
                "img",
                "form",
                "base",
            }
            assert [] == [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
            assert [] == [link for link in links if not link.startswith("#")]
            assert [] == re.findall(r"@import|url\(|@font-face", html_text(report))

    def test_hostile_texts_change_no_structure(self) -> None:
        """The elements are those of the same run with harmless texts."""
        report = hostile()
        outcome = report.outcomes[0]
        harmless = Run(
            "a",
            "a",
            "a",
            (
                Outcome(
                    "a",
                    "a",
                    1.0,
                    (Measure("a", 1.0, "a", "a", False), Measure("a2", None)),
                    "a",
                    (Measure("a", 1.0, "a", "a", False),),
                    ("a",),
                    outcome.maps,
                    "a",
                ),
            ),
            1.0,
            "a",
        )

        assert [tag for tag, _ in Page(html_text(harmless)).tags] == [
            tag for tag, _ in Page(html_text(report)).tags
        ]

    def test_colors_are_readable_in_both_schemes(self) -> None:
        """Text by 4.5:1 from what it stands on, squares of the maps by 3:1 from the page."""
        style = html_text(run()).partition("<style>")[2]
        light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
        for scheme in (light, dark):
            colors = dict(re.findall(r"--([\w-]+): (#\w+)", scheme))
            pairs = [
                *itertools.product(("ink", "soft", "good", "bad"), ("page",)),
                ("ink", "raised"),
                ("soft", "raised"),
                ("good", "good-page"),
                ("bad", "bad-page"),
                ("ink", "bad-page"),
            ]

            assert [] == [pair for pair in pairs if contrast(colors[pair[0]], colors[pair[1]]) < 4.5]
            assert [] == [
                color for color in (*COLORS, colors["meter"]) if contrast(color, colors["page"]) < 3
            ]

    def test_print_and_dark_styles_are_there(self) -> None:
        """And the dark one isn't used on paper."""
        page = html_text(run())

        assert "@media print" in page
        assert "prefers-color-scheme: dark" in page
        assert [] == re.findall(r"@media \(prefers-color-scheme", page)


class TestAllForms:
    """What holds for each form."""

    @pytest.mark.parametrize("form", FORMS)
    def test_same_run_same_bytes(self, form: Any) -> None:
        """And another run, others."""
        assert form(mixed()) == form(mixed())
        assert form(mixed()) != form(run(packing()))

    @pytest.mark.parametrize("form", [terminal_text, junit_text, html_text])
    def test_no_character_steers_a_reader(self, form: Any) -> None:
        """No control characters, terminal escapes or turned reading direction."""
        assert [] == [char for char in form(hostile()) if char != "\n" and not char.isprintable()]

    def test_the_template_is_part_of_the_package(self) -> None:
        """It lies beside the module that reads it."""
        assert (Path(binpackgen_e2e.report.__file__).parent / "page.html.j2").is_file()
