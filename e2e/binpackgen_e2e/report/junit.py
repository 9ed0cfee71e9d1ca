"""A run as JUnit XML, for the test tabs of CI systems."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from binpackgen.report.printable import printable

from ..outcome import Measure, Outcome, Run
from .figures import control_text, figure, rows, why_missing

CONTROL_CASE = "negative control fails"
END_CASE = "comes to its end"


def junit_text(run: Run) -> str:
    """A suite per scenario, a case per bar, one for the negative control, and one for coming to an end.

    Names carry no figures, so that a CI system recognizes a case from run to run.
    """
    root = Element("testsuites", {"name": f"binpackgen e2e {printable(run.profile)}"})
    for outcome in run.outcomes:
        root.append(_suite(outcome, run))
    _count(root, run.seconds)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(outcome: Outcome, run: Run) -> Element:
    suite = Element("testsuite", {"name": printable(outcome.scenario)})
    told = [row for row in rows(outcome) if not row.bar]
    properties = SubElement(suite, "properties")
    for name, value in (
        ("title", outcome.title),
        ("profile", run.profile),
        ("backend", run.backend),
        ("kubernetes", run.kubernetes),
        *((row.name, figure(row.measure)) for row in told if row.measure),
        *((f"{row.name} (control)", figure(row.control)) for row in told if row.control),
    ):
        SubElement(properties, "property", {"name": printable(name), "value": printable(value)})

    _end(suite, outcome)
    for measure in outcome.measures:
        if measure.bar:
            _bar(suite, outcome, measure)
    if outcome.control_name:
        _control(suite, outcome)
    _count(suite, outcome.seconds)
    if outcome.evidence:
        SubElement(suite, "system-out").text = "\n".join(map(printable, outcome.evidence))
    return suite


def _case(suite: Element, outcome: Outcome, name: str) -> Element:
    classname = f"binpackgen.e2e.{printable(outcome.scenario)}"
    return SubElement(suite, "testcase", {"classname": classname, "name": printable(name)})


def _end(suite: Element, outcome: Outcome) -> None:
    case = _case(suite, outcome, END_CASE)
    if outcome.error:
        error = SubElement(case, "error", {"message": printable(outcome.error), "type": "error"})
        error.text = "\n".join(map(printable, outcome.error.splitlines()))


def _bar(suite: Element, outcome: Outcome, measure: Measure) -> None:
    case = _case(suite, outcome, measure.name)
    if measure.holds is False:
        reason = f" ({why_missing(measure)})" if why_missing(measure) else ""
        message = printable(f"{figure(measure)}{reason}, bar {measure.bar}")
        failure = SubElement(case, "failure", {"message": message, "type": "bar"})
        failure.text = printable(f"{outcome.title}: {measure.name} {message}")
    elif measure.holds is None:
        SubElement(case, "skipped", {"message": why_missing(measure) or "not judged"})


def _control(suite: Element, outcome: Outcome) -> None:
    case = _case(suite, outcome, CONTROL_CASE)
    if outcome.error and not outcome.control:
        SubElement(case, "skipped", {"message": "the scenario did not come to its end"})
    elif not outcome.control_fails:
        message = printable(control_text(outcome))
        failure = SubElement(case, "failure", {"message": message, "type": "control"})
        failure.text = "\n".join(
            printable(f"{measure.name}: {figure(measure)}, bar {measure.bar}")
            for measure in outcome.control
            if measure.bar
        )


def _count(element: Element, seconds: float) -> None:
    """Write the sums that readers expect on a suite."""
    element.set("tests", str(len(list(element.iter("testcase")))))
    element.set("failures", str(len(list(element.iter("failure")))))
    element.set("errors", str(len(list(element.iter("error")))))
    element.set("skipped", str(len(list(element.iter("skipped")))))
    element.set("time", f"{seconds:.1f}")
