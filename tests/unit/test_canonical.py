"""The canonical YAML writer: layout, quoting, blocks, refusals, speed."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Any

import pytest
import yaml

from binpackgen.canonical import to_yaml
from binpackgen.errors import BinpackgenError
from binpackgen.profile.node import DecimalText


def test_layout_of_a_whole_object() -> None:
    """Block style, two spaces, lists indented below their key, order as given, final line feed."""
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "labels": {"binpackgen.dev/profile": "lab"}, "annotations": {}},
        "spec": {
            "parallelism": 2,
            "suspend": True,
            "deadline": None,
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.com/a:1",
                    "command": ["sh", "-c", "set -eu\necho done\n"],
                    "args": [],
                    "resources": {"requests": {"cpu": "16", "memory": "64Gi"}},
                },
                {"name": "side", "env": [{"name": "A", "value": "no"}]},
            ],
            "matrix": [[1, [2, 3]], [], [{}], [{"a": {"b": "c"}}]],
        },
    }

    assert (
        to_yaml(body)
        == """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels:
    binpackgen.dev/profile: lab
  annotations: {}
spec:
  parallelism: 2
  suspend: true
  deadline: null
  containers:
    - name: main
      image: "registry.example.com/a:1"
      command:
        - sh
        - "-c"
        - |
          set -eu
          echo done
      args: []
      resources:
        requests:
          cpu: "16"
          memory: "64Gi"
    - name: side
      env:
        - name: A
          value: "no"
  matrix:
    - - 1
      - - 2
        - 3
    - []
    - - {}
    - - a:
          b: c
"""
    )


@pytest.mark.parametrize(
    "text", ["a", "A1", "_x", "/data", "a-b.c_d/e", "nvidia.com/gpu", "v1", "yesterday", "nano", "e3", "Y2"]
)
def test_plain_words_stay_bare(text: str) -> None:
    """A word that starts with a letter, underscore or slash and has no other sign needs no quotes."""
    assert f"{text}\n" == to_yaml(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1e3",
        "08",
        "64Gi",
        "-a",
        ".5",
        "~",
        "a b",
        "a:",
        "a:b",
        "a#",
        "é",
        "a,",
        "y",
        "N",
        "yes",
        "No",
        "ON",
        "oFF",
        "true",
        "FALSE",
        "null",
        "Null",
        "nan",
        "NaN",
        "inf",
        "Infinity",
        "=",
        "<<",
        "---",
    ],
)
def test_everything_else_is_in_double_quotes(text: str) -> None:
    """Numbers, signs, words with a meaning in any case, and text with spaces are quoted."""
    assert f'"{text}"\n' == to_yaml(text)
    assert f'"{text}": "{text}"\n' == to_yaml({text: text})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('say "x" \\ y', r'"say \"x\" \\ y"'),
        ("a\tb\rc\x00\x1b", r'"a\tb\rc\u0000\u001b"'),
        ("a\u0085b\u2028c\ufeff", r'"a\u0085b\u2028c\ufeff"'),
        ("a\u200bb\u202ec\u00a0", r'"a\u200bb\u202ec\u00a0"'),
        ("a\U000e0001", r'"a\U000e0001"'),
        ("日本 é 😀", '"日本 é 😀"'),
    ],
)
def test_escapes(text: str, written: str) -> None:
    """Quotes, controls, line breaks and what a reader cannot see are escaped; other characters stay."""
    assert f"{written}\n" == to_yaml(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\nb\n", "|\n  a\n  b\n"),
        ("a\nb", "|-\n  a\n  b\n"),
        ("a\n\n  b: c\n\t# d\n", "|\n  a\n\n    b: c\n  \t# d\n"),
        ("a\n---\nb\n", "|\n  a\n  ---\n  b\n"),
        ("日本\n😀\n", "|\n  日本\n  😀\n"),
    ],
)
def test_text_of_several_lines_is_a_literal_block(text: str, written: str) -> None:
    """Scripts and embedded files are readable, with the chomping that their end needs."""
    assert written == to_yaml(text)


@pytest.mark.parametrize(
    "text",
    [
        "a\n\n",
        "\na\n",
        " a\nb\n",
        "\ta\nb\n",
        "a \nb\n",
        "a\n \nb\n",
        "a\nb\t",
        "a\r\nb\r\n",
        "a\n\u0085\n",
        "\n",
        "a\n\u200b",
    ],
)
def test_text_that_a_block_would_not_keep_is_quoted(text: str) -> None:
    """Blanks at the end of a line, a blank start, several line feeds at the end, and hidden characters."""
    written = to_yaml(text)

    assert written.startswith('"')
    assert written.count("\n") == 1
    assert text == yaml.safe_load(written)


@pytest.mark.parametrize("length", [998, 999, 1022, 1023, 1024, 5000])
@pytest.mark.parametrize("character", ["a", "\u2028"])
def test_long_keys_are_read_back(length: int, character: str) -> None:
    """A key beyond the 1,024 characters that readers look ahead is still a key."""
    body = {character * length: {"a": ["b"]}, "c": [{character * length: "d"}]}

    assert body == yaml.load(to_yaml(body), Loader=yaml.CSafeLoader)


def test_subclasses_of_text_are_text() -> None:
    """Text types of the profile and enumerations are written as what they say."""

    class Effect(StrEnum):
        NO_SCHEDULE = "NoSchedule"

    assert to_yaml([DecimalText("1.30"), Effect.NO_SCHEDULE]) == '- "1.30"\n- NoSchedule\n'


@pytest.mark.parametrize(
    "body",
    [
        1.5,
        {"a": (1,)},
        [{1}],
        {1: "a"},
        {None: "a"},
        {True: 1},
        2**63,
        -(2**63) - 1,
        b"a",
        "\ud800",
        ["a\n\udfff\n"],
    ],
)
def test_what_no_document_holds_is_refused(body: Any) -> None:
    """Floats, tuples, sets, bytes, keys that are no text, numbers beyond 64 bits, halves of characters."""
    with pytest.raises(BinpackgenError):
        to_yaml(body)


def test_a_nesting_of_two_hundred_is_written() -> None:
    """Deep input neither crashes the writer nor comes back changed."""
    body: Any = "x"
    for level in range(200):
        body = {"a": body} if level % 2 else [body]

    assert body == yaml.load(to_yaml(body), Loader=yaml.CSafeLoader)


def test_a_hundred_jobs_take_less_than_thirty_milliseconds() -> None:
    """The writer's share of a build is small: 100 documents of 60 lines, best of five, processor time."""
    jobs = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": f"job-{number}", "labels": {"binpackgen.dev/profile": "lab"}},
            "containers": [
                {
                    "name": f"worker-{worker}",
                    "image": "registry.example.com/ai/pytorch:2.0",
                    "command": ["torchrun", "--nnodes=2", "train.py"],
                    "env": [{"name": "INDEX", "value": str(worker)}, {"name": "JOB", "value": f"{number}"}],
                    "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}},
                }
                for worker in range(4)
            ],
        }
        for number in range(100)
    ]
    taken = []
    for _ in range(5):
        start = time.process_time()
        text = [to_yaml(job) for job in jobs]
        taken.append(time.process_time() - start)

    assert 60 <= text[0].count("\n") <= 80
    assert min(taken) < 0.03
