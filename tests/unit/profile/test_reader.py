"""YAML text to values: one reading, positions, and traps as findings."""

from __future__ import annotations

import pytest

from binpackgen.profile.node import DecimalText
from binpackgen.profile.reader import read_bytes, read_text


def found(text: str) -> list[tuple[str, int, int]]:
    """(code, line, column) of each finding."""
    return [(f.code, f.span.line, f.span.column) for f in read_text(text, "p.yaml")[1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\na: 2\n", [("BP003", 2, 1)]),
        ("a: {b: 1, b: 2}\n", [("BP003", 1, 11)]),
        ("a: NO\n", [("BP004", 1, 4)]),
        ("a: [yes, Off, y]\n", [("BP004", 1, 5), ("BP004", 1, 10), ("BP004", 1, 15)]),
        ("on: 1\n", [("BP004", 1, 1)]),
        ("a: 08\n", [("BP004", 1, 4)]),
        ("a: 0o17\nb: 0x1F\n", [("BP004", 1, 4), ("BP004", 2, 4)]),
        ("a: 1e3\nb: 1_000\nc: 1:30\n", [("BP004", 1, 4), ("BP004", 2, 4), ("BP004", 3, 4)]),
        ("a: .5\nb: +1\nc: .inf\n", [("BP004", 1, 4), ("BP004", 2, 4), ("BP004", 3, 4)]),
        ("a:\n\tb: 1\n", [("BP002", 2, 1)]),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", [("BP005", 3, 3)]),
        ("a: 1\n---\nb: 2\n", [("BP005", 2, 1)]),
        ("a: !secret x\n", [("BP005", 1, 4)]),
        ("a: !!python/object:os.system x\n", [("BP005", 1, 4)]),
        ("a: !!binary aGk=\n", [("BP005", 1, 4)]),
        ('a: !!int "3"\n', [("BP005", 1, 4)]),
        ("a: &x [*x]\n", [("BP005", 1, 4)]),
        ("1: a\n", [("BP005", 1, 1)]),
        ("? [a]\n: b\n", [("BP005", 1, 3)]),
        ("", [("BP002", 1, 1)]),
        ("- a\n", [("BP002", 1, 1)]),
        ("just text\n", [("BP002", 1, 1)]),
        ("a: [1, 2\n", [("BP002", 2, 1)]),
        ("a: [1, 2", [("BP002", 1, 9)]),  # the end of a last line without a line break is on that line
        ("a: b: c\n", [("BP002", 1, 5)]),
    ],
)
def test_a_trap_is_a_finding_where_it_stands(text: str, expected: list[tuple[str, int, int]]) -> None:
    """Every construct that YAML readers disagree about is refused at its own place."""
    assert expected == found(text)


def test_all_traps_of_a_file_come_together() -> None:
    """One run shows every trap, not only the first."""
    assert 4 == len(found("a: NO\nb: 08\nc: 1e3\nd: 1\nd: 2\n"))


def test_quoted_traps_are_text() -> None:
    """Quotes settle what a bare word leaves open: nothing is found then."""
    node, findings = read_text('a: "NO"\nb: \'08\'\nc: "1.30"\nd: !!str 1.30\n', "p.yaml")

    assert [] == findings
    assert node is not None
    assert {"a": "NO", "b": "08", "c": "1.30", "d": "1.30"} == node.plain()


def test_a_decimal_number_keeps_its_digits() -> None:
    """1.30 stays 1.30; only its use decides whether that may be a number."""
    node, _ = read_text("a: 1.30\n", "p.yaml")

    assert node is not None
    value = node.plain()["a"]
    assert isinstance(value, DecimalText)
    assert "1.30" == value


def test_plain_values_are_read_as_everybody_reads_them() -> None:
    """Integers, booleans, nothing and text have one reading."""
    node, findings = read_text("a: 64\nb: -3\nc: true\nd: ~\ne: 256Gi\nf: 2026-01-31\ng: 75%\n", "p.yaml")

    assert [] == findings
    assert node is not None
    assert {
        "a": 64,
        "b": -3,
        "c": True,
        "d": None,
        "e": "256Gi",
        "f": "2026-01-31",
        "g": "75%",
    } == node.plain()


def test_an_alias_bomb_is_refused_before_it_unfolds() -> None:
    """Nine levels of ten aliases would be a thousand million values; reading stops at the limit."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]

    codes = [code for code, _, _ in found("\n".join(lines))]

    assert ["BP005"] == codes


def test_an_alias_that_is_no_bomb_is_read() -> None:
    """Anchors share a value within a file."""
    node, findings = read_text("a: &x {b: 1}\nc: *x\n", "p.yaml")

    assert [] == findings
    assert node is not None
    assert {"a": {"b": 1}, "c": {"b": 1}} == node.plain()


def test_deep_nesting_is_a_finding() -> None:
    """A thousand brackets end in a message, not in a crash."""
    assert ["BP002"] == [code for code, _, _ in found("[" * 50_000)]


def test_bytes_that_are_no_text_are_named_by_place() -> None:
    """The first byte that is no UTF-8 is reported with line and column."""
    _, findings = read_bytes(b"a: 1\nb: \xff\n", "p.yaml")

    assert [("BP001", 2, 4)] == [(f.code, f.span.line, f.span.column) for f in findings]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    """Editors on Windows write one."""
    node, findings = read_bytes(b"\xef\xbb\xbfa: 1\r\n", "p.yaml")

    assert [] == findings
    assert node is not None
    assert {"a": 1} == node.plain()
