"""Kubelet settings and node labels, put to the kubelet's own code (v1.37.2)."""

from __future__ import annotations

from typing import Any

import pytest

from binpackgen.canonical import to_yaml
from binpackgen.plan.node_labels import RESERVED_DOMAINS, SELF_LABELS, may_label_itself, within
from tests.conformance.emitted import emitted
from tests.conformance.go_program import answer
from tests.conformance.tiers import ask

# the first build compiles a good part of the kubelet
pytestmark = pytest.mark.timeout(1200)

LABELS = [
    *sorted(SELF_LABELS),
    "node-role.kubernetes.io/gpu",
    "kubernetes.io/role",
    "topology.kubernetes.io/rack",
    "node-restriction.kubernetes.io/gpu",
    "k8s.io/pool",
    "kubelet.kubernetes.io/pool",
    "lab.kubelet.kubernetes.io/pool",
    "node.kubernetes.io/pool",
    "lab.node.kubernetes.io/pool",
    "notnode.kubernetes.io/pool",
    "xkubernetes.io/pool",
    "nvidia.com/gpu.present",
    "pool",
]


def refusals(*configurations: dict[str, Any]) -> list[str]:
    """What the kubelet has against each configuration; "" for nothing."""
    texts = [to_yaml(one) for one in configurations]
    (answered,) = ask(lambda: answer("kubelet", {"configurations": texts}))
    found: list[str] = answered["configurations"]
    return found


def test_every_configuration_is_accepted() -> None:
    """Decoded strictly, defaulted and validated by the kubelet's code, also what goes into a node class or machine."""
    bodies = [one.body for _, one in emitted() if one.body["kind"] == "KubeletConfiguration"]
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    bodies += [
        head | one.body["spec"]["kubelet"] for _, one in emitted() if one.body["kind"] == "EC2NodeClass"
    ]

    assert len(bodies) > 5
    assert refusals(*bodies) == ["" for _ in bodies]


def test_the_kubelet_refuses_what_is_wrong() -> None:
    """Negative control: an unknown field, a quantity of the wrong type, a bad taint, and 0 as a threshold."""
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    found = refusals(
        head | {"nodeLabels": {"a": "b"}},
        head | {"systemReserved": {"cpu": 2}},
        head | {"registerWithTaints": [{"key": "a", "effect": "NoScheduling"}]},
        head | {"evictionHard": {"memory.available": "0"}},
        head | {"evictionHard": {"memory.available": "0%"}},
    )

    assert [bool(one) for one in found] == [True, True, True, True, False]
    assert 'unknown field "nodeLabels"' in found[0]
    assert "must be positive" in found[3]


def test_labels_that_a_kubelet_may_set() -> None:
    """The compiler's list agrees with upstream's wherever upstream asks: for keys of kubernetes.io and k8s.io."""
    (answered,) = ask(lambda: answer("kubelet", {"labels": LABELS}))
    upstream = {
        key: allowed or not within(key.rpartition("/")[0], RESERVED_DOMAINS)
        for key, allowed in zip(LABELS, answered["labels"], strict=True)
    }

    assert {key: may_label_itself(key) for key in LABELS} == upstream
