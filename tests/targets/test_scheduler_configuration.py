"""The KubeSchedulerConfiguration: the packing profile field by field, and the profiles beside it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from binpackgen.canonical import to_yaml
from binpackgen.document import Document
from binpackgen.plan.platforms import PLATFORMS
from binpackgen.report.origin import lookup
from binpackgen.targets.scheduler.configuration import scheduler_configuration
from tests.targets.scheduler_factory import (
    POOLS,
    WHOLE_CONFIGURATION,
    documents,
    outputs,
    scheduler_plan,
)


def config(control_plane: str = "kubeadm", version: str = "1.37", **sections: Any) -> dict[str, Any]:
    """The body of a control plane scheduler's configuration."""
    return scheduler_configuration(
        scheduler_plan(control_plane, version, **sections), kubeconfig="/etc/kubernetes/scheduler.conf"
    ).body


def test_whole_configuration_of_a_control_plane_scheduler() -> None:
    """Only listed scorers score, packing outvotes them, nothing is spread by default, and the default stays."""
    expected = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": "/etc/kubernetes/scheduler.conf"},
        "profiles": [
            {
                "schedulerName": "batch-packer",
                "plugins": {
                    "score": {
                        "disabled": [{"name": "*"}],
                        "enabled": [
                            {"name": "NodeResourcesFit", "weight": 901},
                            {"name": "TaintToleration", "weight": 3},
                            {"name": "NodeAffinity", "weight": 2},
                            {"name": "PodTopologySpread", "weight": 2},
                            {"name": "InterPodAffinity", "weight": 2},
                        ],
                    }
                },
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {
                                "type": "MostAllocated",
                                "resources": [
                                    {"name": "cpu", "weight": 1},
                                    {"name": "memory", "weight": 1},
                                    {"name": "nvidia.com/gpu", "weight": 19},
                                ],
                            }
                        },
                    },
                    {"name": "PodTopologySpread", "args": {"defaultingType": "List"}},
                ],
            },
            {"schedulerName": "default-scheduler"},
        ],
    }

    stated = {"pluginWeight": 901, "resourceWeights": {"gpu": 19}, "cpuOnlyPods": "anywhere"}
    assert expected == config(packing=stated)


def test_weights_are_those_of_the_plan() -> None:
    """Every scorer of the plan is on with its weight, in the plan's order, and no other."""
    plan = scheduler_plan("kubeadm", packing={"pluginWeight": 5, "keepScorers": {"ImageLocality": 4}})

    enabled = scheduler_configuration(plan).body["profiles"][0]["plugins"]["score"]["enabled"]

    assert [(s.plugin, s.weight) for s in plan.scheduler.scorers] == [
        (e["name"], e["weight"]) for e in enabled
    ]
    assert {"name": "NodeResourcesFit", "weight": 5} in enabled
    assert {"name": "ImageLocality", "weight": 4} in enabled


def test_a_shape_stands_beside_its_strategy() -> None:
    """RequestedToCapacityRatio carries the profile's points; MostAllocated carries none."""
    shape = [
        {"utilization": 0, "score": 0},
        {"utilization": 60, "score": 4},
        {"utilization": 100, "score": 10},
    ]

    profile = config(packing={"strategy": "RequestedToCapacityRatio", "shape": shape})["profiles"][0]

    strategy = profile["pluginConfig"][0]["args"]["scoringStrategy"]
    assert strategy["type"] == "RequestedToCapacityRatio"
    assert {"shape": shape} == strategy["requestedToCapacityRatio"]


def test_a_cap_as_a_curve_bends_the_score_down() -> None:
    """A cap in curve form turns MostAllocated into a shape that falls beyond the cap."""
    profile = config(caps={"form": "curve", "headroom": {"cpu": 2, "memory": "8Gi"}})["profiles"][0]

    strategy = profile["pluginConfig"][0]["args"]["scoringStrategy"]
    points = strategy["requestedToCapacityRatio"]["shape"]
    assert strategy["type"] == "RequestedToCapacityRatio"
    # 8Gi of the 128Gi (less 100Mi) of an a100 node weigh more than 2 of its 32 cores: 93 % and 93.7 %
    assert points == [
        {"utilization": 0, "score": 0},
        {"utilization": 93, "score": 10},
        {"utilization": 100, "score": 0},
    ]


def test_every_node_is_scored_where_there_are_more_than_100() -> None:
    """Above 100 nodes percentageOfNodesToScore is 100, in the packing profile only; below it is left alone."""
    large = config(nodePools=[{**POOLS[0], "count": 101}, POOLS[1]])

    assert [profile.get("percentageOfNodesToScore") for profile in large["profiles"]] == [100, None]
    assert "percentageOfNodesToScore" not in config()["profiles"][0]


@pytest.mark.parametrize(
    ("packing", "names"),
    [
        ({}, ["batch-packer", "default-scheduler"]),
        ({"schedulerName": "default-scheduler"}, ["default-scheduler"]),
        ({"serving": {"schedulerName": "spread"}}, ["batch-packer", "spread", "default-scheduler"]),
        (
            {"schedulerName": "default-scheduler", "serving": {"schedulerName": "spread"}},
            ["default-scheduler", "spread"],
        ),
        ({"serving": {"schedulerName": "default-scheduler"}}, ["batch-packer", "default-scheduler"]),
    ],
)
def test_profiles_of_a_control_plane_scheduler(packing: dict[str, Any], names: list[str]) -> None:
    """The control plane's own scheduler always has a profile for pods that name none, and no name twice."""
    assert names == [profile["schedulerName"] for profile in config(packing=packing)["profiles"]]


def test_profiles_beside_the_packing_one_are_untouched() -> None:
    """The serving profile and the default are kube-scheduler's own: nothing but a name."""
    profiles = config(packing={"serving": {"schedulerName": "spread"}})["profiles"]

    assert profiles[1:] == [{"schedulerName": "spread"}, {"schedulerName": "default-scheduler"}]


def test_a_cap_in_filter_form_needs_an_image_that_has_the_plugin() -> None:
    """With an own image the plugin filters with the cap's numbers; the stock image is never told to load it."""
    caps = {"form": "filter", "exemptWholeNode": True, "headroom": {"cpu": 2, "memory": "8Gi"}}

    profile = config(image="example.com/kube-scheduler:1", caps=caps)["profiles"][0]
    stock = config(caps=caps)["profiles"][0]

    assert profile["plugins"]["filter"] == {"enabled": [{"name": "NodeUtilizationCap"}]}
    assert profile["pluginConfig"][2] == {
        "name": "NodeUtilizationCap",
        "args": {
            "minFree": {"cpu": "2", "memory": "8Gi"},
            "exemptWholeNode": True,
            "devices": ["nvidia.com/gpu"],
        },
    }
    assert "filter" not in stock["plugins"]
    assert [entry["name"] for entry in stock["pluginConfig"]] == ["NodeResourcesFit", "PodTopologySpread"]


def test_a_cap_filters_by_what_it_states_only() -> None:
    """A headroom without cpu gives no cpu to keep free, and whole-node pods are not exempt unless asked."""
    caps = {"form": "filter", "headroom": {"memory": "1536Mi"}}

    profile = config(image="example.com/kube-scheduler:1", caps=caps)["profiles"][0]

    assert profile["pluginConfig"][2]["args"] == {"minFree": {"memory": "1536Mi"}}


class TestHash:
    """The hash that makes a kubelet or a Deployment start the scheduler anew (case sc13)."""

    def test_it_is_equal_for_equal_configurations(self) -> None:
        """What does not reach the configuration does not restart the scheduler."""
        again = scheduler_plan("kubeadm", policies={"acceptLoss": True})

        assert (
            scheduler_configuration(scheduler_plan("kubeadm")).digest == scheduler_configuration(again).digest
        )

    def test_it_differs_with_every_number(self) -> None:
        """Another weight is another hash."""
        variants = [{}, {"pluginWeight": 1}, {"pluginWeight": 10}, {"resourceWeights": {"gpu": 10}}]

        digests = {scheduler_configuration(scheduler_plan("kubeadm", packing=p)).digest for p in variants}

        assert len(variants) == len(digests)


class TestReasons:
    """Where each field comes from."""

    @pytest.mark.parametrize("control_plane", list(PLATFORMS))
    def test_every_reason_is_about_a_field_that_exists(self, control_plane: str) -> None:
        """A trace path always leads to a value of its document, and every reason names profile paths or none."""
        plan = scheduler_plan(
            control_plane,
            image="example.com/kube-scheduler:1",
            caps={"form": "filter", "headroom": {"cpu": 1}},
            packing={"percentageOfNodesToScore": 50, "serving": {"schedulerName": "spread"}},
        )

        dangling = [
            (document.path, path)
            for document in documents(plan)
            for path in document.trace
            if lookup(document.body, path)[1] != path
        ]
        foreign = [
            path
            for document in documents(plan)
            for because in (document.why, *document.trace.values())
            for path in because.paths
            if path[0] != "spec"
        ]

        assert dangling == []
        assert foreign == []

    def test_every_weight_carries_the_reason_of_the_plan(self) -> None:
        """explain prints for each plugin and resource weight why it has its value, and from which lines."""
        plan = scheduler_plan("kubeadm")
        file = documents(plan)[0]
        enabled = ("profiles", 0, "plugins", "score", "enabled")
        resources = ("profiles", 0, "pluginConfig", 0, "args", "scoringStrategy", "resources")

        assert [s.reason for s in plan.scheduler.scorers] == [
            file.because((*enabled, index, "weight")).reason for index in range(5)
        ]
        assert plan.scheduler.resource_reason == file.because((*resources, 2, "weight")).reason
        assert file.because((*resources, 2, "weight")).paths == (("spec", "nodePools", 0, "gpu"),)

    @pytest.mark.parametrize(
        ("packing", "path", "stated"),
        [
            ({"pluginWeight": 9}, ("plugins", "score", "enabled", 0, "weight"), "pluginWeight"),
            (
                {"keepScorers": {"ImageLocality": 3}},
                ("plugins", "score", "enabled", 5, "weight"),
                "keepScorers",
            ),
            (
                {"resourceWeights": {"gpu": 9}},
                ("pluginConfig", 0, "args", "scoringStrategy", "resources", 2, "weight"),
                "resourceWeights",
            ),
            ({"percentageOfNodesToScore": 30}, ("percentageOfNodesToScore",), "percentageOfNodesToScore"),
            ({"schedulerName": "pack"}, ("schedulerName",), "schedulerName"),
        ],
    )
    def test_a_stated_number_leads_back_to_its_line(
        self, packing: dict[str, Any], path: tuple[str | int, ...], stated: str
    ) -> None:
        """What the profile states itself is traced to the key that states it."""
        file = documents(scheduler_plan("kubeadm", packing=packing))[0]

        assert stated in {origin[2] for origin in file.because(("profiles", 0, *path)).paths}

    def test_a_configuration_inside_an_object_keeps_its_reasons(self) -> None:
        """Where the configuration is text inside an object, the text's reason holds all of them."""
        plan = scheduler_plan("second-scheduler")
        [config_map] = [d for d in documents(plan) if d.body["kind"] == "ConfigMap"]

        because = config_map.because(("data", "kube-scheduler-config.yaml"))

        assert all(scorer.reason in because.reason for scorer in plan.scheduler.scorers)


class TestEmbeddedYaml:
    """YAML text inside other objects."""

    @pytest.mark.parametrize(
        "text", ["1e3", "0x1f", "on", "n", "null", "1.30", "08", "-", "*", "a: b", "#", "2", "inf", "", "~"]
    )
    def test_text_is_text_to_every_reader(self, text: str) -> None:
        """What some YAML reader takes for a number, a boolean or null stands in quotes."""
        written = to_yaml({"name": text})

        assert f'name: "{text}"\n' == written
        assert {"name": text} == yaml.safe_load(written)

    def test_plain_words_stay_bare(self) -> None:
        """Names and paths are as a person would write them."""
        assert to_yaml({"a": "batch-packer", "b": "/etc/x.conf", "c": 3, "d": True}) == (
            "a: batch-packer\nb: /etc/x.conf\nc: 3\nd: true\n"
        )

    @pytest.mark.parametrize("control_plane", ["aks", "second-scheduler"])
    def test_the_text_holds_the_configuration(self, control_plane: str) -> None:
        """A reader of the embedded text gets the configuration back, with the scheduler's name as text."""
        plan = scheduler_plan(control_plane, packing={"schedulerName": "1e3"})
        [text] = [
            document.body["spec"]["rawConfig"]
            if control_plane == "aks"
            else document.body["data"]["kube-scheduler-config.yaml"]
            for document in documents(plan)
            if document.body["kind"] in ("SchedulerConfiguration", "ConfigMap")
        ]

        assert '- schedulerName: "1e3"\n' in text
        assert yaml.safe_load(text)["profiles"][0]["schedulerName"] == "1e3"


@pytest.mark.parametrize("control_plane", list(PLATFORMS))
def test_the_same_plan_gives_the_same_outputs(control_plane: str) -> None:
    """Compiling twice gives equal outputs in equal order."""
    plan = scheduler_plan(control_plane)

    assert outputs(plan) == outputs(scheduler_plan(control_plane))


@pytest.mark.parametrize("control_plane", WHOLE_CONFIGURATION)
def test_a_control_plane_that_takes_a_whole_configuration_loses_nothing(control_plane: str) -> None:
    """Every part of an ordinary profile is expressed."""
    assert all(isinstance(output, Document) for output in outputs(scheduler_plan(control_plane)))
