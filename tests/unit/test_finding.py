"""Findings: what they say stays on one line, whatever they quote."""

from __future__ import annotations

import pytest

from binpackgen.finding import Finding, Fix, Severity, printable
from binpackgen.source import Span


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pool is 3", "pool is 3"),
        ("Größe 日本語 🚀", "Größe 日本語 🚀"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("x\u202ey", "x\\u202ey"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_and_format_characters_are_escaped(text: str, shown: str) -> None:
    """Text that breaks a line, colors a terminal or turns its direction is shown by its escape; all other
    text stays as it is."""
    assert shown == printable(text)


def test_messages_and_fixes_are_one_printable_line() -> None:
    """A message and a fix's title quote a profile's text without becoming two lines."""
    finding = Finding("BP009", "x", Severity.ERROR, 'name is "a\nb"', Span.start_of("f"), Fix("write\x07 it"))

    assert 'name is "a\\nb"' == finding.message
    assert finding.fix is not None
    assert "write\\x07 it" == finding.fix.title
