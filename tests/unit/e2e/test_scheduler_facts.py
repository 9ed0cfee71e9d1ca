"""What a running scheduler says about itself, in the forms of old and new minors, against the plan."""

from __future__ import annotations

from typing import Any

import pytest

from binpackgen_e2e.scheduler_facts import differences, planned_scoring, score_evaluations, scoring_in_force
from tests.targets.scheduler_factory import scheduler_plan

Item = dict[str, Any]

PLAN = scheduler_plan("kubeadm")
CAPPED = scheduler_plan(
    "kubeadm",
    image="example.com/scheduler:1",
    caps={"form": "filter", "headroom": {"cpu": 2, "memory": "8Gi"}},
)


def answer(**changes: Any) -> Item:
    """The answer of /configz where everything is as planned, with what a test changes."""
    planned = planned_scoring(PLAN)
    resources = [{"name": name, "weight": weight} for name, weight in planned.resources.items()]
    profile: Item = {
        "schedulerName": "batch-packer",
        "plugins": {
            "filter": {},
            "score": {
                "enabled": [{"name": n, "weight": weight} for n, weight in planned.plugins.items()],
                "disabled": [{"name": "*", "weight": 0}],
            },
            "multiPoint": {
                "enabled": [
                    {"name": "PrioritySort", "weight": 0},
                    {"name": "TaintToleration", "weight": 3},
                    {"name": "ImageLocality", "weight": 1},
                    {"name": "VolumeBinding", "weight": 0},
                ]
            },
        },
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {"scoringStrategy": {"type": "MostAllocated", "resources": resources}},
            },
            {"name": "PodTopologySpread", "args": {"defaultingType": "List"}},
        ],
    }
    profile["plugins"].update(changes.get("plugins", {}))
    return {"componentconfig": {"percentageOfNodesToScore": 0, "profiles": [profile]}}


def old_form(value: Any) -> Any:
    """As schedulers up to 1.36 or so answer: Go's own names, and nulls for what is not there."""
    if isinstance(value, dict):
        raised = {key[:1].upper() + key[1:]: old_form(below) for key, below in value.items()}
        return raised | ({"Disabled": None} if "Enabled" in raised and "Disabled" not in raised else {})
    return [old_form(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("old", [False, True])
def test_a_scheduler_that_runs_what_was_planned_differs_in_nothing(old: bool) -> None:
    """Both forms in which schedulers answer are read; the root key stands as it is."""
    body = answer()
    if old:
        body = {"componentconfig": old_form(body["componentconfig"])}
    assert planned_scoring(PLAN) == scoring_in_force(body, "batch-packer", 37)


def test_defaults_that_are_not_switched_off_score_too() -> None:
    """Without "*" the plugins of multiPoint score, with weight 1 where they state 0, and each is told."""
    enabled = [{"name": name, "weight": weight} for name, weight in planned_scoring(PLAN).plugins.items()]
    found = scoring_in_force(
        answer(plugins={"score": {"enabled": enabled, "disabled": [{"name": "VolumeBinding"}]}}),
        "batch-packer",
        37,
    )
    assert ("plugin ImageLocality: off planned, weight 1 in force",) == differences(
        planned_scoring(PLAN), found
    )


def test_a_cap_that_does_not_filter_is_told() -> None:
    """The plugin of a cap counts as in force only at the filter point."""
    found = scoring_in_force(answer(), "batch-packer", 37)
    assert None is found.cap
    planned = planned_scoring(CAPPED)
    assert planned.cap is not None
    assert {"cpu": "2", "memory": "8Gi"} == planned.cap["minFree"]
    assert (f"NodeUtilizationCap: {planned.cap} planned, None in force",) == differences(
        planned._replace(plugins=found.plugins, resources=found.resources), found
    )


def test_evaluations_are_counted_at_score_and_of_the_profile() -> None:
    """Other points, other profiles and other metrics are passed over; a plugin that never ran counts 0."""
    metrics = """\
# TYPE scheduler_plugin_evaluation_total counter
scheduler_plugin_evaluation_total{extension_point="Score",plugin="NodeResourcesFit",profile="batch-packer"} 849
scheduler_plugin_evaluation_total{extension_point="Score",plugin="InterPodAffinity",profile="batch-packer"} 0
scheduler_plugin_evaluation_total{extension_point="Filter",plugin="NodePorts",profile="batch-packer"} 7
scheduler_plugin_evaluation_total{extension_point="Score",plugin="ImageLocality",profile="default-scheduler"} 1.2e+03
scheduler_pending_pods{queue="active"} 3
"""
    assert {"NodeResourcesFit": 849, "InterPodAffinity": 0} == score_evaluations(metrics, "batch-packer")
    assert {"ImageLocality": 1200} == score_evaluations(metrics, "default-scheduler")
    assert {} == score_evaluations("", "batch-packer")
