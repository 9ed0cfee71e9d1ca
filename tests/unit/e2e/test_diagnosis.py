"""Why a pod or workload waits that selects what is not there: the sentence names the label and what was meant."""

from __future__ import annotations

from typing import Any

import pytest

from binpackgen_e2e.diagnosis import Unmatched, diagnose_pod, diagnose_workload, unmatched

Item = dict[str, Any]

TYPE = "binpackgen.dev/gpu-type"
NODES: list[Item] = [
    {"metadata": {"name": f"n{index}", "labels": {TYPE: value, "zone": "a"}}}
    for index, value in enumerate(("v100", "a100", "none"))
]


def pod(selector: dict[str, str]) -> Item:
    return {
        "metadata": {"name": "train-0", "namespace": "ai", "uid": "u1"},
        "spec": {"nodeSelector": selector},
    }


def event(message: str, version: int, *, uid: str = "u1", reason: str = "FailedScheduling") -> Item:
    return {
        "metadata": {"resourceVersion": str(version)},
        "reason": reason,
        "message": message,
        "involvedObject": {"uid": uid},
    }


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({TYPE: "v100"}, ()),
        ({TYPE: "v10"}, (Unmatched(TYPE, "v10", ("a100", "none", "v100"), "v100"),)),
        ({TYPE: "h200"}, (Unmatched(TYPE, "h200", ("a100", "none", "v100"), ""),)),
        ({"binpackgen.dev/gpu-typ": "v100"}, (Unmatched("binpackgen.dev/gpu-typ", "v100", (), TYPE),)),
        (
            {TYPE: "a10", "zone": "b"},
            (
                Unmatched(TYPE, "a10", ("a100", "none", "v100"), "a100"),
                Unmatched("zone", "b", ("a",), ""),
            ),
        ),
    ],
)
def test_labels_that_no_node_has_are_found_with_the_nearest(
    selector: dict[str, str], expected: tuple[Unmatched, ...]
) -> None:
    """A misspelt value is compared with the values of that label, a misspelt key with all keys."""
    assert expected == unmatched(selector, [node["metadata"]["labels"] for node in NODES])


def test_a_pending_pod_is_explained_with_the_schedulers_last_word() -> None:
    """Events of other pods, of other reasons, and older ones are passed over."""
    events = [
        event("0/3 nodes are available: old", 4),
        event("0/3 nodes are available: 3 didn't match", 9),
        event("assigned", 12, reason="Scheduled"),
        event("another pod's", 15, uid="u2"),
    ]
    assert (
        "pod ai/train-0 is Pending: it asks for nodes with binpackgen.dev/gpu-type: v10, which none has; "
        "there are a100, none, v100; did you mean v100? The scheduler: 0/3 nodes are available: 3 didn't match"
    ) == diagnose_pod(pod({TYPE: "v10"}), NODES, events)


@pytest.mark.parametrize(
    ("selector", "events"),
    [
        pytest.param({TYPE: "v100"}, [event("0/3 nodes: Insufficient cpu", 9)], id="another reason"),
        pytest.param({TYPE: "v10"}, [], id="the scheduler has not spoken"),
    ],
)
def test_no_label_is_blamed_without_evidence(selector: dict[str, str], events: list[Item]) -> None:
    """A pod that waits for room, or that the scheduler has not looked at, gets no sentence about labels."""
    assert diagnose_pod(pod(selector), NODES, events) == ""


def test_a_workload_is_judged_by_the_labels_that_flavors_state() -> None:
    """As Kueue does: a key that no flavor states is the scheduler's business."""
    flavors = [{"spec": {"nodeLabels": {TYPE: value}}} for value in ("v100", "a100")]
    workload: Item = {
        "metadata": {"name": "job-train", "namespace": "ai"},
        "spec": {
            "podSets": [
                {"name": "main", "template": {"spec": {"nodeSelector": {TYPE: "v1OO", "zone": "x"}}}},
                {"name": "other", "template": {"spec": {}}},
            ]
        },
        "status": {
            "conditions": [
                {"type": "QuotaReserved", "status": "False", "message": "flavor v100 doesn't match"}
            ]
        },
    }
    assert (
        "workload ai/job-train is not admitted: pod set main asks for binpackgen.dev/gpu-type: v1OO, which none "
        "has; there are a100, v100 Kueue: flavor v100 doesn't match"
    ) == diagnose_workload(workload, flavors)
    workload["status"]["conditions"][0]["status"] = "True"
    assert diagnose_workload(workload, flavors) == ""
