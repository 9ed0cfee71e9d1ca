"""The examples on the rules' pages behave as they say."""

from __future__ import annotations

import re
from datetime import date

import pytest

from binpackgen.errors import FindingsError
from binpackgen.finding import Finding, Severity
from binpackgen.rules.catalogue import RULES
from binpackgen.rules.rule import Rule
from tests.rules.rule_examples import edited, fragments, judged, marked_line, profile_text

#: Rules whose findings no profile causes; their pages say so in words.
IN_WORDS = {"bad-template", "crashed-rule"}

WITH_EXAMPLES = [rule for rule in RULES if rule.name() not in IN_WORDS]


def all_findings(rule: Rule, text: str) -> list[Finding]:
    """Findings about a profile; rules of stage `output` are asked by a whole build."""
    if rule.stage != "output":
        return judged(text)
    from binpackgen.compilation import compile_profile

    try:
        return list(compile_profile("-", stdin=text.encode(), today=date(2026, 6, 1)).findings)
    except FindingsError as error:
        return error.findings


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.name())
def test_fails_gives_this_finding_at_the_marked_line_and_no_other_error(rule: Rule) -> None:
    """The first example of a page is reported by its rule, at the marked line, and by no other as an error."""
    (fragment,) = fragments(rule, "Fails")
    findings = all_findings(rule, profile_text(fragment))
    mine = [finding for finding in findings if finding.code == rule.code]

    assert {marked_line(fragment)} == {finding.span.line for finding in mine}, findings
    others = [f for f in findings if f.severity is Severity.ERROR and f.code != rule.code]
    assert [] == others


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.name())
def test_passes_gives_nothing(rule: Rule) -> None:
    """The second example of a page is not reported by its rule, and is no error to any other."""
    (fragment,) = fragments(rule, "Passes")
    findings = all_findings(rule, profile_text(fragment))

    assert [] == [f for f in findings if f.code == rule.code or f.severity is Severity.ERROR]


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.name())
def test_messages_state_a_fact_with_names_or_numbers(rule: Rule) -> None:
    """A message is one line in lower case without a full stop, and holds a number or a quoted name; what to do
    is in the fix, which errors always have."""
    (fragment,) = fragments(rule, "Fails")
    for finding in all_findings(rule, profile_text(fragment)):
        if finding.code != rule.code:
            continue
        message = finding.message
        assert "\n" not in message
        assert not message.endswith(".")
        assert re.search(r'\d|"', message), message
        # product names keep their capital, and a message may open with a name in quotes or a number
        assert re.match(r'[a-z0-9"]|GPU|MIG|Kubernetes', message), message
        if finding.severity is not Severity.NOTE:
            assert finding.fix is not None
        if finding.fix is not None:
            assert not finding.fix.title.endswith(".")


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.name())
def test_edits_clear_the_finding_and_raise_no_other(rule: Rule) -> None:
    """Where a fix comes with edits, applying them leaves a profile without the finding and without new ones."""
    (fragment,) = fragments(rule, "Fails")
    text = profile_text(fragment)
    before = all_findings(rule, text)
    edits = [edit for f in before if f.code == rule.code and f.fix for edit in f.fix.edits]
    if not edits:
        return
    after = all_findings(rule, edited(text, edits))

    assert [] == [finding for finding in after if finding.code == rule.code]
    assert {f.code for f in after} <= {f.code for f in before}


def test_some_rules_have_edits() -> None:
    """The test above is not empty: misspelled names come with the edit that mends them."""
    with_edits = {
        rule.name()
        for rule in WITH_EXAMPLES
        for finding in all_findings(rule, profile_text(fragments(rule, "Fails")[0]))
        if finding.code == rule.code and finding.fix and finding.fix.edits
    }

    assert {"unknown-queue", "unknown-tier", "unknown-scorer", "reserved-tier-name"} <= with_edits
