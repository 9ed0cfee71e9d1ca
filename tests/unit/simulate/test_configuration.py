"""Scheduler configurations are merged as kube-scheduler merges them; the unmodeled is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from binpackgen.scheduler.plugins import default_scorers
from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.model import SYSTEM_SPREAD, SchedulerProfile, UnmodeledError

DEFAULTS = {plugin.name: plugin.weight for plugin in default_scorers(37)}


def weights(plugins: dict[str, Any]) -> dict[str, int]:
    profile = read_profiles({"profiles": [{"plugins": plugins}]}, 37)["default-scheduler"]
    return dict(profile.weights)


@pytest.mark.parametrize("minor", [31, 34, 35, 37])
def test_an_empty_configuration_is_the_default(minor: int) -> None:
    """One profile with the plugins and weights of its minor."""
    (profile,) = read_profiles({}, minor).values()

    assert {plugin.name: plugin.weight for plugin in default_scorers(minor)} == profile.weights
    model = SchedulerProfile(minor)
    for field in (
        "name",
        "strategy",
        "resources",
        "filters",
        "default_spread",
        "system_spread",
        "percentage",
    ):
        assert getattr(model, field) == getattr(profile, field)
    assert SYSTEM_SPREAD == profile.default_spread


@pytest.mark.parametrize(
    ("plugins", "changed"),
    [
        ({"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 10}]}}, {"NodeResourcesFit": 10}),
        ({"score": {"enabled": [{"name": "NodeAffinity"}]}}, {"NodeAffinity": 1}),
        ({"multiPoint": {"enabled": [{"name": "TaintToleration"}]}}, {"TaintToleration": 1}),
        ({"score": {"disabled": [{"name": "ImageLocality"}]}}, {"ImageLocality": None}),
        ({"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}, {"ImageLocality": None}),
        (
            {"score": {"enabled": [{"name": "ImageLocality"}], "disabled": [{"name": "ImageLocality"}]}},
            {"ImageLocality": 1},
        ),
        (
            {
                "score": {
                    "disabled": [{"name": "*"}],
                    "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
                }
            },
            dict.fromkeys(DEFAULTS) | {"NodeResourcesFit": 5},
        ),
        (
            {
                "multiPoint": {"enabled": [{"name": "NodeResourcesFit", "weight": 3}]},
                "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 7}]},
            },
            {"NodeResourcesFit": 7},
        ),
    ],
)
def test_weights(plugins: dict[str, Any], changed: dict[str, int | None]) -> None:
    """`score` wins over multiPoint, weight 0 is 1, `*` clears the extension point."""
    expected = {name: weight for name, weight in (DEFAULTS | changed).items() if weight is not None}

    assert expected == weights(plugins)


def test_a_plugin_off_at_score_still_filters() -> None:
    """Extension points are apart from each other."""
    plugins = {
        "score": {"disabled": [{"name": "TaintToleration"}]},
        "filter": {"disabled": [{"name": "NodeAffinity"}]},
    }
    profile = read_profiles({"profiles": [{"plugins": plugins}]}, 37)["default-scheduler"]

    assert "TaintToleration" in profile.filters
    assert "NodeAffinity" not in profile.filters
    assert profile.weights["NodeAffinity"] == 2


def test_the_share_of_nodes() -> None:
    """A profile's own percentage wins over the global one, even a stated 0."""
    configuration = {
        "percentageOfNodesToScore": 40,
        "profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 0}],
    }
    profiles = read_profiles(configuration, 37)

    assert (40, 0) == (profiles["a"].percentage, profiles["b"].percentage)


def test_arguments_of_one_profile_stay_there() -> None:
    """The other profile keeps the defaults."""
    strategy = {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "nvidia.com/gpu", "weight": 9}, {"name": "cpu"}],
        "requestedToCapacityRatio": {"shape": [{"utilization": 0}, {"utilization": 100, "score": 10}]},
    }
    arguments = [
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy, "ignoredResources": ["x/y"]}}
    ]
    profiles = read_profiles(
        {"profiles": [{"schedulerName": "a", "pluginConfig": arguments}, {"schedulerName": "b"}]}, 37
    )

    assert (("nvidia.com/gpu", 9), ("cpu", 1)) == profiles["a"].resources
    assert ((0, 0), (100, 10)) == profiles["a"].shape
    assert {"x/y"} == profiles["a"].ignored_resources
    assert profiles["b"].strategy == "LeastAllocated"


FIELDS = {
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchFields": [{}]}}]
}


@pytest.mark.parametrize(
    ("configuration", "features"),
    [
        ({"extenders": [{"urlPrefix": "http://x"}]}, ["extenders"]),
        ({"profiles": [{"plugins": {"preScore": {"disabled": [{"name": "*"}]}}}]}, ["plugins.preScore"]),
        (
            {"profiles": [{"plugins": {"score": {"enabled": [{"name": "Coscheduling"}]}}}]},
            ["plugin Coscheduling"],
        ),
        (
            {
                "profiles": [
                    {
                        "plugins": {
                            "multiPoint": {"disabled": [{"name": "*"}]},
                            "score": {"enabled": [{"name": "PodTopologySpread"}]},
                            "filter": {"enabled": [{"name": "NodeResourcesFit"}]},
                        }
                    }
                ]
            },
            ["PodTopologySpread at score alone", "NodeResourcesFit at filter alone"],
        ),
        ({"profiles": [{"pluginConfig": [{"name": "Mine", "args": {"x": 1}}]}]}, ["Mine argument x"]),
        (
            {"profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": FIELDS}}]}]},
            ["NodeAffinity addedAffinity by matchFields"],
        ),
    ],
)
def test_what_is_not_modeled_is_refused(configuration: dict[str, Any], features: list[str]) -> None:
    """Everything that could change a decision is named."""
    with pytest.raises(UnmodeledError) as caught:
        read_profiles(configuration, 37)

    assert features == list(caught.value.features)


@pytest.mark.parametrize("minor", [30, 38])
def test_an_unknown_minor_is_refused(minor: int) -> None:
    """Formulas of other minors are not known."""
    with pytest.raises(UnmodeledError, match=rf"Kubernetes 1\.{minor}"):
        read_profiles({}, minor)
