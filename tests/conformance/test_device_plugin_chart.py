"""Values rendered by the real chart, configurations read by the plugin's own code (k8s-device-plugin 0.19.0)."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.canonical import to_yaml
from binpackgen.document import Document
from binpackgen.plan.model import Plan
from binpackgen.targets import device_plugin
from binpackgen_e2e.binaries import device_plugin_chart, helm
from tests.conformance.emitted import plans
from tests.conformance.go_program import answer
from tests.conformance.tiers import ask

pytestmark = pytest.mark.timeout(600)

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside the repository")

Object = dict[str, Any]
Taint = Mapping[str, str]


def render(values: str, namespace: str = device_plugin.NAMESPACE) -> subprocess.CompletedProcess[str]:
    command = [
        ask(helm),
        "template",
        "nvdp",
        ask(device_plugin_chart),
        "--namespace",
        namespace,
        "--values",
        "-",
    ]
    return subprocess.run(list(map(str, command)), input=values, capture_output=True, text=True, timeout=120)


def daemon_sets(values: str) -> dict[str, Object]:
    """Pod specs of the rendered DaemonSets, by what they are."""
    done = render(values)
    assert done.returncode == 0, done.stderr
    names = {
        "nvdp-nvidia-device-plugin": "plugin",
        "nvdp-nvidia-device-plugin-gpu-feature-discovery": "gfd",
        "nvdp-nvidia-device-plugin-mps-control-daemon": "mps",
        "nvdp-node-feature-discovery-worker": "worker",
    }
    return {
        names[one["metadata"]["name"]]: one["spec"]["template"]["spec"]
        for one in yaml.safe_load_all(done.stdout)
        if one and one["kind"] == "DaemonSet"
    }


def runs_on(pod: Object, labels: Mapping[str, str], taints: Sequence[Taint]) -> bool:
    """Whether the DaemonSet controller wants the pod on a node (pkg/controller/daemon, v1.37.2)."""
    affinity = (pod.get("affinity") or {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms")
    selected = all(labels.get(key) == value for key, value in (pod.get("nodeSelector") or {}).items())
    matched = terms is None or any(
        all(labels.get(one["key"]) in one["values"] for one in term["matchExpressions"]) for term in terms
    )
    return selected and matched and all(tolerated(pod.get("tolerations") or [], taint) for taint in taints)


def tolerated(tolerations: Sequence[Taint], taint: Taint) -> bool:
    """Whether one of `tolerations` covers the taint, written down independently of the compiler."""
    if taint["effect"] == "PreferNoSchedule":
        return True
    for one in tolerations:
        key_fits = one.get("key") in (None, "", taint["key"])
        effect_fits = one.get("effect") in (None, "", taint["effect"])
        value_fits = one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", "")
        if key_fits and effect_fits and value_fits:
            return True
    return False


def compiled() -> list[tuple[Plan, Document]]:
    """Every plan with NVIDIA GPUs, and its values."""
    return [
        (one, output)
        for one in plans()
        for output in device_plugin.compile(one)
        if isinstance(output, Document)
    ]


def configurations(document: Document) -> dict[str, str]:
    found: dict[str, str] = document.body.get("config", {}).get("map", {})
    return found


def test_every_gpu_node_gets_its_pods() -> None:
    """Plugin, GPU feature discovery and the worker run on every node of NVIDIA pools; the plugin on no other."""
    cases = compiled()
    wrong = []
    for plan, document in cases:
        pods = daemon_sets(to_yaml(document.body))
        for pool in plan.pools:
            taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in pool.taints]
            present = {name for name, pod in pods.items() if runs_on(pod, pool.labels, taints)} - {"mps"}
            if pool.has_gpus and present != {"plugin", "gfd", "worker"}:
                wrong.append((plan.name, pool.name, present))
            if not pool.has_gpus and "plugin" in present:
                wrong.append((plan.name, pool.name, present))

    assert len(cases) > 2
    assert wrong == []


def test_the_configurations_reach_the_config_map_and_nothing_overrides_them() -> None:
    """The rendered ConfigMap holds each configuration, and no environment variable of the plugin beats one."""
    cases = [(plan, document) for plan, document in compiled() if configurations(document)]
    for _, document in cases:
        done = render(to_yaml(document.body))
        objects = [one for one in yaml.safe_load_all(done.stdout) if one]
        (config_map,) = [
            one for one in objects if one["metadata"]["name"] == "nvdp-nvidia-device-plugin-configs"
        ]
        plugin = daemon_sets(to_yaml(document.body))["plugin"]
        containers = {one["name"]: one for one in plugin["containers"]}
        names = {one["name"] for one in containers["nvidia-device-plugin-ctr"]["env"]}

        assert {name: yaml.safe_load(text) for name, text in config_map["data"].items()} == {
            name: yaml.safe_load(text) for name, text in configurations(document).items()
        }
        assert names == {
            *("MPS_ROOT", "CONFIG_FILE", "NVIDIA_MIG_MONITOR_DEVICES"),
            *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
        }
    assert cases


def test_nodes_name_only_configurations_that_exist() -> None:
    """An unknown name in a node's label is skipped by the plugin without a word."""
    for plan, document in compiled():
        named = {pool.labels.get("nvidia.com/device-plugin.config") for pool in plan.pools} - {None}

        assert named == set(configurations(document)) - {"default"}


def kept(written: Any, understood: Any) -> bool:
    """Whether everything that was written is part of what the plugin understood."""
    if isinstance(written, dict):
        return isinstance(understood, dict) and all(
            key in understood and kept(value, understood[key]) for key, value in written.items()
        )
    if isinstance(written, list):
        return len(written) == len(understood) and all(map(kept, written, understood))
    return bool(written == understood)


def test_the_plugin_reads_every_configuration_and_drops_nothing() -> None:
    """The plugin's parser accepts each file; since it ignores unknown keys, all that was written must come back."""
    texts = sorted({text for _, document in compiled() for text in configurations(document).values()})
    answers = ask(lambda: answer("device_plugin", texts))

    assert len(texts) > 3
    assert [
        kept(yaml.safe_load(text), one.get("config")) for text, one in zip(texts, answers, strict=True)
    ] == [True for _ in texts]


@needs_cases
def test_recorded_answers_of_the_plugins_parser() -> None:
    """Negative control: files that the plugin refuses, and one that it reads but drops keys of (cases dp02, dp03)."""
    paths = [CASES / "dp02" / "a-rename-under-flags.yaml", *sorted((CASES / "dp03").glob("*.yaml"))]
    answers = ask(lambda: answer("device_plugin", [path.read_text() for path in paths]))
    outcome = {
        path.name: one.get("error") or kept(yaml.safe_load(path.read_text()), one["config"])
        for path, one in zip(paths, answers, strict=True)
    }
    reasons = {name: text.rpartition(": ")[2] for name, text in outcome.items() if isinstance(text, str)}

    assert {name: flag for name, flag in outcome.items() if isinstance(flag, bool)} == {
        "a-rename-under-flags.yaml": False,
        "c-no-sharing.yaml": True,
        "g-other-vendor.yaml": False,
        "h-typo.yaml": False,
    }
    assert set(reasons) == {
        "a-replicas-one.yaml",
        "b-empty-timeslicing.yaml",
        "d-version-number.yaml",
        "e-version-v2.yaml",
        "f-replicas-string.yaml",
    }
    assert reasons["a-replicas-one.yaml"] == "number of replicas must be >= 2"


@needs_cases
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a-values", {"without": set(), "labelled": {"plugin", "gfd"}}),
        ("b-values-fixed", {"without": {"worker"}, "labelled": {"plugin", "gfd", "worker"}}),
        ("c-values-wiped", {"without": set(), "labelled": set()}),
        ("d-values-no-gfd", {"without": set(), "labelled": {"plugin"}}),
    ],
)
def test_recorded_counts_of_a_real_daemon_set_controller(name: str, expected: dict[str, set[str]]) -> None:
    """Negative control: which pods a tainted GPU node gets, with and without nvidia.com/gpu.present (case dp01)."""
    pods = daemon_sets((CASES / "dp01" / f"{name}.yaml").read_text())
    node = yaml.safe_load((CASES / "dp01" / "nodes.yaml").read_text())
    labels, taints = node["metadata"]["labels"], node["spec"]["taints"]
    outcome = {
        kind: {one for one, pod in pods.items() if runs_on(pod, labels | more, taints)} - {"mps"}
        for kind, more in (("without", {}), ("labelled", {"nvidia.com/gpu.present": "true"}))
    }

    assert outcome == expected


def test_the_chart_refuses_the_namespace_default() -> None:
    """The command in the reason names a namespace of its own, since the chart wants one."""
    done = render("{}", "default")

    assert done.returncode != 0
    assert "Running in the 'default' namespace is not recommended" in done.stderr


def test_several_configurations_need_an_entry_called_default() -> None:
    """Negative control: without it the chart does not render."""
    done = render("config: {map: {a: 'version: v1', b: 'version: v1'}}")

    assert done.returncode != 0
    assert "A default config must be provided" in done.stderr
