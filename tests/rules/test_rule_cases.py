"""The branches of rules that their pages do not show: exact places and messages (rule_cases.yaml)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.finding import in_order
from binpackgen.rules.catalogue import find_rule
from binpackgen.rules.rule import Rule
from tests.rules.rule_examples import FIRST_LINE, judged, profile_text

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "rule_cases.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_rule_says_what_and_where(case: dict[str, Any]) -> None:
    """The findings of one rule about a profile, each with its line, severity and whole message."""
    found = judged(profile_text(case["spec"]))

    # a profile that is not read would be silent about everything
    assert [] == [f for f in found if f.code.startswith("BP0")]
    assert case["findings"] == [
        {"line": f.span.line - FIRST_LINE + 1, "severity": f.severity.value, "message": f.message}
        for f in in_order(found)
        if f.code == case["rule"]
    ]


def test_cases_are_about_rules_and_have_names_of_their_own() -> None:
    """Every case names a rule that there is, and no two cases are called alike."""
    assert all(isinstance(find_rule(case["rule"]), Rule) for case in CASES)
    assert len(CASES) == len({case["name"] for case in CASES})
