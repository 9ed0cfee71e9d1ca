"""What the loader says about a profile whose shape is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from binpackgen.errors import FindingsError
from binpackgen.profile.load import load_profile

GOOD = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm}
  nodePools:
    - {name: gpu, count: 2, cpu: 64, memory: 256Gi, gpu: {type: a100, count: 8}}
  queues:
    - {name: q, namespaces: [a], quota: {a100: 75%}}
"""


def findings(text: str) -> list[tuple[str, int, str, str]]:
    """(code, line, message, fix) of everything that the loader finds."""
    with pytest.raises(FindingsError) as error:
        load_profile("-", text.encode())
    return [(f.code, f.span.line, f.message, f.fix.title if f.fix else "") for f in error.value.findings]


def test_a_good_profile_loads() -> None:
    """The negative control of this file: without a mistake nothing is found."""
    assert "lab" == load_profile("-", GOOD.encode()).profile.metadata.name


def test_unknown_keys_come_with_the_key_that_was_meant() -> None:
    """A typo is named at its key, with the fix."""
    text = GOOD.replace("controlPlane:", "controlPlain:").replace("nodePools:", "nodepools:")

    assert [
        ("BP007", 4, "spec lacks nodePools, which has no default", "add nodePools"),
        ("BP006", 5, 'kubernetes has no key "controlPlain"', "did you mean controlPlane?"),
        ("BP006", 6, 'spec has no key "nodepools"', "did you mean nodePools?"),
    ] == findings(text)


def test_snake_case_is_recognized() -> None:
    """A Python habit gets the key in the file's spelling."""
    assert [("BP006", 5, 'kubernetes has no key "control_plane"', "did you mean controlPlane?")] == findings(
        GOOD.replace("controlPlane:", "control_plane:")
    )


def test_a_typo_in_a_quota_is_at_its_line() -> None:
    """Keys inside mappings with free names are known too."""
    assert [("BP006", 9, 'a100 has no key "gpus"', "did you mean gpu?")] == findings(
        GOOD.replace("a100: 75%", "a100: {gpus: 4}")
    )


def test_a_version_read_as_a_number_is_refused() -> None:
    """1.30 must not become 1.3 in silence."""
    assert [("BP008", 5, '1.30 is a number here and text is wanted: quote it, "1.30"', "")] == findings(
        GOOD.replace('"1.37"', "1.30")
    )


def test_every_mistake_is_reported_at_once() -> None:
    """Mistakes in different places come in one run, in file order."""
    text = (
        GOOD.replace("name: lab", "name: Lab_1")
        .replace("cpu: 64", "cpu: many")
        .replace("256Gi", "256GiB")
        .replace("count: 8", "count: 1500m")
        .replace("75%", "175%")
        .replace("controlPlane: kubeadm", "controlPlane: kubadm")
    )

    assert [("BP009", 3), ("BP009", 5), ("BP009", 7), ("BP009", 7), ("BP009", 7), ("BP009", 9)] == [
        (code, line) for code, line, _, _ in findings(text)
    ]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("256Gi", "256", "a unit is missing: was 256Gi or 256Mi meant?"),
        ("256Gi", "3500m", "m is milli-bytes"),
        ("256Gi", "1.1Gi", "write 1127Mi"),
        ("256Gi", "-1Gi", "-1Gi is negative"),
        ("count: 8", "count: 0.5", "0.5 is no whole number; devices are not divided"),
        ("count: 2", "count: two", 'a whole number is wanted, this is the text "two"'),
        ("count: 2", "count: true", "a whole number is wanted, this is a boolean (true)"),
        ("kubeadm", "kubadm", "it takes kubeadm, kind, k3s"),
        ("[a]", "[]", "namespaces is empty; at least 1 is wanted"),
        ("[a]", "a", 'namespaces takes a list, this is the text "a"'),
    ],
)
def test_a_value_is_refused_with_the_reason(old: str, new: str, part: str) -> None:
    """Each message states what is wrong with the value and what is wanted."""
    messages = [message for _, _, message, _ in findings(GOOD.replace(old, new, 1))]

    assert any(part in message for message in messages), messages


def test_a_count_may_be_written_in_any_way_that_is_whole() -> None:
    """3000m is three, as it is for Kubernetes."""
    loaded = load_profile("-", GOOD.replace("count: 8", 'count: "3000m"').encode())

    gpu = loaded.profile.spec.node_pools[0].gpu
    assert gpu is not None
    assert 3 == gpu.count


def test_braces_in_values_are_text(tmp_path: Path) -> None:
    """The user's braces never meet a message template."""
    assert "BP009" == findings(GOOD.replace("name: lab", 'name: "{0} {x}"'))[0][0]
