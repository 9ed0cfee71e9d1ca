"""Problems that people reported in public, as they would meet them with a profile; named by case.

Cases about objects that a target emits stand beside that target's tests and carry the same names.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from binpackgen.compilation import compile_profile
from binpackgen.document import Document
from binpackgen.errors import FindingsError

PROFILE = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm}
  packing: {}
  nodePools:
    - {name: gpu, count: 4, cpu: 64, memory: 256Gi, gpu: {type: a100, count: 8}}
  priorityTiers:
    - {name: low, value: 10}
  queues:
    - {name: main, namespaces: [ml], quota: {a100: 100%}}
  jobs:
    - {name: train, template: single-gpu, queue: main, image: t, each: {cpu: 6, memory: 24Gi, gpu: {type: a100, count: 1}}}
"""


def found(*changes: tuple[str, str]) -> list[tuple[str, int, str]]:
    """(code, line, message) of everything that is said about the profile with `changes`."""
    text = PROFILE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    try:
        findings = list(compile_profile("-", stdin=text.encode(), today=date(2026, 1, 1)).findings)
    except FindingsError as error:
        findings = error.findings
    return [(finding.code, finding.span.line, finding.message) for finding in findings]


def codes(*changes: tuple[str, str]) -> set[str]:
    return {code for code, _, _ in found(*changes)}


def documents(*changes: tuple[str, str]) -> list[Document]:
    text = PROFILE
    for old, new in changes:
        text = text.replace(old, new, 1)
    compiled = compile_profile("-", stdin=text.encode(), today=date(2026, 1, 1))
    return [output for output in compiled.outputs if isinstance(output, Document)]


def test_the_profile_of_this_file_is_good() -> None:
    """The negative control: without a change nothing is refused."""
    assert set() == codes() - {"BP306"}


@pytest.mark.parametrize("version", ["1.30", "1.9", "1.31"])
def test_ym01_a_version_that_is_a_number_is_refused(version: str) -> None:
    """Also 1.9 and 1.31, which survive as numbers by luck."""
    [(code, line, message)] = found(('"1.37"', version))

    assert ("BP008", 5) == (code, line)
    assert f'quote it, "{version}"' in message


def test_ym01_versions_compare_by_their_numbers() -> None:
    """1.9 is older than 1.10 and much older than 1.31."""
    assert "BP210" in codes(('"1.37"', '"1.9"'))
    assert set() == codes(('"1.37"', '"1.31"')) - {"BP306"}


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ('"6GiB"', "6Gi"),
        ('"200GB"', "200Gi"),
        ('"100Mb"', "100Mi"),
        ('"1 Gi"', "1Gi"),
        ('"1KI"', ""),
        ('"1e6Mi"', ""),
        ('"1_000"', ""),
        ('"0x10"', ""),
        ('"1,5Gi"', "1.5Gi"),
        ('""', ""),
        ('"1K"', "1k"),
        ('"1e"', ""),
        ('"1Gi "', "1Gi"),
        ("-1Gi", ""),
    ],
)
def test_qt01_units_that_kubernetes_lacks_are_refused(text: str, suggestion: str) -> None:
    """What was probably meant is suggested."""
    [(code, line, message)] = found(("memory: 256Gi", f"memory: {text}"))

    assert ("BP009", 8) == (code, line)
    assert suggestion in message


@pytest.mark.parametrize("text", ["270e9", "0.25Ti", "256Gi", "+256Gi", "274877906944", ".25Ti", "262144Mi"])
def test_qt01_every_way_of_writing_that_kubernetes_takes_is_taken(text: str) -> None:
    """Exponents, fractions and signs are quantities, too."""
    assert set() == codes(("memory: 256Gi", f'memory: "{text}"')) - {"BP306"}


@pytest.mark.parametrize("text", ["1.1Gi", "3500m", "512", "8192"])
def test_qt02_memory_that_is_surely_a_mistake_is_refused(text: str) -> None:
    """Parts of bytes, milli-bytes and missing units never reach a node."""
    assert {"BP009"} == codes(("memory: 24Gi", f"memory: {text}"))


def test_qt02_a_fraction_that_is_whole_is_taken() -> None:
    """1.5Gi is 1536Mi exactly, and half a core is half a core."""
    assert set() == codes(("cpu: 6, memory: 24Gi", "cpu: 6500m, memory: 24.5Gi")) - {"BP306"}


@pytest.mark.parametrize(
    ("count", "taken"),
    [
        ("0.5", False),
        ("500m", False),
        ("1500m", False),
        ("-1", False),
        ('"3Ki"', False),
        ("1000m", True),
        ("1.0", True),
        ("3000m", True),
    ],
)
def test_qt03_gpu_counts_are_compared_as_numbers(count: str, taken: bool) -> None:
    """Whole counts are taken in any notation; halves of a GPU and thousands of them are not."""
    assert taken == (set() == codes(("a100, count: 1}", f"a100, count: {count}}}")) - {"BP306"})


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("NVIDIA TITAN X (Pascal)", False),
        ("NVIDIA-TITAN-X-(Pascal)", False),
        ("GeForce GTX 1070", False),
        ("AMD Instinct MI250X / MI250", False),
        ("X9SRA/X9SRA-3", False),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition-MIG-1g.24gb", False),
        ("NVIDIA-A100-SXM4-40GB", True),
        ("Tesla-T4-SHARED", True),
    ],
)
def test_lb01_gpu_types_are_label_values(name: str, taken: bool) -> None:
    """A type that no node can carry as a label is refused where it is written, never cut."""
    text = PROFILE.replace("a100: 100%", "gpu: 100%").replace("type: a100", f'type: "{name}"')
    try:
        compile_profile("-", stdin=text.encode())
        refused = False
    except FindingsError as error:
        refused = {"BP009"} == {finding.code for finding in error.findings}

    assert taken is not refused


@pytest.mark.parametrize(
    ("tier", "code"),
    [
        ("{name: low, value: 2000002000}", "BP303"),
        ("{name: low, value: 1000000001}", "BP303"),
        ("{name: low, value: 1000000000}", None),
        ("{name: system-gpu-critical, value: 10}", "BP302"),
        ("{name: low, value: -2147483649}", "BP009"),
        ("{name: low, value: 1e6}", "BP004"),
        ('{name: low, value: "1000000"}', "BP008"),
        ("{name: low, value: 1_000_000}", "BP004"),
    ],
)
def test_pr02_priorities_that_the_api_refuses_are_refused_here(tier: str, code: str | None) -> None:
    """Values beyond the user's range, reserved names, and numbers that readers disagree about."""
    assert ({code} if code else set()) == codes(("{name: low, value: 10}", tier)) - {"BP306"}


def test_dp04_mixed_slices_are_resources_of_their_own() -> None:
    """A job asks for the slice by the plugin's name, with the plus as a dot; queues cover it."""
    pool = "gpu: {type: a100, count: 8, mig: {strategy: mixed, slices: [{profile: 1g.5gb+me, count: 8}]}}"
    made = documents(("gpu: {type: a100, count: 8}", pool))

    [job] = [document.body for document in made if document.path == "jobs/train.yaml"]
    limits = job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    [queue] = [document.body for document in made if document.path == "kueue/cluster-queues.yaml"]
    assert "1" == limits["nvidia.com/mig-1g.5gb.me"]
    assert "nvidia.com/mig-1g.5gb.me" in queue["spec"]["resourceGroups"][0]["coveredResources"]


def test_dp04_a_slice_is_not_asked_for_by_name_where_all_slices_are_gpus() -> None:
    """With strategy single the resource is nvidia.com/gpu, and unequal slices are refused."""
    single = "gpu: {type: a100, count: 8, mig: {strategy: single, slices: [{profile: 1g.5gb, count: 56}]}}"
    unequal = single.replace("count: 56}", "count: 6}, {profile: 2g.10gb, count: 2}")
    named = ("a100, count: 1}", "a100, count: 1, resource: nvidia.com/mig-1g.5gb}")

    assert "BP513" in codes(("gpu: {type: a100, count: 8}", single), named)
    assert "BP105" in codes(("gpu: {type: a100, count: 8}", unequal))


def test_kq07_a_queue_covers_everything_that_its_jobs_request() -> None:
    """No job waits for a resource that the queue forgot, and none runs without requests outside all quota."""
    made = documents()
    [queue] = [document.body for document in made if document.path == "kueue/cluster-queues.yaml"]
    [job] = [document.body for document in made if document.path == "jobs/train.yaml"]

    requests = job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    assert set(requests) == set(queue["spec"]["resourceGroups"][0]["coveredResources"])


def test_kq08_a_quota_in_nodes_is_noticed() -> None:
    """Four nodes of 64 cores and eight GPUs: 4 GPUs or 4 cores is the number of nodes, not their content."""
    assert "BP405" in codes(("a100: 100%", "a100: {gpu: 4, cpu: 4, memory: 256Gi}"))


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ("[{utilization: 0, score: 0}, {utilization: 100, score: 100}]", "BP009"),
        ("[{utilization: 100, score: 10}, {utilization: 0, score: 0}]", "BP207"),
        ("[]", "BP009"),
        ("[{utilization: 0, score: 10}, {utilization: 100, score: 0}]", "BP209"),
        ("[{utilization: 0, score: 0}, {utilization: 100, score: 10}]", None),
    ],
)
def test_sc11_shapes_that_stop_the_scheduler_are_refused(shape: str, code: str | None) -> None:
    """Scores run from 0 to 10, utilization rises, and a falling shape does not pack."""
    packing = f"packing: {{strategy: RequestedToCapacityRatio, shape: {shape}}}"

    assert (
        (code in codes(("packing: {}", packing))) if code else "BP207" not in codes(("packing: {}", packing))
    )


def _profiles() -> dict[str, dict[str, Any]]:
    [configuration] = [d.body for d in documents() if d.path == "scheduler/kube-scheduler-config.yaml"]
    return {profile["schedulerName"]: profile for profile in configuration["profiles"]}


def test_sc01_weights_and_strategy_stand_in_one_profile_that_jobs_name() -> None:
    """The profile with the weights has the strategy, and the pods ask for it by name."""
    packer = _profiles()["batch-packer"]
    [job] = [d.body for d in documents() if d.path == "jobs/train.yaml"]

    strategies = [
        c["args"]["scoringStrategy"]["type"]
        for c in packer["pluginConfig"]
        if c["name"] == "NodeResourcesFit"
    ]
    assert ["MostAllocated"] == strategies
    assert "NodeResourcesFit" == packer["plugins"]["score"]["enabled"][0]["name"]
    assert "batch-packer" == job["spec"]["template"]["spec"]["schedulerName"]


def test_pk01_a_weight_that_spreading_outvotes_is_refused() -> None:
    """MostAllocated alone leaves weight 1: the finding says by how much the others win."""
    [message] = [m for code, _, m in found(("packing: {}", "packing: {pluginWeight: 1}")) if code == "BP201"]

    assert "weight 1 lets other scorers outvote packing" in message
    assert "(margin -890)" in message


def test_pk01_default_spreading_is_off_for_packed_pods() -> None:
    """The system's default constraints, which a Service turns on, do not reach the packing profile."""
    spread = [
        c["args"] for c in _profiles()["batch-packer"]["pluginConfig"] if c["name"] == "PodTopologySpread"
    ]

    assert [{"defaultingType": "List"}] == spread


def test_pk02_gpus_are_always_among_the_scored_resources() -> None:
    """A pool with GPUs puts its resource into the strategy, with the largest weight."""
    [fit] = [
        c["args"] for c in _profiles()["batch-packer"]["pluginConfig"] if c["name"] == "NodeResourcesFit"
    ]
    weights = {resource["name"]: resource["weight"] for resource in fit["scoringStrategy"]["resources"]}

    assert "nvidia.com/gpu" == max(weights, key=lambda name: weights[name])


def test_pk05_images_on_nodes_do_not_draw_pods() -> None:
    """ImageLocality is off, and keeping it raises the weight of packing above what it can say."""
    assert "ImageLocality" not in {
        entry["name"] for entry in _profiles()["batch-packer"]["plugins"]["score"]["enabled"]
    }


def test_go04_jobs_are_never_synced() -> None:
    """A Job in a synced folder fails at its first change, so job manifests are not in the kustomization."""
    assert all(not document.sync for document in documents() if document.path.startswith("jobs/"))
    assert all("Replace=true" not in str(document.body) for document in documents())


def test_js02_no_template_uses_exclusive_placement() -> None:
    """It needs indexed completion and wastes GPUs where a domain is a node."""
    assert all("exclusive-topology" not in str(document.body) for document in documents())
