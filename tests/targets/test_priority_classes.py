"""PriorityClasses and WorkloadPriorityClasses."""

from __future__ import annotations

from typing import Any

from binpackgen.document import Document
from binpackgen.targets import priority_classes
from tests.targets.plan_factory import plan

LABELS = {
    "app.kubernetes.io/managed-by": "binpackgen",
    "app.kubernetes.io/part-of": "binpackgen",
    "binpackgen.dev/profile": "lab",
}
RECREATE = {"kustomize.toolkit.fluxcd.io/force": "enabled"}
TIERS = """
priorityTiers:
  - {name: batch-low, value: 10000, default: true, preempts: false, description: fills gaps}
  - {name: batch-high, value: 1000000}
"""


def documents(spec: str) -> list[Document]:
    found = list(priority_classes.compile(plan(spec)))
    assert all(isinstance(one, Document) for one in found)
    return [one for one in found if isinstance(one, Document)]


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "labels": LABELS, "annotations": RECREATE},
        "value": value,
        **more,
    }


def test_every_tier_is_a_class_and_the_default_comes_last() -> None:
    """A class says only what differs from the API's defaults; the default class is applied after the others."""
    found = documents(TIERS)

    assert [
        priority_class("batch-high", 1000000),
        priority_class(
            "batch-low",
            10000,
            globalDefault=True,
            preemptionPolicy="Never",
            description="fills gaps",
        ),
    ] == [one.body for one in found]
    assert [(one.path, one.wave) for one in found] == [
        ("priority-classes.yaml", 0),
        ("priority-classes.yaml", 1),
    ]


def test_moving_the_default_clears_the_old_one_first() -> None:
    """Whichever tier is the default, the class that loses it stands before the one that gets it."""
    tiers = "priorityTiers: [{{name: a, value: 1, default: {0}}}, {{name: b, value: 2, default: {1}}}]"

    assert [one.body["metadata"]["name"] for one in documents(tiers.format("true", "false"))] == ["b", "a"]
    assert [one.body["metadata"]["name"] for one in documents(tiers.format("false", "true"))] == ["a", "b"]


def test_no_queue_no_workload_priority_class() -> None:
    """WorkloadPriorityClass is Kueue's: a profile without queues has none."""
    assert {"PriorityClass"} == {one.body["kind"] for one in documents(TIERS)}


def test_queues_get_workload_priority_classes_with_the_same_values() -> None:
    """With queues, every tier is a WorkloadPriorityClass of the same name and value."""
    found = documents(TIERS + "queues: [{name: etl, namespaces: [etl], quota: {cpu: 100%}}]\n")
    bodies = [one.body for one in found if one.path == "kueue/workload-priority-classes.yaml"]

    assert bodies == [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": "batch-low", "labels": LABELS},
            "value": 10000,
            "description": "fills gaps",
        },
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": "batch-high", "labels": LABELS},
            "value": 1000000,
        },
    ]


def test_value_leads_back_to_its_line() -> None:
    """The value of a class is traced to the tier's value in the profile."""
    document = documents(TIERS)[1]

    assert document.because(("value",)).paths == (("spec", "priorityTiers", 0, "value"),)


def test_no_tiers_no_documents() -> None:
    """A profile without tiers makes no classes."""
    assert documents("") == []
