"""What the YAML writer wrote is read back as meant by PyYAML, by kubectl and by kustomize inside kubectl."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binpackgen.canonical import to_yaml
from binpackgen.document import Because, Document
from binpackgen.emit.folder import write_tree
from binpackgen.emit.tree import render
from binpackgen.plan.compile import compile_plan
from binpackgen.profile.load import load_profile

KUBECTL = Path(sys.executable).parent / "kubectl"

Reader = Callable[[str], Any]


def kubectl(text: str, *, output: str = "json") -> Any:
    """The object in `text` as kubectl reads it, or what it prints; it labels locally and asks no server."""
    command = [KUBECTL, "label", "--local", "-f", "-", "-o", output, "read-by=kubectl"]
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, check=False, env={"KUBECONFIG": "/dev/null"}
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout) if output == "json" else done.stdout.decode()


def kustomize(folder: Path) -> str:
    """What `kubectl kustomize` makes of a folder."""
    done = subprocess.run([KUBECTL, "kustomize", folder], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def pyyaml(text: str) -> Any:
    """`text` as libyaml and PyYAML read it."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def pyyaml_pure(text: str) -> Any:
    """`text` as PyYAML without libyaml reads it."""
    return yaml.load(text, Loader=yaml.SafeLoader)


def thing(spec: Any) -> dict[str, Any]:
    """An object of a kind that kubectl knows nothing about, so that it keeps what it read."""
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}


def exact(value: Any) -> str:
    """`value` as text, so that 1 and true differ."""
    return json.dumps(value, sort_keys=True)


_WORDS = [
    "y",
    "n",
    "yes",
    "no",
    "on",
    "off",
    "true",
    "false",
    "null",
    "nan",
    "inf",
    "infinity",
    "none",
    "nil",
    "undefined",
    "default",
]
_NUMBERS = [
    "0",
    "00",
    "01",
    "07",
    "08",
    "09",
    "010",
    "0777",
    "0778",
    "1",
    "-1",
    "+1",
    "-0",
    "+0",
    "12",
    "1_000",
    "1__0",
    "_1",
    "1_",
    "0_1",
    "0x10",
    "0X10",
    "0x",
    "0xg",
    "-0x1F",
    "+0x1",
    "0o17",
    "0O17",
    "0o8",
    "-0o7",
    "0b10",
    "0B1",
    "0b2",
    "1.",
    ".5",
    "5.5",
    "-.5",
    "+.5",
    "+1.",
    ".",
    "..",
    "...",
    "-.",
    "+.",
    "1.30",
    "1.0",
    "1e3",
    "1E3",
    "12e6",
    "1e-3",
    "1e+3",
    "1.5e3",
    ".5e3",
    "1.e3",
    "e3",
    "1e",
    "1e1e1",
    "-1e3",
    "1:30",
    "12:30:45",
    "190:20:30",
    "1:60",
    "1:30.5",
    "-1:30",
    "0:0",
    ".inf",
    ".Inf",
    ".INF",
    "-.inf",
    "+.inf",
    ".nan",
    ".NaN",
    ".NAN",
    "-.nan",
    ".infinity",
    "1_000.5",
    "685_230.15",
    "0x_1",
    "0b_1",
    "1,000",
    "1/2",
    "1-2",
    "12d",
    "1k",
    "100m",
    "64Gi",
    "1Gi",
    "0.5",
    "1e400",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "-9223372036854775809",
    "0x1p3",
    "0x1.8p1",
    "١٢",
    "¼",
    "1٫5",
    "2026-01-01",
    "2026-1-1",
    "2026-01-01T00:00:00Z",
    "2026-01-01t00:00:00.5-05:00",
    "2001-12-14",
    "21:59",
    "0000-00-00",
]
_INDICATORS = list("-?:,[]{}#&*!|>'\"%@`~=<^$;()+\\/._")
_MARKS = [
    "--", "---", "----", "...", "<<", ">>", "=", "==", "- a", "-a", "? a", "?a", ": a", ":a", "a:", "a: b", "a:b",
    "a :b", "a #b", "a#b", "#a", " #a", "--- a", "---a", "... a", "%YAML 1.2", "%TAG ! x", "!", "!!", "!tag",
    "!!str x", "!!binary aGk=", "! x", "&a", "& a", "&a b", "*a", "* a", "[a]", "[a, b]", "{a}", "{a: b}", "{}",
    "[]", "{{ x }}", "{{- x -}}", "{% x %}", "${x}", "$(x)", "a, b", "'a'", '"a"', "'", '"', "''", '""', "it's",
    'say "x"', "\\", "\\n", "\\x41", "a\\", "C:\\temp\\new", "|", "|-", "|+", ">-", "> a", "| a", "@a", "`a`", "a`",
    "http://x.y/z?q=1&r=2#f", "a=b", "--flag=value", "-f", "~/x", "~a", "/etc/x", "./x", "../x", "a/b", "nvidia.com/gpu",
    "sh -c 'echo \"$X\" | tee /tmp/x'", "0 2 * * *", "*/5 * * * *", "registry.example.com:5000/a/b:1.0@sha256:00",
]  # fmt: skip
_BLANKS = [
    "", " ", "  ", "\t", " \t", " a", "a ", "\ta", "a\t", "a\tb", "a  b", "\n", "\n\n", "\n\n\n", " \n", "\n ", "\t\n",
    "\n\t", "a\n", "a\n\n", "a\n\n\n", "\na", "\n\na", "\na\n", "a\nb", "a\nb\n", "a\nb\n\n", "a\n\nb", "a\n\nb\n",
    "a\n\n\nb\n", " a\nb", " a\nb\n", "  a\n b\n", "a\n b\n", "a\n  b\nc\n", "a \nb\n", "a\nb ", "a\nb \n", "a\n \nb\n",
    "a\n\t\nb\n", "\ta\nb\n", "a\n\tb\n", "a\tb\nc\n", "a\n\n b\n", "a\nb\n ", "a\nb\n\t", "a\r\nb\r\n", "a\rb", "\r",
    "\r\n", "a\r", "a\n\r\n", "a\n---\nb\n", "---\na\n", "a\n...\n", "a\n--- b\n", "# a\nb\n", "a\n# b\n", "a: b\nc: d\n",
    "- a\n- b\n", "  - a\n", "a: |\n  b\n", "{\n}\n", "a\\\nb\n", '"a\nb"\n', "'a\nb'\n", "%a\nb\n", "!a\nb\n", "&a\nb\n",
    "\n---\napiVersion: v1\nkind: Secret\n", "#!/bin/sh\nset -eu\nif true; then\n\techo \"x: y\"\nfi\n",
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n  - schedulerName: x\n",
]  # fmt: skip
_UNICODE = [
    "é", "e\u0301", "ß", "日本語", "日本\n語\n", "עברית", "ไทย", "😀", "👩‍👩‍👧", "❤️", "a😀\nb\n", "\u0085", "a\u0085b", "a\u0085b\n",
    "\u2028", "a\u2028b\nc\n", "\u2029", "\ufeff", "\ufeffa", "a\ufeffb", "\ufeffa\nb\n", "\u00a0", "a\u00a0b\nc\n",
    "\u00ad", "\u200b", "\u200d", "\u202e", "\u2066", "\u3000", "\ud7ff", "\ue000", "\ufffd", "\ufffe", "\uffff",
    "\U0001fffe", "\U000e0001", "\U000f0000", "\U0010ffff", "ÿ", "İ", "ı", "K", "ＹＥＳ", "true\u200b", "nu\u00adll", "yes\u0301",
]  # fmt: skip
NASTY = list(
    dict.fromkeys(
        [
            *(
                form
                for word in _WORDS
                for form in (word, word.upper(), word.title(), word.swapcase(), f" {word}", f"{word}s")
            ),
            *_NUMBERS,
            *_INDICATORS,
            *(indicator + "a" for indicator in _INDICATORS),
            *("a" + indicator for indicator in _INDICATORS),
            *_MARKS,
            *_BLANKS,
            *_UNICODE,
            *(chr(code) for code in (*range(0x20), *range(0x7F, 0xA1))),
            *(f"a{chr(code)}\nb\n" for code in (*range(0x20), *range(0x7F, 0xA1))),
            "x" * 5000,
            "x " * 2500,
            "\n".join(["x" * 300] * 20) + "\n",
            "😀" * 1000,
        ]
    )
)

#: kustomize writes objects as JSON and reads that as YAML 1.2: it refuses or changes these itself.
KUSTOMIZE_LOSES = re.compile("[\x7f-\x9f\ufffe\uffff]")


def test_there_are_enough_nasty_strings() -> None:
    """The fixed list has at least 300 different strings."""
    assert len(NASTY) >= 300


@pytest.mark.parametrize("reader", [pyyaml, pyyaml_pure, kubectl])
def test_nasty_strings_are_read_back(reader: Reader) -> None:
    """Every nasty string is text with the same characters to each reader, as value, item and nested item."""
    spec = {
        "items": NASTY,
        "values": {f"k{i}": text for i, text in enumerate(NASTY)},
        "deep": [[[text]] for text in NASTY],
    }

    assert spec == reader(to_yaml(thing(spec)))["spec"]


@pytest.mark.parametrize("reader", [pyyaml, pyyaml_pure, kubectl])
def test_nasty_keys_are_read_back(reader: Reader) -> None:
    """Every nasty string is a key with the same characters to each reader, above a scalar, a map and a list."""
    spec = {
        "scalar": dict.fromkeys(NASTY, "v"),
        "map": {text: {text: "v"} for text in NASTY},
        "list": [{text: ["v"]} for text in NASTY],
    }

    assert spec == reader(to_yaml(thing(spec)))["spec"]


def test_nasty_strings_survive_kustomize(tmp_path: Path) -> None:
    """A ConfigMap of nasty strings that goes through kustomize reaches the API server unchanged."""
    values = {f"k{i}": text for i, text in enumerate(NASTY) if not KUSTOMIZE_LOSES.search(text)}
    legal = {text: "v" for text in NASTY if re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", text)}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {**values, **legal}}
    (tmp_path / "x.yaml").write_bytes(to_yaml(body).encode())
    (tmp_path / "kustomization.yaml").write_text("resources: [x.yaml]\n")

    assert body["data"] == kubectl(kustomize(tmp_path))["data"]


def test_nasty_strings_are_legal_where_the_api_allows_them() -> None:
    """Label values, which must be text, are text to kubectl's typed reader of a known kind."""
    labels = {
        f"k{i}": text
        for i, text in enumerate(NASTY)
        if re.fullmatch(r"([A-Za-z0-9][-_.A-Za-z0-9]{,61})?[A-Za-z0-9]", text)
    }
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": labels}}

    assert {**labels, "read-by": "kubectl"} == kubectl(to_yaml(body))["metadata"]["labels"]


def test_kustomize_builds_a_tree_in_the_order_of_waves(tmp_path: Path) -> None:
    """`kubectl apply -k` takes a written tree as it is, and kubectl takes its stream: all objects that are applied."""
    profile = Path(__file__).parents[2] / "profiles" / "article.yaml"
    plan = compile_plan(load_profile(str(profile)))
    objects = [
        ("late.yaml", "a", 3),
        ("early/one.yaml", "b", -1),
        ("early/one.yaml", "c", 0),
        ("middle.yaml", "d", 1),
    ]
    outputs = [
        Document(
            path,
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "y"}},
            Because(""),
            wave=wave,
        )
        for path, name, wave in objects
    ]
    tree = render(plan, [*outputs, Document("values.yaml", {"a": 1}, Because(""), sync=False)])

    write_tree(tree, tmp_path / "article")

    built = list(yaml.safe_load_all(kustomize(tmp_path / "article")))
    assert [outputs[index].body for index in (1, 2, 3, 0)] == built
    names = kubectl(tree.stream().decode(), output="name").split()
    assert [f"configmap/{name}" for name in "bcda"] == names


def test_pyyamls_own_writer_fails() -> None:
    """Control: kubectl reads numbers and booleans where PyYAML's writer was given some of the same strings."""
    read = kubectl(yaml.safe_dump(thing(NASTY)))["spec"]

    wrong = {text: value for text, value in zip(NASTY, read, strict=True) if text != value}

    assert {
        "1e3": 1000,
        "12e6": 12000000,
        "0o17": 15,
        "08": 8,
        "y": True,
        "n": False,
    }.items() <= wrong.items()


def test_numbers_booleans_and_empty_collections_are_read_back() -> None:
    """What is no text keeps its type with every reader."""
    spec = [
        0,
        -1,
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        True,
        False,
        None,
        {},
        [],
        [[]],
        [{}],
        [[], {"a": []}],
        {"a": {"b": {}}},
    ]

    text = to_yaml(thing(spec))

    assert [spec] * 3 == [reader(text)["spec"] for reader in (pyyaml, pyyaml_pure, kubectl)]
    assert all(type(mine) is type(theirs) for mine, theirs in zip(spec, kubectl(text)["spec"], strict=True))


_SCALARS = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="aeny01.-_:+xob~ ", max_size=8),
    st.text(alphabet="ab \t\n\r#-|>:'\"\\\u0085\u2028", max_size=12),
    st.lists(st.text(alphabet="ab \t#-:", max_size=6), max_size=5).map("\n".join),
    st.sampled_from(NASTY),
)
_VALUES = st.recursive(
    st.one_of(_SCALARS, st.integers(-(2**63), 2**63 - 1), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_SCALARS, inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(_VALUES)
def test_any_value_is_read_back_by_pyyaml(value: Any) -> None:
    """Any structure of any text is read back equal by both of PyYAML's readers, and one document is one."""
    text = to_yaml(value)

    assert exact([value]) == exact(list(yaml.load_all(text, Loader=yaml.CSafeLoader)))
    assert exact(value) == exact(pyyaml_pure(text))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(_VALUES, min_size=5, max_size=30))
def test_any_value_is_read_back_by_kubectl(values: list[Any]) -> None:
    """Any structure of any text is read back equal by kubectl; one call reads many."""
    assert exact(values) == exact(kubectl(to_yaml(thing(values)))["spec"])
