"""Whatever is wrong with a profile, binpackgen says where and what, and never breaks."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from binpackgen.errors import FindingsError
from binpackgen.finding import Finding, blocking
from binpackgen.plan.compile import compile_plan
from binpackgen.profile.load import load_profile
from binpackgen.rules.run import apply_policies, check_plan, check_profile
from tests.strategies import NearMiss, good_profiles, misspelled_key, near_miss, near_miss_trees, seeded

GOOD = good_profiles(Path(__file__).parents[2])
TODAY = date(2026, 6, 1)


def findings_about(text: str) -> tuple[list[Finding], bool]:
    """All findings about a profile, and whether a plan could be made of it."""
    try:
        loaded = load_profile("-", text.encode("utf-8", "surrogatepass"))
    except FindingsError as error:
        return error.findings, False
    findings = check_profile(loaded)
    early = apply_policies(loaded, findings, TODAY)
    if blocking(early):
        return early, False
    findings += check_plan(compile_plan(loaded))
    return apply_policies(loaded, findings, TODAY, complete=True), True


def assert_well_formed(findings: list[Finding], text: str) -> None:
    """Each finding has a place inside the file and a message of one line, and no rule crashed."""
    # YAML has more line breaks than most editors
    last_line = len(re.split("\r\n|[\n\r\x85\u2028\u2029]", text))
    for finding in findings:
        assert finding.code != "BP699", finding.message
        for span in (finding.span, *(span for span, _ in finding.related)):
            assert span.file == "<stdin>"
            assert 1 <= span.line <= last_line, finding
            assert span.column >= 1
            assert (span.end_line, span.end_column) >= (span.line, span.column), finding
        assert finding.message
        assert finding.message.isprintable(), finding
        if finding.fix is not None:
            assert finding.fix.title
            assert finding.fix.title.isprintable(), finding


def check(case: NearMiss) -> None:
    findings, planned = findings_about(case.text)
    assert planned or findings, "a profile was refused without a reason"
    assert_well_formed(findings, case.text)
    if case.line is not None:
        assert case.line in {finding.span.line for finding in findings}, findings


@pytest.mark.parametrize("text", GOOD, ids=lambda text: text.split("name:")[1].split("}")[0].strip())
def test_good_profiles_are_good(text: str) -> None:
    """The profiles that mistakes are made in have no error of their own, so mistakes are what is reported."""
    findings, planned = findings_about(text)

    assert planned
    assert not blocking(findings), findings


@pytest.mark.parametrize("batch", range(12))
def test_near_misses_are_reported_and_never_crash(batch: int) -> None:
    """5,040 profiles with one to three mistakes: each is refused with well-formed findings, or planned."""
    for number in range(420):
        seed = batch * 1000 + number
        case = near_miss(seeded(seed), GOOD)
        try:
            check(case)
        except Exception as error:
            error.add_note(f"seed {seed}: {'; '.join(case.done)}\n{case.text}")
            raise


@pytest.mark.parametrize("index", range(len(GOOD)))
def test_misspelled_keys_are_reported_at_their_line(index: int) -> None:
    """A single misspelled key of the language is found where it stands, whatever else it causes."""
    for seed in range(120):
        case = misspelled_key(seeded(seed), GOOD[index])
        try:
            check(case)
        except Exception as error:
            error.add_note(f"seed {seed}: {'; '.join(case.done)}")
            raise


@given(near_miss_trees(GOOD))
@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_replaced_values_are_reported_and_never_crash(text: str) -> None:
    """The same with Hypothesis, which finds the smallest profile that breaks."""
    check(NearMiss(text, ()))


def test_bytes_that_are_no_text_are_reported() -> None:
    """A file that is no UTF-8 is refused at the line where it stops being text."""
    text = GOOD[0].encode()
    for at in (0, 10, len(text) // 2, len(text) - 1):
        with pytest.raises(FindingsError) as caught:
            load_profile("-", text[:at] + b"\xff" + text[at:])

        assert [(text[:at].count(b"\n") + 1, "BP001")] == [
            (f.span.line, f.code) for f in caught.value.findings
        ]
