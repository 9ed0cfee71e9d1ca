"""Values of the NVIDIA device plugin's chart."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from binpackgen.document import Document, Unsupported
from binpackgen.plan.model import PlannedTaint
from binpackgen.targets import device_plugin
from tests.targets.plan_factory import plan

CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}
ANY_GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
MASTER = {"key": "node-role.kubernetes.io/master", "operator": "Equal", "value": "", "effect": "NoSchedule"}
PRESENT = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}


def outputs(*pools: str) -> list[Any]:
    lines = "\n".join(
        f"  - {{name: p{n}, count: 1, cpu: 8, memory: 32Gi, {pool}}}" for n, pool in enumerate(pools)
    )
    return list(device_plugin.compile(plan(f"nodePools:\n{lines}\n")))


def values(*pools: str) -> dict[str, Any]:
    (document,) = outputs(*pools)
    assert isinstance(document, Document)
    assert (document.path, document.sync) == ("device-plugin/values.yaml", False)
    body: dict[str, Any] = document.body
    return body


def configurations(*pools: str) -> dict[str, Any]:
    return {name: yaml.safe_load(text) for name, text in values(*pools)["config"]["map"].items()}


def gpu(more: str = "") -> str:
    return f"gpu: {{type: a100, count: 2{', ' if more else ''}{more}}}"


def test_whole_gpus_with_the_usual_taint_need_no_more_than_discovery() -> None:
    """The chart's defaults serve pools of whole GPUs with the taint that binpackgen gives them."""
    assert values(gpu()) == {"gfd": {"enabled": True}}


def test_one_replica_is_no_sharing() -> None:
    """The plugin refuses 1 replica, so a pool that states it has whole GPUs (case dp03)."""
    assert values(gpu("sharing: {strategy: time-slicing, replicas: 1}")) == {"gfd": {"enabled": True}}


def test_each_way_of_sharing_is_a_configuration_and_default_is_none() -> None:
    """Equal pools share an entry; nodes without a label get whole GPUs; options stand below sharing (case dp02)."""
    assert configurations(
        gpu(),
        gpu("sharing: {strategy: time-slicing, replicas: 4, rename: true}"),
        gpu("sharing: {strategy: time-slicing, replicas: 4, rename: true}"),
        gpu("sharing: {strategy: mps, replicas: 2}"),
        gpu("mig: {strategy: mixed, slices: [{profile: 1g.5gb, count: 7}]}"),
        gpu("mig: {strategy: single, slices: [{profile: 3g.20gb, count: 2}]}"),
    ) == {
        "default": {"version": "v1"},
        "mig-mixed": {"version": "v1", "flags": {"migStrategy": "mixed"}},
        "mig-single": {"version": "v1", "flags": {"migStrategy": "single"}},
        "mps-2": {
            "version": "v1",
            "sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}},
        },
        "time-slicing-4-renamed": {
            "version": "v1",
            "sharing": {
                "timeSlicing": {
                    "renameByDefault": True,
                    "failRequestsGreaterThanOne": True,
                    "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
                }
            },
        },
    }


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", None),
        ("sharing: {strategy: time-slicing, replicas: 1}", None),
        ("sharing: {strategy: time-slicing, replicas: 4}", "time-slicing-4"),
        ("sharing: {strategy: time-slicing, replicas: 4, rename: true}", "time-slicing-4-renamed"),
        ("mig: {strategy: mixed, slices: [{profile: 1g.5gb, count: 7}]}", "mig-mixed"),
    ],
)
def test_nodes_choose_their_configuration_by_a_label_of_the_pool(more: str, expected: str | None) -> None:
    """The label of a pool names an entry of the map; whole GPUs need no label."""
    made = plan(f"nodePools: [{{name: p, count: 1, cpu: 8, memory: 32Gi, {gpu(more)}}}]")
    label = made.pools[0].labels.get("nvidia.com/device-plugin.config")

    assert label == expected
    if expected is not None:
        assert expected in configurations(gpu(more))


def test_a_list_keeps_what_the_chart_tolerates_by_itself() -> None:
    """Helm replaces lists, so a taint of one's own must not cost the chart's tolerations (case dp01 c)."""
    dedicated = {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}
    found = values(
        gpu() + ", taints: [{key: nvidia.com/gpu, value: present}, {key: dedicated, effect: NoExecute}]"
    )

    assert found["tolerations"] == [CRITICAL, ANY_GPU, dedicated]
    assert found["nfd"]["worker"]["tolerations"] == [MASTER, PRESENT, dedicated]


def test_another_value_of_the_gpu_taint_is_tolerated_by_the_worker_too() -> None:
    """The plugin tolerates any value, node-feature-discovery's worker only "present" (case dp01 a)."""
    found = values(gpu() + ', taints: [{key: nvidia.com/gpu, value: "true"}]')

    assert found == {
        "gfd": {"enabled": True},
        "nfd": {"worker": {"tolerations": [MASTER, PRESENT, ANY_GPU]}},
    }


def test_a_preference_keeps_nobody_away() -> None:
    """A taint of effect PreferNoSchedule needs no toleration."""
    assert values(gpu() + ", taints: [{key: x, effect: PreferNoSchedule}]") == {"gfd": {"enabled": True}}


def test_taints_by_feature_rules_are_switched_on() -> None:
    """nfd-master ignores the taints of a NodeFeatureRule unless it is told otherwise."""
    assert values(gpu() + ", provisioning: nfd")["nfd"] == {"master": {"enableTaints": True}}


def test_no_chart_value_overrides_a_configuration() -> None:
    """Values such as migStrategy become environment variables, which beat the configuration on every node."""
    found = values(gpu("mig: {strategy: mixed, slices: [{profile: 1g.5gb, count: 7}]}"), "taints: [{key: x}]")

    assert set(found) == {"config", "gfd"}


def test_other_vendors_are_left_alone() -> None:
    """The chart is NVIDIA's; pools of other GPUs and of none make no values, and get none of its labels."""
    assert outputs("gpu: {type: mi300x, count: 8, resource: amd.com/gpu}", "labels: {a: b}") == []
    made = plan(
        "nodePools: [{name: p, count: 1, cpu: 8, memory: 32Gi, gpu: {type: x, count: 8, resource: amd.com/gpu}}]"
    )
    assert not [key for key in made.pools[0].labels if key.startswith("nvidia.com/")]


def test_a_name_that_the_plugin_ignores_is_refused() -> None:
    """The plugin offers whole GPUs as nvidia.com/gpu, whatever its configuration says."""
    found = outputs("gpu: {type: a100, count: 2, resource: nvidia.com/a100}")

    assert [(one.what, one.at) for one in found if isinstance(one, Unsupported)] == [
        ("pool p0 offering nvidia.com/a100", ("spec", "nodePools", 0, "gpu", "resource"))
    ]


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "b", "operator": "Exists"}, False),
        ({"key": "a", "value": "x"}, True),
        ({"key": "a", "operator": "Equal", "value": "y"}, False),
        ({"key": "a"}, False),
    ],
)
def test_tolerates(toleration: dict[str, str], expected: bool) -> None:
    """Key, value and effect must agree; what is not stated agrees with everything, except the value."""
    assert device_plugin.tolerates(toleration, PlannedTaint("a", "x", "NoSchedule")) is expected
