"""Every form of the scheduler configuration, read by the real kube-scheduler that it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binpackgen.canonical import to_yaml
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.plan.platforms import PLATFORMS
from binpackgen.profile.load import load_profile
from binpackgen.scheduler.plugins import default_scorers
from binpackgen_e2e.binaries import versions
from tests.conformance.scheduler_binaries import (
    MINORS,
    STOCK,
    Answer,
    arguments,
    as_the_scheduler_gets_it,
    ask_scheduler,
    effective_weights,
)
from tests.targets.scheduler_factory import POOLS, WHOLE_CONFIGURATION, scheduler_plan

# a binary that is not in the cache is built first
pytestmark = pytest.mark.timeout(1800)

SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 70, "score": 3}, {"utilization": 100, "score": 10}]
VARIANTS: dict[str, dict[str, Any]] = {
    "derived": {},
    "ratio": {"packing": {"strategy": "RequestedToCapacityRatio", "shape": SHAPE}},
    "curve": {"caps": {"form": "curve", "headroom": {"cpu": 2, "memory": "8Gi"}}},
    "serving": {"packing": {"serving": {"schedulerName": "spread"}}},
    "stated": {
        "packing": {
            "pluginWeight": 2**31 - 1,
            "resourceWeights": {"cpu": 3, "memory": 2, "gpu": 100},
            "cpuOnlyPods": "anywhere",
        }
    },
    "kept": {"packing": {"keepScorers": {"ImageLocality": 7, "NodeResourcesBalancedAllocation": 100}}},
    "share": {"packing": {"percentageOfNodesToScore": 40}},
    "many-nodes": {"nodePools": [{**POOLS[0], "count": 150}, POOLS[1]]},
    "name-like-a-number": {"packing": {"schedulerName": "1e3"}},
    "anywhere": {"packing": {"cpuOnlyPods": "anywhere"}},
}


def expected_weights(plan: Plan) -> dict[str, int]:
    return {scorer.plugin: scorer.weight for scorer in plan.scheduler.scorers}


def actual_weights(minor: str, plan: Plan, answer: Answer) -> dict[str, int]:
    return effective_weights(minor, answer.profiles[plan.scheduler.name])


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("variant", list(VARIANTS))
@pytest.mark.parametrize("control_plane", WHOLE_CONFIGURATION)
def test_the_scheduler_scores_with_the_weights_of_the_plan(
    control_plane: str, variant: str, minor: str, tmp_path: Path
) -> None:
    """The real scheduler takes the file, and scores with the plan's plugins and weights and with no other."""
    plan = scheduler_plan(control_plane, minor, **VARIANTS[variant])

    answer = ask_scheduler(minor, as_the_scheduler_gets_it(plan), tmp_path)

    assert expected_weights(plan) == actual_weights(minor, plan, answer)
    profile = answer.profiles[plan.scheduler.name]
    strategy = arguments(profile, "NodeResourcesFit")["scoringStrategy"]
    assert plan.scheduler.strategy == strategy["type"]
    assert dict(plan.scheduler.resource_weights) == {r["name"]: r["weight"] for r in strategy["resources"]}
    shape = strategy.get("requestedToCapacityRatio", {}).get("shape", [])
    assert list(plan.scheduler.shape) == [
        (point.get("utilization", 0), point.get("score", 0)) for point in shape
    ]
    assert arguments(profile, "PodTopologySpread") == {"defaultingType": "List"}
    assert answer.written is not None
    assert plan.scheduler.percentage_of_nodes_to_score == (
        profile.get("percentageOfNodesToScore") or answer.written["percentageOfNodesToScore"] or None
    )


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("control_plane", WHOLE_CONFIGURATION)
def test_profiles_beside_the_packing_one_are_stock(control_plane: str, minor: str, tmp_path: Path) -> None:
    """Serving pods, and pods that name no scheduler, get the stock weights and LeastAllocated."""
    plan = scheduler_plan(control_plane, minor, **VARIANTS["serving"])

    profiles = ask_scheduler(minor, as_the_scheduler_gets_it(plan), tmp_path).profiles

    own = control_plane not in ("aks", "second-scheduler")
    assert {"batch-packer", "spread"} | ({"default-scheduler"} if own else set()) == set(profiles)
    for name in set(profiles) - {"batch-packer"}:
        assert STOCK[minor] == effective_weights(minor, profiles[name])
        assert arguments(profiles[name], "NodeResourcesFit")["scoringStrategy"]["type"] == "LeastAllocated"
        assert arguments(profiles[name], "PodTopologySpread") == {"defaultingType": "System"}


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("control_plane", ["kubeadm", "kind", "k3s", "rke2", "talos", "aks"])
def test_taking_over_the_default_scheduler(control_plane: str, minor: str, tmp_path: Path) -> None:
    """Where the packing profile is default-scheduler itself, it is the only one and has the plan's weights."""
    plan = scheduler_plan(control_plane, minor, packing={"schedulerName": "default-scheduler"})

    answer = ask_scheduler(minor, as_the_scheduler_gets_it(plan), tmp_path)

    assert {"default-scheduler"} == set(answer.profiles)
    assert expected_weights(plan) == actual_weights(minor, plan, answer)


@pytest.mark.parametrize("minor", MINORS)
def test_a_second_scheduler_has_a_lease_of_its_own(minor: str, tmp_path: Path) -> None:
    """It never competes for the lease of the control plane's scheduler; a control plane's file leaves that alone."""
    second = ask_scheduler(
        minor, as_the_scheduler_gets_it(scheduler_plan("second-scheduler", minor)), tmp_path
    )
    own = ask_scheduler(minor, as_the_scheduler_gets_it(scheduler_plan("kubeadm", minor)), tmp_path)

    def lease(answer: Answer) -> tuple[bool, str, str]:
        assert answer.written is not None
        found = answer.written["leaderElection"]
        return found["leaderElect"], found["resourceNamespace"], found["resourceName"]

    assert lease(second) == (True, "binpackgen-scheduler", "binpackgen-scheduler")
    assert lease(own) == (True, "kube-system", "kube-scheduler")


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("control_plane", ["kubeadm", "kind", "rke2", "talos", "second-scheduler"])
def test_a_filter_cap_is_for_an_own_image_only(control_plane: str, minor: str, tmp_path: Path) -> None:
    """The stock scheduler refuses the plugin by name; without an own image it is never told to load it."""
    caps = {"form": "filter", "exemptWholeNode": True, "headroom": {"cpu": 2, "memory": "8Gi"}}
    own = scheduler_plan(control_plane, minor, image="example.com/kube-scheduler:1", caps=caps)
    stock = scheduler_plan(control_plane, minor, caps=caps)

    refused = ask_scheduler(minor, as_the_scheduler_gets_it(own), tmp_path)
    taken = ask_scheduler(minor, as_the_scheduler_gets_it(stock), tmp_path)

    assert refused.written is None
    assert 'FilterPlugin "NodeUtilizationCap" does not exist' in refused.message
    assert expected_weights(stock) == actual_weights(minor, stock, taken)


class TestNegativeControls:
    """The same comparison finds what a wrong generator would write."""

    @staticmethod
    def packing_profile(minor: str) -> tuple[Plan, dict[str, Any]]:
        plan = scheduler_plan("kubeadm", minor)
        return plan, {
            "schedulerName": plan.scheduler.name,
            "plugins": {
                "score": {
                    "disabled": [{"name": "*"}],
                    "enabled": [{"name": s.plugin, "weight": s.weight} for s in plan.scheduler.scorers],
                }
            },
        }

    @staticmethod
    def ask(minor: str, profile: dict[str, Any], folder: Path) -> Answer:
        text = to_yaml(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "clientConnection": {"kubeconfig": "KUBECONFIG"},
                "profiles": [profile],
            }
        )
        return ask_scheduler(minor, text, folder)

    @pytest.mark.parametrize("minor", MINORS)
    def test_the_handmade_profile_is_right(self, minor: str, tmp_path: Path) -> None:
        """The profile that the other controls break passes as it is."""
        plan, profile = self.packing_profile(minor)

        assert expected_weights(plan) == actual_weights(minor, plan, self.ask(minor, profile, tmp_path))

    @pytest.mark.parametrize("minor", MINORS)
    def test_rivals_that_were_left_on(self, minor: str, tmp_path: Path) -> None:
        """MostAllocated alone leaves every stock scorer alive with its stock weight."""
        plan, profile = self.packing_profile(minor)
        del profile["plugins"]
        profile["pluginConfig"] = [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
        ]

        actual = actual_weights(minor, plan, self.ask(minor, profile, tmp_path))

        assert STOCK[minor] == actual
        assert expected_weights(plan) != actual

    @pytest.mark.parametrize("minor", MINORS)
    def test_one_rival_that_was_left_on(self, minor: str, tmp_path: Path) -> None:
        """Switching rivals off one by one misses those that are not named."""
        plan, profile = self.packing_profile(minor)
        profile["plugins"]["score"]["disabled"] = [{"name": "NodeResourcesBalancedAllocation"}]

        actual = actual_weights(minor, plan, self.ask(minor, profile, tmp_path))

        assert "ImageLocality" in actual
        assert expected_weights(plan) != actual

    @pytest.mark.parametrize("minor", MINORS)
    def test_another_plugin_weight(self, minor: str, tmp_path: Path) -> None:
        """A plugin weight of 1000 is valid, and not the plan's."""
        plan, profile = self.packing_profile(minor)
        profile["plugins"]["score"]["enabled"][0]["weight"] = 1000

        actual = actual_weights(minor, plan, self.ask(minor, profile, tmp_path))

        assert actual["NodeResourcesFit"] == 1000
        assert expected_weights(plan) != actual

    @pytest.mark.parametrize("minor", MINORS)
    def test_a_resource_weight_out_of_range(self, minor: str, tmp_path: Path) -> None:
        """A resource weight of 1000 stops the scheduler."""
        _, profile = self.packing_profile(minor)
        strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1000}]}
        profile["pluginConfig"] = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]

        answer = self.ask(minor, profile, tmp_path)

        assert answer.written is None
        assert "resource weight of cpu not in valid range (0, 100]" in answer.message

    @pytest.mark.parametrize("minor", MINORS)
    def test_an_unknown_field(self, minor: str, tmp_path: Path) -> None:
        """A misspelt field stops the scheduler."""
        _, profile = self.packing_profile(minor)
        profile["plugin"] = profile.pop("plugins")

        answer = self.ask(minor, profile, tmp_path)

        assert answer.written is None
        assert 'strict decoding error: unknown field "profiles[0].plugin"' in answer.message

    @pytest.mark.parametrize("minor", MINORS)
    def test_a_scheduler_name_without_quotes(self, minor: str, tmp_path: Path) -> None:
        """A name that looks like a number is one to the scheduler unless it is quoted."""
        text = (
            "apiVersion: kubescheduler.config.k8s.io/v1\n"
            "kind: KubeSchedulerConfiguration\n"
            "clientConnection: {kubeconfig: KUBECONFIG}\n"
            "profiles: [{schedulerName: 1e3}]\n"
        )

        answer = ask_scheduler(minor, text, tmp_path)

        assert answer.written is None
        assert "json: cannot unmarshal number" in answer.message


@pytest.mark.parametrize("minor", versions("kube-scheduler"))
def test_the_table_of_default_scorers_is_that_of_the_real_scheduler(minor: str, tmp_path: Path) -> None:
    """What the compiler believes to be on by default, with its weight, is what every pinned binary says."""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    stock = to_yaml({**head, "clientConnection": {"kubeconfig": "KUBECONFIG"}})

    answer = ask_scheduler(minor, stock, tmp_path)

    listed = answer.profiles["default-scheduler"]["plugins"]["multiPoint"]["enabled"]
    weights = {entry["name"]: entry.get("weight", 0) or 1 for entry in listed}
    believed = {plugin.name: plugin.weight for plugin in default_scorers(int(minor.split(".")[1]))}
    assert believed == {name: weights[name] for name in believed}
    # whatever has a stated weight scores, and must be in the table
    assert {entry["name"] for entry in listed if entry.get("weight")} <= set(believed)


def committed() -> list[str]:
    """The example profiles whose control plane takes a whole configuration."""
    profiles = sorted((Path(__file__).resolve().parents[2] / "profiles").glob("*.yaml"))
    return [
        str(path)
        for path in profiles
        if PLATFORMS[load_profile(str(path)).profile.spec.kubernetes.control_plane].takes != "object"
    ]


@pytest.mark.parametrize("profile", committed(), ids=lambda path: Path(path).stem)
def test_every_example_profile_scores_as_planned_on_its_own_minor(profile: str, tmp_path: Path) -> None:
    """The article's cluster, openb and each control-plane form, on the Kubernetes version that they name."""
    plan = compile_plan(load_profile(profile))
    minor = f"1.{plan.minor}"

    answer = ask_scheduler(minor, as_the_scheduler_gets_it(plan), tmp_path)

    assert expected_weights(plan) == actual_weights(minor, plan, answer)
    strategy = arguments(answer.profiles[plan.scheduler.name], "NodeResourcesFit")["scoringStrategy"]
    assert dict(plan.scheduler.resource_weights) == {r["name"]: r["weight"] for r in strategy["resources"]}
