"""The catalogue of rules is complete and in order; a rule cannot be forgotten."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import binpackgen.rules
from binpackgen.profile.codes import INPUT_CODES
from binpackgen.rules.catalogue import RULES, find_rule
from binpackgen.rules.rule import PlanRule, PolicyRule, ProfileRule, Rule
from tests.rules.rule_examples import section

FOLDER = Path(binpackgen.rules.__file__).parent

#: Folder to the hundred of its codes.
HUNDREDS = {
    "pools": "1",
    "scheduling": "2",
    "priority": "3",
    "quota": "4",
    "workloads": "5",
    "policy": "6",
    "platforms": "8",
}
HEADINGS = ["What it does", "Why it matters", "Fails", "Passes", "Fix", "References"]


def test_every_rule_file_is_in_the_catalogue() -> None:
    """Each module in the folders is a rule in RULES, and nothing else is."""
    files = {f"{file.parent.name}.{file.stem}" for file in FOLDER.glob("*/*.py") if file.stem != "__init__"}
    rules = {type(rule).__module__.removeprefix("binpackgen.rules.") for rule in RULES}

    assert files == rules


def test_rules_are_sorted_by_code_and_codes_are_unique() -> None:
    """RULES is sorted by code; no code or name is used twice, input codes included."""
    codes = [rule.code for rule in RULES]
    names = [rule.name() for rule in RULES]

    assert sorted(codes) == codes
    assert len(set(codes) | {code.code for code in INPUT_CODES}) == len(codes) + len(INPUT_CODES)
    assert len(set(names) | {code.name for code in INPUT_CODES}) == len(names) + len(INPUT_CODES)


def test_folders_are_the_known_ones() -> None:
    """Every folder of rules has a hundred of codes."""
    assert set(HUNDREDS) == {file.parent.name for file in FOLDER.glob("*/*.py")}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name())
def test_code_is_in_its_hundred_and_class_is_the_file_name(rule: Rule) -> None:
    """The code's hundred is that of the folder, and the class is the file's name in capitals."""
    words = rule.name().split("-")

    assert re.fullmatch(rf"BP{HUNDREDS[rule.category()]}\d\d", rule.code)
    assert "".join(word.capitalize() for word in words) == type(rule).__name__


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name())
def test_page_has_every_heading_in_order(rule: Rule) -> None:
    """The docstring is a page with the six headings, each with a text below it."""
    page = inspect.cleandoc(rule.__doc__ or "")

    assert HEADINGS == re.findall(r"^## (.*)$", page, re.M)
    for heading in HEADINGS:
        assert section(rule, heading)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name())
def test_stage_is_that_of_the_base_class(rule: Rule) -> None:
    """A rule's stage says what its check is asked about."""
    bases = {"profile": ProfileRule, "plan": PlanRule, "policy": PolicyRule}

    assert rule.stage == "output" or isinstance(rule, bases[rule.stage])


def test_rules_are_found_by_code_and_by_name() -> None:
    """A rule is found by its code in any case and by its name; input codes too; nothing else is."""
    for rule in RULES:
        assert find_rule(rule.code) is rule
        assert find_rule(rule.code.lower()) is rule
        assert find_rule(rule.name()) is rule
    for code in INPUT_CODES:
        assert find_rule(code.code) is code
        assert find_rule(code.name) is code
    assert find_rule("BP000") is None
    assert find_rule("profile.yaml") is None
