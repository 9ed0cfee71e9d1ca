"""Manifests of jobs: whole documents, placement, names, reasons, and what templates can and cannot do."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binpackgen.canonical import to_yaml
from binpackgen.document import Because, Document, Unsupported
from binpackgen.errors import BinpackgenError, FindingsError
from binpackgen.finding import Severity
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import load_profile
from binpackgen.rules.templates import BUILT_IN_TEMPLATES
from binpackgen.source import path_text
from binpackgen.targets.jobs import compile_jobs, template_names
from binpackgen.targets.jobs.names import longest_name
from tests.targets.jobs_factory import (
    NO_GPU,
    ONE_GPU,
    POOLS,
    QUEUE,
    document,
    job,
    job_specs,
    jobs_plan,
    outputs,
    pod_specs,
)

GOLDEN = Path(__file__).parent / "golden_jobs"
BUILT_IN = Path(__file__).parents[2] / "templates"
HEAD = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: own}\n"
POD = "spec: {template: {metadata: {}, spec: {containers: [{name: main}]}}}\n"


# --- whole manifests -------------------------------------------------------------------------------------


def test_the_manifests_of_every_template_are_these() -> None:
    """Every built-in template gives the manifest in golden_jobs/, and no file there is left over.

    BINPACKGEN_UPDATE_GOLDEN=1 writes the files anew.
    """
    plan = compile_plan(load_profile(str(GOLDEN / "lab.profile.yaml")))
    actual = {
        Path(one.path).name: to_yaml(one.body) for one in compile_jobs(plan) if isinstance(one, Document)
    }
    if os.environ.get("BINPACKGEN_UPDATE_GOLDEN") == "1":
        for name, text in actual.items():
            (GOLDEN / name).write_text(text, encoding="utf-8")

    expected = {
        file.name: file.read_text("utf-8")
        for file in GOLDEN.glob("*.yaml")
        if file.name != "lab.profile.yaml"
    }

    assert expected == actual
    assert {one.source.template for one in plan.jobs} == set(BUILT_IN_TEMPLATES)


def test_manifests_are_files_of_their_own_that_gitops_does_not_apply() -> None:
    """A Job in a synced folder would be created again or fail for ever, since its spec cannot be changed."""
    made = outputs(jobs_plan(job(), job("etl", name="other", each=NO_GPU)))

    assert [(one.path, one.sync) for one in made if isinstance(one, Document)] == [
        ("jobs/job.yaml", False),
        ("jobs/other.yaml", False),
    ]


def test_a_profile_without_jobs_gives_nothing() -> None:
    """Without jobs there is no manifest, and a folder of templates is not even looked at."""
    assert outputs(jobs_plan(), Path("does-not-exist")) == []


def test_the_same_job_gives_the_same_manifest_beside_any_others() -> None:
    """What is kept between renderings does not leak from one job into another."""
    jobs = [
        job(template, name=f"job-{number}", workers=number % 3 + 1, volumes=volumes, each=each)
        for number, (template, volumes, each) in enumerate(
            (template, volumes, each)
            for template in BUILT_IN_TEMPLATES
            for volumes in ({}, {"data": "in"}, {"data": "in", "output": "out"})
            for each in (ONE_GPU, NO_GPU)
        )
    ]
    alone = {one["name"]: document(one, queues=[QUEUE]).body for one in jobs if one["each"] is ONE_GPU}
    jobs.sort(key=lambda one: (one["name"][::-1], one["template"]))

    together = outputs(jobs_plan(*jobs, queues=[QUEUE]))

    actual = {one.body["metadata"]["name"]: one.body for one in together if isinstance(one, Document)}
    assert alone == {name: actual[name] for name in alone}


def test_two_places_of_a_manifest_share_no_data() -> None:
    """Requests and limits are equal but not one object, so that changing one leaves the other alone."""
    container = pod_specs(document(job()).body)[0]["containers"][0]

    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert container["resources"]["requests"] is not container["resources"]["limits"]


# --- placement -------------------------------------------------------------------------------------------

PLACEMENT = (
    "schedulerName",
    "priorityClassName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
)


def placement(body: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {key: value for key, value in pod_specs(body)[index].items() if key in PLACEMENT}


GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def preferred(key: str, weight: int, *values: str) -> dict[str, Any]:
    expression = {"key": f"binpackgen.dev/{key}", "operator": "In", "values": list(values)}
    return {"weight": weight, "preference": {"matchExpressions": [expression]}}


def node_affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def test_gpu_pods_stay_on_their_type_and_tolerate_its_taint() -> None:
    """A pod that names a GPU type goes to the packing scheduler, to nodes of that type and no others."""
    expected = {
        "schedulerName": "batch-packer",
        "nodeSelector": {"binpackgen.dev/gpu-type": "v100"},
        "tolerations": [GPU_TAINT],
    }

    assert expected == placement(document(job()).body)


def test_the_labels_are_those_that_the_profile_gives_to_nodes() -> None:
    """Selectors and preferences use the profile's label keys."""
    labels = {"gpuType": "gpu.type", "pool": "example.com/pool"}
    pools = [*POOLS, {**POOLS[2], "name": "big", "cpu": 128}, {**POOLS[0], "name": "wide", "cpu": 96}]

    gpu = document(job(), nodeLabels=labels)
    cpu = document(job("etl", each=NO_GPU), nodeLabels=labels, nodePools=pools)

    assert placement(gpu.body)["nodeSelector"] == {"gpu.type": "v100"}
    terms = placement(cpu.body)["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["preference"]["matchExpressions"][0] for term in terms] == [
        {"key": "gpu.type", "operator": "In", "values": ["none"]},
        {"key": "example.com/pool", "operator": "In", "values": ["wide"]},
        {"key": "example.com/pool", "operator": "In", "values": ["v100"]},
    ]


def test_cpu_only_pods_prefer_pools_and_may_go_anywhere() -> None:
    """CPU pools first, then the pools with most cores per GPU; the last class needs no term, all are tolerated."""
    expected = {
        "schedulerName": "batch-packer",
        "affinity": node_affinity(preferred("gpu-type", 100, "none"), preferred("gpu-type", 50, "v100")),
        "tolerations": [GPU_TAINT],
    }

    assert expected == placement(document(job("etl", each=NO_GPU)).body)


def test_smaller_gpu_pods_prefer_nodes_that_larger_ones_cannot_use() -> None:
    """Of the types that a job may take, first those without pods of 8 GPUs; a pod with 8 prefers none."""
    any_type = {"cpu": 4, "memory": "16Gi", "gpu": {"count": 1}}
    largest = {"cpu": 48, "memory": "192Gi", "gpu": {"count": 8}}
    one, eight = (
        output
        for output in outputs(jobs_plan(job(each=any_type), job(name="eight", each=largest)))
        if isinstance(output, Document)
    )
    path = ("nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", 0)

    assert {
        "schedulerName": "batch-packer",
        "affinity": node_affinity(preferred("gpu-type", 100, "a100")),
        "tolerations": [GPU_TAINT],
    } == placement(one.body)
    assert {"schedulerName": "batch-packer", "tolerations": [GPU_TAINT]} == placement(eight.body)
    assert Because(
        "smaller pods go first where no larger one is kept out: a100 (no pods with 8 GPUs to leave room for) with "
        "weight 100",
        (("spec", "nodePools", 1),),
    ) == one.because(("spec", "template", "spec", "affinity", *path))


def test_cpu_only_pods_can_be_kept_off_gpu_pools() -> None:
    """cpu-pools-only selects nodes without GPUs and tolerates nothing."""
    body = document(job("etl", each=NO_GPU), packing={"cpuOnlyPods": "cpu-pools-only"}).body

    assert placement(body) == {
        "schedulerName": "batch-packer",
        "nodeSelector": {"binpackgen.dev/gpu-type": "none"},
    }


@pytest.mark.parametrize("each", [{"cpu": 40, "memory": "64Gi", "gpu": {"type": "v100", "count": 4}}])
def test_cpu_only_pods_can_be_kept_to_spare_cores(each: dict[str, Any]) -> None:
    """Off pools whose GPUs need all cores: by GPU type, which is what Kueue looks at, and by pool where that differs."""
    spare = {**POOLS[0], "name": "spare", "cpu": 128}
    made = jobs_plan(
        job(each=each),
        job("etl", name="etl", each=NO_GPU),
        nodePools=[*POOLS, spare],
        packing={"cpuOnlyPods": "spare-cores"},
    )
    [etl] = [
        output
        for output in outputs(made)
        if isinstance(output, Document) and output.body["metadata"]["name"] == "etl"
    ]
    required = placement(etl.body)["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]

    assert {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "binpackgen.dev/gpu-type", "operator": "In", "values": ["a100", "none", "v100"]},
                    {"key": "binpackgen.dev/pool", "operator": "In", "values": sorted(made.cpu_only_pools)},
                ]
            }
        ]
    } == required
    assert "v100" not in made.cpu_only_pools
    assert "spare" in made.cpu_only_pools


def test_cpu_only_pods_can_go_wherever_packing_puts_them() -> None:
    """`anywhere` tolerates the GPU taint and prefers nothing."""
    body = document(job("etl", each=NO_GPU), packing={"cpuOnlyPods": "anywhere"}).body

    assert placement(body) == {"schedulerName": "batch-packer", "tolerations": [GPU_TAINT]}


@pytest.mark.parametrize(
    ("cpu_only_pods", "hidden"), [("cpu-pools-first", True), ("anywhere", True), ("cpu-pools-only", False)]
)
def test_cpu_only_pods_on_gpu_nodes_see_no_gpu(cpu_only_pods: str, hidden: bool) -> None:
    """Where nvidia is the default runtime an image may ask for all GPUs by a variable; the pod takes that back."""
    body = document(job("etl", each=NO_GPU), packing={"cpuOnlyPods": cpu_only_pods}).body

    variables = {one["name"]: one["value"] for one in pod_specs(body)[0]["containers"][0]["env"]}
    assert ({"NVIDIA_VISIBLE_DEVICES": "void"} if hidden else {}) == {
        name: value for name, value in variables.items() if name.startswith("NVIDIA")
    }


def test_a_taint_that_only_discourages_is_not_tolerated() -> None:
    """PreferNoSchedule keeps nobody off, and tolerating it would take the wish away."""
    taints = [
        {"key": "gpu", "effect": "NoSchedule"},
        {"key": "old", "value": "x", "effect": "PreferNoSchedule"},
        {"key": "lab", "value": "y", "effect": "NoExecute"},
    ]
    body = document(job(), nodePools=[{**POOLS[0], "taints": taints}]).body

    assert placement(body)["tolerations"] == [
        {"key": "gpu", "effect": "NoSchedule"},
        {"key": "lab", "value": "y", "effect": "NoExecute"},
    ]


def test_taints_of_pools_that_cannot_hold_the_pods_are_not_tolerated() -> None:
    """Tolerations follow from where a pod can run, type and size taken together."""
    pools = [
        POOLS[0],
        {**POOLS[0], "name": "small", "cpu": 2, "taints": [{"key": "small", "effect": "NoSchedule"}]},
        {**POOLS[1], "taints": [{"key": "a100", "effect": "NoSchedule"}]},
    ]

    assert placement(document(job(), nodePools=pools).body)["tolerations"] == [GPU_TAINT]


@pytest.mark.parametrize("control_plane", ["openshift", "eks", "gke", "gardener"])
def test_a_control_plane_without_scheduler_names_gets_none(control_plane: str) -> None:
    """A schedulerName that no scheduler has would leave the pods pending for ever."""
    assert "schedulerName" not in placement(document(job(), control_plane=control_plane).body)


def test_packing_by_the_default_scheduler_needs_no_name() -> None:
    """default-scheduler is what pods get anyway."""
    body = document(job(), packing={"schedulerName": "default-scheduler"}).body

    assert "schedulerName" not in placement(body)


ANY_GPU = {"cpu": 4, "memory": "16Gi", "gpu": {"count": 1}}


def same_type(**labels: str) -> dict[str, Any]:
    names = {"name": "app.kubernetes.io/name", "component": "app.kubernetes.io/component"}
    term = {
        "labelSelector": {"matchLabels": {names[key]: value for key, value in sorted(labels.items())}},
        "topologyKey": "binpackgen.dev/gpu-type",
    }
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_pods_of_one_job_never_mix_gpu_types() -> None:
    """A job that takes any type takes one: the first pod decides."""
    assert {
        "schedulerName": "batch-packer",
        "affinity": same_type(name="job"),
        "tolerations": [GPU_TAINT],
    } == placement(document(job("pytorch-ddp", each=ANY_GPU, workers=2)).body)


@pytest.mark.parametrize(
    ("what", "spec", "pools"),
    [
        ("one pod", {"workers": 1}, POOLS),
        ("Kueue pins the flavor", {"workers": 2, "queue": "vision"}, POOLS),
        ("one type", {"workers": 2}, [POOLS[0], POOLS[2]]),
        ("a type is named", {"workers": 2, "each": ONE_GPU}, POOLS),
    ],
)
def test_no_affinity_where_types_cannot_mix(
    what: str, spec: dict[str, Any], pools: list[dict[str, Any]]
) -> None:
    """Pod affinity costs the scheduler much, so pods have it only where it changes anything."""
    body = document(job("pytorch-ddp", **{"each": ANY_GPU, **spec}), nodePools=pools, queues=[QUEUE]).body

    assert "affinity" not in placement(body), what


def test_a_cpu_only_master_does_not_bind_the_workers_type() -> None:
    """Only pods that ask for GPUs count, or workers would have to follow their master to a CPU node."""
    body = document(job("master-workers", each=ANY_GPU, master=NO_GPU, workers=2)).body

    assert same_type(name="job", component="worker") == placement(body, 1)["affinity"]


def off_workers(name: str = "job") -> dict[str, Any]:
    labels = {
        "jobset.sigs.k8s.io/jobset-name": name,
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
    }
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_the_master_keeps_off_its_workers_nodes() -> None:
    """Required anti-affinity on the master alone: the scheduler reads it both ways."""
    body = document(job("master-workers", workers=4)).body

    assert [one["name"] for one in body["spec"]["replicatedJobs"]] == ["master", "workers"]
    assert off_workers() == placement(body, 0)["affinity"]
    assert "affinity" not in placement(body, 1)


# --- JobSets where the scheduler cannot be told -------------------------------------------------------------


@pytest.mark.parametrize("control_plane", ["openshift", "eks", "gke", "gardener"])
def test_jobsets_are_not_spread_by_a_closed_control_plane(control_plane: str) -> None:
    """A constraint that is always met keeps the default ones away; preferred affinity packs in their place."""
    body = document(job("pytorch-ddp", workers=2), control_plane=control_plane).body

    labels = {"jobset.sigs.k8s.io/jobset-name": "job"}
    beside = {
        "labelSelector": {"matchLabels": {**labels, "jobset.sigs.k8s.io/replicatedjob-name": "workers"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    assert {
        "nodeSelector": {"binpackgen.dev/gpu-type": "v100"},
        "tolerations": [GPU_TAINT],
        "topologySpreadConstraints": [
            {
                "maxSkew": 2147483647,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": labels},
            }
        ],
        "affinity": {
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 100, "podAffinityTerm": beside}
                ]
            }
        },
    } == placement(body)


def test_a_closed_control_plane_gets_nothing_for_plain_jobs() -> None:
    """No Service selects a plain Job's pods, so nothing spreads them."""
    assert placement(document(job(), control_plane="gke").body) == {
        "nodeSelector": {"binpackgen.dev/gpu-type": "v100"},
        "tolerations": [GPU_TAINT],
    }


def test_a_single_master_needs_no_company() -> None:
    """The affinity for company is for several pods; the master keeps its anti-affinity alone."""
    body = document(job("master-workers", workers=3), control_plane="eks").body

    assert off_workers() == placement(body, 0)["affinity"]
    assert list(placement(body, 1)["affinity"]) == ["podAffinity"]


def test_an_open_control_plane_needs_no_constraint_and_says_why() -> None:
    """The packing profile has no default spreading; the reason stands with the scheduler's name."""
    made = document(job("pytorch-ddp", workers=2))

    at = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "schedulerName")
    assert "topologySpreadConstraints" not in placement(made.body)
    assert (
        made.because(at).reason
        == "pods opt in to packing by naming the scheduler profile batch-packer; it has no default spreading, so the "
        "JobSet's Service does not spread them"
    )


# --- queues ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "more"),
    [("single-gpu", {}), ("pytorch-ddp", {"workers": 2}), ("master-workers", {}), ("array", {}), ("etl", {})],
)
def test_a_queued_job_is_suspended_and_carries_the_queue_on_its_own_metadata(
    template: str, more: dict[str, Any]
) -> None:
    """Kueue looks at the labels of the Job or JobSet; on a pod template the label does nothing (case kq11)."""
    tiers = [{"name": "low", "value": 1}]
    body = document(
        job(template, queue="vision", tier="low", **more), queues=[QUEUE], priorityTiers=tiers
    ).body

    labels = body["metadata"]["labels"]
    assert (
        labels["kueue.x-k8s.io/queue-name"],
        labels["kueue.x-k8s.io/priority-class"],
        body["spec"]["suspend"],
        body["metadata"]["namespace"],
    ) == ("vision", "low", True, "ai")
    for spec in job_specs(body):
        assert not [key for key in spec["template"]["metadata"]["labels"] if "kueue" in key]


def test_a_scheduled_queued_job_has_the_queue_on_the_jobs_that_the_cronjob_makes() -> None:
    """The CronJob itself is never queued."""
    body = document(job("etl", each=NO_GPU, queue="vision", schedule="@daily"), queues=[QUEUE]).body

    inner = body["spec"]["jobTemplate"]
    assert "kueue.x-k8s.io/queue-name" not in body["metadata"]["labels"]
    assert (
        inner["metadata"]["labels"]["kueue.x-k8s.io/queue-name"],
        inner["spec"]["suspend"],
    ) == ("vision", True)


def test_a_job_without_queue_starts_at_once() -> None:
    """No label and no suspension, or the job would wait for a Kueue that does not know it."""
    body = document(job()).body

    assert "suspend" not in body["spec"]
    assert not [key for key in body["metadata"]["labels"] if "kueue" in key]


def test_kueue_bounds_the_restarts_of_a_jobset() -> None:
    """A child Job's deadline starts anew with each restart; Kueue's counts over all of them."""
    queued = document(job("pytorch-ddp", workers=2, queue="vision", deadline="2h"), queues=[QUEUE]).body
    free = document(job("pytorch-ddp", workers=2, deadline="2h")).body
    single = document(job("pytorch-ddp", queue="vision", deadline="2h"), queues=[QUEUE]).body

    label = "kueue.x-k8s.io/max-exec-time-seconds"
    assert [one["metadata"]["labels"].get(label) for one in (queued, free, single)] == ["7200", None, None]
    assert sorted(queued["metadata"]["labels"]) == list(queued["metadata"]["labels"])


def test_topology_aware_queues_are_asked_for_the_narrowest_domain() -> None:
    """Pods of a JobSet that belong together say so to Kueue; a master alone has nothing to say."""
    queueing = {"topologyLevels": ["example.com/block", "example.com/rack"]}
    body = document(job("master-workers", workers=4, queue="vision"), queues=[QUEUE], queueing=queueing).body

    metadata = [spec["template"]["metadata"] for spec in job_specs(body)]
    assert [one.get("annotations") for one in metadata] == [
        None,
        {"kueue.x-k8s.io/podset-preferred-topology": "example.com/rack"},
    ]
    assert off_workers() == placement(body, 0)["affinity"]


def test_kueue_that_assigns_nodes_cannot_give_the_master_its_own() -> None:
    """With hostnames as topology level Kueue chooses nodes and reads no anti-affinity: that is said, not dropped."""
    queueing = {"topologyLevels": ["example.com/rack", "kubernetes.io/hostname"]}
    plan = jobs_plan(job("master-workers", workers=4, queue="vision"), queues=[QUEUE], queueing=queueing)

    lost, made = outputs(plan)

    assert isinstance(lost, Unsupported)
    assert isinstance(made, Document)
    assert (lost.what, lost.at) == ('a node of its own for the master of job "job"', ("spec", "jobs", 0))
    assert "affinity" not in placement(made.body, 0)


# --- schedules, retries, deadlines -------------------------------------------------------------------------


@pytest.mark.parametrize("template", ["single-gpu", "pytorch-ddp", "array", "etl"])
def test_a_schedule_makes_any_job_a_cronjob(template: str) -> None:
    """The CronJob creates exactly the Job that the template makes without a schedule."""
    plain = document(job(template)).body
    scheduled = document(job(template, schedule="0 2 * * *")).body

    assert {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": plain["metadata"],
        "spec": {
            "schedule": "0 2 * * *",
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"metadata": {"labels": plain["metadata"]["labels"]}, "spec": plain["spec"]},
        },
    } == scheduled


@pytest.mark.parametrize("template", ["pytorch-ddp", "master-workers"])
def test_a_jobset_has_no_schedule_and_that_is_said(template: str) -> None:
    """CronJobs create Jobs only; the schedule is refused, or lost with consent, but never dropped in silence."""
    lost, made = outputs(jobs_plan(job(template, workers=2, schedule="@daily")))

    assert isinstance(lost, Unsupported)
    assert isinstance(made, Document)
    assert (lost.what, lost.at) == ('a schedule for job "job"', ("spec", "jobs", 0, "schedule"))
    assert made.body["kind"] == "JobSet"


def test_deadlines_stand_on_jobs_and_never_on_pods() -> None:
    """A pod's own deadline would only replace the pod (case jb02)."""
    for template in BUILT_IN_TEMPLATES:
        body = document(job(template, workers=2, deadline="90m")).body
        assert {5400} == {spec["activeDeadlineSeconds"] for spec in job_specs(body)}
        assert not [pod for pod in pod_specs(body) if "activeDeadlineSeconds" in pod]


def test_evictions_do_not_use_up_retries() -> None:
    """A Job ignores them; a JobSet starts again without counting, and ends at its deadline."""
    single = document(job(retries=5)).body
    jobset = document(job("pytorch-ddp", workers=2, retries=5)).body

    def policy(action: str) -> dict[str, Any]:
        conditions = [{"type": "DisruptionTarget", "status": "True"}]
        return {"rules": [{"action": action, "onPodConditions": conditions}]}

    assert (5, policy("Ignore")) == (single["spec"]["backoffLimit"], single["spec"]["podFailurePolicy"])
    (spec,) = job_specs(jobset)
    assert (0, policy("FailJob")) == (spec["backoffLimit"], spec["podFailurePolicy"])
    assert jobset["spec"]["failurePolicy"] == {
        "maxRestarts": 5,
        "rules": [
            {"name": "deadline", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
            {
                "name": "eviction",
                "action": "RestartJobSetAndIgnoreMaxRestarts",
                "onJobFailureReasons": ["PodFailurePolicy"],
            },
        ],
    }


@pytest.mark.parametrize(("completions", "limit"), [(100_000, None), (100_001, 10_000)])
def test_a_huge_array_limits_its_failed_indexes(completions: int, limit: int | None) -> None:
    """Beyond 100000 indexes the API wants maxFailedIndexes, and takes at most 10000."""
    assert limit == document(job("array", completions=completions)).body["spec"].get("maxFailedIndexes")


@pytest.mark.parametrize("template", ["single-gpu", "etl"])
def test_several_workers_are_never_dropped(template: str) -> None:
    """Templates for one pod run as many as the profile asks for."""
    body = document(job(template, workers=3, completions=9)).body

    assert (body["spec"]["parallelism"], body["spec"]["completions"]) == (3, 9)


# --- contents of pods --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("each", "more", "size"),
    [
        (ONE_GPU, {}, "4Gi"),
        ({**ONE_GPU, "memory": "9Gi"}, {}, "2304Mi"),
        ({**ONE_GPU, "memory": "4195Mi"}, {}, "1048Mi"),
        (NO_GPU, {}, None),
        (NO_GPU, {"sharedMemory": "1Gi"}, "1Gi"),
        (ONE_GPU, {"sharedMemory": "12Gi"}, "12Gi"),
    ],
)
def test_shared_memory_is_a_quarter_of_a_gpu_pods_memory_or_what_is_stated(
    each: dict[str, Any], more: dict[str, Any], size: str | None
) -> None:
    """/dev/shm is a memory volume with a limit, in whole Mi; CPU-only pods keep the runtime's."""
    pod = pod_specs(document(job(each=each, **more)).body)[0]

    volumes = [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": size}},
    ]
    assert (volumes if size else None) == pod.get("volumes")


@pytest.mark.parametrize(
    ("cpu", "gpus", "threads"),
    [("16", 4, "4"), ("10", 4, "2"), ("1500m", 1, "1"), ("500m", 1, "1"), ("6", None, "6")],
)
def test_threads_share_the_cores_among_the_gpus(cpu: str, gpus: int | None, threads: str) -> None:
    """OMP_NUM_THREADS is whole cores per process, at least one."""
    gpu = {"gpu": {"type": "v100", "count": gpus}} if gpus else {}
    env = pod_specs(document(job(each={"cpu": cpu, "memory": "16Gi", **gpu})).body)[0]["containers"][0]["env"]

    assert {"name": "OMP_NUM_THREADS", "value": threads} == env[0]


@pytest.mark.parametrize("template", list(BUILT_IN_TEMPLATES))
def test_the_profiles_variables_win_and_no_name_comes_twice(template: str) -> None:
    """A name that comes twice is refused by server-side apply."""
    env = {"OMP_NUM_THREADS": "1", "NCCL_DEBUG": "TRACE", "MASTER_ADDR": "elsewhere", "MINE": ""}
    for pod in pod_specs(document(job(template, workers=2, env=env)).body):
        listed = pod["containers"][0]["env"]
        variables = {one["name"]: one["value"] for one in listed}
        assert len(listed) == len(variables)
        assert env == {name: variables[name] for name in env}


def test_the_rendezvous_is_the_first_workers_name() -> None:
    """<jobset>-<replicated job>-0-0.<jobset>, the name that JobSet gives to pod 0 of Job 0."""
    env = pod_specs(document(job("pytorch-ddp", workers=2)).body)[0]["containers"][0]["env"]

    assert {"name": "MASTER_ADDR", "value": "job-workers-0-0.job"} in env


def test_a_stated_command_replaces_what_the_template_runs() -> None:
    """Neither torchrun nor its script is left behind."""
    containers = [
        pod_specs(document(job("pytorch-ddp", workers=workers, **more)).body)[0]["containers"][0]
        for workers in (1, 2)
        for more in (
            {"command": ["run"]},
            {"command": ["run"], "args": ["fast"]},
            {"args": ["/x/y.py", "--lr=1"]},
        )
    ]
    torchrun = ["torchrun", "--nproc-per-node=1"]
    several = [
        "--nnodes=2",
        "--node-rank=$(JOB_COMPLETION_INDEX)",
        "--master-addr=$(MASTER_ADDR)",
        "--master-port=$(MASTER_PORT)",
    ]
    assert [
        (["run"], None),
        (["run"], ["fast"]),
        ([*torchrun, "--standalone"], ["/x/y.py", "--lr=1"]),
        (["run"], None),
        (["run"], ["fast"]),
        ([*torchrun, *several], ["/x/y.py", "--lr=1"]),
    ] == [(one.get("command"), one.get("args")) for one in containers]


# --- names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (document(job(name="a")).body, "a"),
        (document(job("array", name="a", completions=1000)).body, "a-999"),
        (document(job("etl", name="a", schedule="@daily")).body, "a-0000000000"),
        (document(job("array", name="a", completions=1000, schedule="@daily")).body, "a-00000000-999"),
        (document(job("pytorch-ddp", name="a", workers=11)).body, "a-workers-0-10-abcde"),
        (document(job("master-workers", name="a", workers=2)).body, "a-workers-0-1-abcde"),
    ],
)
def test_the_longest_derived_name(body: dict[str, Any], expected: str) -> None:
    """What controllers append to a job's name, in the worst case."""
    assert expected == longest_name(body)


@pytest.mark.parametrize(
    ("name", "completions", "replicas", "fits"),
    [(44, 8, 16, True), (45, 8, 16, False), (44, 8, 101, False), (44, 8, 100, True), (43, 11, 100, True)],
)
def test_jobset_names_are_measured_as_its_webhook_does(
    name: int, completions: int, replicas: int, fits: bool
) -> None:
    """The numbers of case js01, which a real webhook gave."""
    spec = {"completions": completions, "parallelism": completions}
    body = {
        "kind": "JobSet",
        "metadata": {"name": "n" * name},
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": replicas, "template": {"spec": spec}}]},
    }

    assert fits == (len(longest_name(body)) <= 63)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            job("array", name="n" * 61, completions=11),
            (
                f'the name "{"n" * 61}" is 1 characters too long for this Job: names such as {"n" * 61}-10 follow from '
                "it, and a name has at most 63"
            ),
        ),
        (
            job("etl", name="n" * 53, schedule="@daily"),
            (
                f'the name "{"n" * 53}" is 1 characters too long for this CronJob: names such as {"n" * 53}-0000000000 '
                "follow from it, and a name has at most 63"
            ),
        ),
        (
            job("pytorch-ddp", name="70b", workers=2),
            '"70b" is no name for a JobSet: it starts with a letter and has only a-z, 0-9 and "-"',
        ),
    ],
)
def test_a_name_that_the_api_would_refuse_is_an_error(made: dict[str, Any], message: str) -> None:
    """Also for templates that no rule knows, since the manifest itself is measured."""
    plan = jobs_plan(made)

    with pytest.raises(FindingsError) as caught:
        outputs(plan)

    assert [("BP510", message, plan.span(("spec", "jobs", 0, "name")))] == [
        (one.code, one.message, one.span) for one in caught.value.findings
    ]


@pytest.mark.parametrize(
    "made",
    [
        job("array", name="n" * 60, completions=11),
        job("etl", name="n" * 52, schedule="@daily"),
        job("array", name="n" * 49, completions=1001, schedule="@daily"),
        job("pytorch-ddp", name="n" * 45, workers=10),
        job(name="7" * 63),
    ],
)
def test_a_name_that_just_fits_is_taken(made: dict[str, Any]) -> None:
    """The limits are exact."""
    assert made["name"] == document(made).body["metadata"]["name"]


# --- reasons -----------------------------------------------------------------------------------------------


def test_every_reason_names_a_field_and_a_place_in_the_profile() -> None:
    """Reasons are about fields that exist, and lead to paths of the profile or to defaults of what it states."""
    plan = compile_plan(load_profile(str(GOLDEN / "lab.profile.yaml")))
    for made in compile_jobs(plan):
        assert isinstance(made, Document)
        for path, because in made.trace.items():
            value: Any = made.body
            for step in path:
                value = value[step]
            assert because.paths, path_text(path)
            assert all(plan.loaded.root.nearest(one)[1] for one in because.paths)


def test_the_fields_that_the_profile_decides_have_their_own_reasons() -> None:
    """`explain` leads from a number of the manifest to the line that it follows from."""
    made = document(
        job(
            "etl",
            each=NO_GPU,
            queue="vision",
            tier="low",
            env={"A": "1"},
            volumes={"data": "in"},
            deadline="1h",
        ),
        queues=[QUEUE],
        priorityTiers=[{"name": "low", "value": 1}],
    )
    terms = "preferredDuringSchedulingIgnoredDuringExecution"

    assert {
        "metadata.namespace": ["spec.queues[0].namespaces[0]"],
        'metadata.labels["kueue.x-k8s.io/queue-name"]': ["spec.jobs[0].queue"],
        'metadata.labels["kueue.x-k8s.io/priority-class"]': ["spec.jobs[0].tier"],
        "spec.suspend": ["spec.jobs[0].queue"],
        "spec.backoffLimit": ["spec.jobs[0].retries"],
        "spec.activeDeadlineSeconds": ["spec.jobs[0].deadline"],
        "spec.ttlSecondsAfterFinished": ["spec.jobs[0].keepFinished"],
        "spec.template.spec.schedulerName": ["spec.packing.schedulerName"],
        "spec.template.spec.priorityClassName": ["spec.jobs[0].tier"],
        f"spec.template.spec.affinity.nodeAffinity.{terms}[0]": [
            "spec.packing.cpuOnlyPods",
            "spec.nodePools[2]",
        ],
        f"spec.template.spec.affinity.nodeAffinity.{terms}[1]": [
            "spec.packing.cpuOnlyPods",
            "spec.nodePools[0]",
        ],
        "spec.template.spec.tolerations": ["spec.nodePools[0].gpu", "spec.nodePools[1].gpu"],
        "spec.template.spec.containers[0].image": ["spec.jobs[0].image"],
        "spec.template.spec.containers[0].env[0]": ["spec.jobs[0].each.cpu"],
        "spec.template.spec.containers[0].env[1]": ["spec.packing.cpuOnlyPods"],
        "spec.template.spec.containers[0].env[2]": ["spec.jobs[0].env.A"],
        "spec.template.spec.containers[0].resources.requests.cpu": ["spec.jobs[0].each.cpu"],
        "spec.template.spec.containers[0].resources.requests.memory": ["spec.jobs[0].each.memory"],
        "spec.template.spec.containers[0].resources.limits.cpu": ["spec.jobs[0].each.cpu"],
        "spec.template.spec.containers[0].resources.limits.memory": ["spec.jobs[0].each.memory"],
        "spec.template.spec.volumes[0]": ["spec.jobs[0].volumes.data"],
    } == {path_text(path): [path_text(one) for one in because.paths] for path, because in made.trace.items()}


def test_what_a_master_has_follows_from_the_master() -> None:
    """Its own shape, its own number; the workers' numbers explain nothing about it."""
    made = document(job("master-workers", workers=4, master={"cpu": 8, "memory": "32Gi"}))

    spec = ("spec", "replicatedJobs", 0, "template", "spec")
    container = (*spec, "template", "spec", "containers", 0)
    assert [
        ("there is one master", ["spec.jobs[0].template"]),
        ("8 for each pod, as the profile states", ["spec.jobs[0].master.cpu"]),
        ("8 cores, rounded down to whole threads", ["spec.jobs[0].master.cpu"]),
    ] == [
        (because.reason, [path_text(path) for path in because.paths])
        for because in (
            made.because((*spec, "parallelism")),
            made.because((*container, "resources", "requests", "cpu")),
            made.because((*container, "env", 0)),
        )
    ]


# --- templates of one's own ----------------------------------------------------------------------------------


def own(folder: Path, text: str | bytes, name: str = "own.yaml.j2") -> Path:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_the_templates_are_the_built_in_ones_and_those_of_the_folder(tmp_path: Path) -> None:
    """Parts, which start with _, are no templates; neither is any other file."""
    own(tmp_path, "", "mine.yaml.j2")
    own(tmp_path, "", "etl.yaml.j2")
    own(tmp_path, "", "_part.yaml.j2")
    own(tmp_path, "", "README.md")

    assert frozenset(BUILT_IN_TEMPLATES) == template_names()
    assert frozenset({*BUILT_IN_TEMPLATES, "mine"}) == template_names(tmp_path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A mistyped folder must not mean the built-in templates."""
    with pytest.raises(BinpackgenError, match="nowhere is no folder of job templates"):
        template_names(tmp_path / "nowhere")


def test_a_template_of_ones_own_replaces_the_built_in_one(tmp_path: Path) -> None:
    """The folder goes first, for whole templates and for parts of them."""
    own(tmp_path, HEAD + POD, "etl.yaml.j2")
    own(tmp_path, "metadata: {}\nspec: {containers: [{name: mine}]}\n", "_pod.yaml.j2")

    etl = document(job("etl"), templates=tmp_path).body
    single = document(job(), templates=tmp_path).body

    assert {key: value for key, value in etl.items() if key != "spec"} == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "own"},
    }
    assert single["spec"]["template"] == {"metadata": {}, "spec": {"containers": [{"name": "mine"}]}}


def test_a_template_can_use_the_parts_and_give_a_new_shape(tmp_path: Path) -> None:
    """A sidecar beside the built-in pod: values and parts enter whole, in block and in flow style."""
    own(
        tmp_path,
        HEAD
        + """spec:
  template:
    metadata: {{ part("pod", pod=worker).metadata }}
    spec:
      containers: {{ part("pod", pod=worker).spec.containers + [{"name": "log", "image": job.image}] }}
      hostname: "{{ job.name }}-{{ job.workers }}"
      nodeSelector: {a: {{ job.name }}, b: "{{ job.workers }}", c: x{{ job.name }}y}
      priority: {{ job.workers }}
""",
    )
    spec = document(job("own", workers=3), templates=tmp_path).body["spec"]["template"]["spec"]

    assert [one["name"] for one in spec.pop("containers")] == ["main", "log"]
    assert spec == {
        "hostname": "job-3",
        "nodeSelector": {"a": "job", "b": "3", "c": "xjoby"},
        "priority": 3,
    }


def test_none_leaves_out_its_key_or_item(tmp_path: Path) -> None:
    """A list whose items are all left out goes too; an empty mapping that is written stays."""
    own(
        tmp_path,
        HEAD
        + """spec:
  suspend: {{ none }}
  template:
    metadata: {}
    spec:
      containers:
        - {name: main, args: [{{ none }}, a, {{ job.command }}]}
      volumes:
        - {{ none }}
""",
    )

    assert document(job("own"), templates=tmp_path).body["spec"] == {
        "template": {"metadata": {}, "spec": {"containers": [{"name": "main", "args": ["a"]}]}}
    }


def test_a_json_filter_changes_nothing(tmp_path: Path) -> None:
    """Habit of other template languages; values enter whole with or without it."""
    own(tmp_path, HEAD + POD + "a: {{ job.labels | tojson }}\nb: {{ job.labels | json }}\n")
    body = document(job("own"), templates=tmp_path).body

    assert body["a"] == body["b"] != {}


NO_TEXT_IN_BETWEEN = (
    "text made by a macro, a block or an HTML filter is no value; use part(...) or {% include %}"
)

#: Template text, line of the finding, message.
BROKEN: dict[str, tuple[str | bytes, int, str]] = {
    "syntax": (HEAD + "{% if %}", 4, "Expected an expression, got 'end of statement block'"),
    "undefined": (HEAD + "spec: {{ nothing }}\n", 4, "'nothing' is undefined"),
    "undefined inside": (HEAD + "spec: {{ [nothing] }}\n", 4, "'nothing' is undefined"),
    "no such value": (HEAD + "spec: {{ job.imago }}\n", 4, "'dict object' has no attribute 'imago'"),
    "no master": (HEAD + "spec: {{ master.env }}\n", 4, "'None' has no attribute 'env'"),
    "indentation": (HEAD + "  x: y\n", 4, "did not find expected key"),
    "indentation, after lines that are left out": (
        "{# a\nb #}\n{% if false %}\na\nb\n{% endif %}\n" + HEAD + "  x: y\n",
        10,
        "did not find expected key",
    ),
    "tab": (HEAD + "spec:\n\ta: b\n", 5, "a tab indents this line; YAML allows only spaces there"),
    "two documents": (
        HEAD + "---\na: b\n",
        4,
        "a second YAML document starts here; a template gives one document, the rest would be ignored",
    ),
    "a list": ("- {{ job.name }}\n", 1, "a template gives a mapping, this is a list"),
    "empty": ("", 1, "the file is empty"),
    "not text": (b"a: \xff\n", 1, "is no UTF-8 text"),
    "wrong kind": (
        "apiVersion: apps/v1\nkind: Deployment\n",
        2,
        "kind Deployment of apiVersion apps/v1 is no kind of job",
    ),
    "wrong version": (
        "apiVersion: batch/v1beta1\nkind: CronJob\n",
        2,
        "kind CronJob of apiVersion batch/v1beta1 is no kind of job",
    ),
    "kind from a value": (
        "apiVersion: batch/v1\nkind: {{ job.name }}\n",
        2,
        "kind job of apiVersion batch/v1 is no kind of job",
    ),
    "tag": (
        HEAD + "spec: !!python/object/apply:os.system [id]\n",
        4,
        "tag !!python/object/apply:os.system is not supported; a template gives plain data",
    ),
    "duplicate key": (
        "{# a\nb #}\n" + HEAD + "kind: Job\n",
        6,
        'key "kind" is already set at line 4; readers would silently keep one of the two',
    ),
    "word that is a boolean": (
        HEAD + "spec: on\n",
        4,
        "on is a boolean to some YAML readers and text to others",
    ),
    "decimal": (HEAD + "spec: 1.5\n", 4, "1.5 is a number with a decimal point"),
    "decimal value": (HEAD + "spec: {{ 1 / 2 }}\n", 4, "float is no value for a manifest"),
    "generator": (HEAD + "spec: {{ job.env.items() }}\n", 4, "dict_items is no value for a manifest"),
    "key that is no text": (HEAD + "spec: {{ {1: 2} }}\n", 4, "key 1 is no text"),
    "value as key": (HEAD + "{{ job.name }}: 1\n", 4, "a value cannot be a key"),
    "mapping in text": (HEAD + "spec:\n  a: x-{{ job.labels }}\n", 5, "a mapping cannot stand inside a text"),
    "list in text": (HEAD + 'spec: "{{ [1] }}"\n', 4, "a list cannot stand inside a text"),
    "none in text": (HEAD + 'spec: "{{ job.command }}"\n', 4, "none cannot stand inside a text"),
    "merge key": (HEAD + "spec: {<<: {a: b}}\n", 4, "a merge key hides where values come from"),
    "alias to itself": (HEAD + "spec: &a [*a]\n", 4, "this anchor contains an alias to itself"),
    "control character": (HEAD + "spec: 'a\x07'\n", 4, "control characters are not allowed"),
    "reserved character": (
        HEAD + "spec: '\ue0000\ue000'\n",
        4,
        "the private-use characters U+E000 and U+E001 are reserved",
    ),
    "macro": (HEAD + "{% macro m() %}x{% endmacro %}\nspec: {{ m() }}\n", 5, NO_TEXT_IN_BETWEEN),
    "block of text": (HEAD + "{% set m %}{{ job.name }}{% endset %}\nspec: {{ m }}\n", 5, NO_TEXT_IN_BETWEEN),
    "safe": (HEAD + "spec: {{ job.image | safe }}\n", 4, NO_TEXT_IN_BETWEEN),
    "escape": (HEAD + "spec: {{ job.image | e }}\n", 4, NO_TEXT_IN_BETWEEN),
    "call": (
        HEAD + "{% call job.image.format() %}{% endcall %}\n",
        4,
        "{% call %} is not supported; use {{ part(...) }} or {% include %}",
    ),
    "filter": (
        HEAD + "{% filter replace('x', job.image) %}x{% endfilter %}\n",
        4,
        "{% filter %} is not supported; use {{ part(...) }} or {% include %}",
    ),
    "autoescape": (
        HEAD + "{% autoescape false %}x{% endautoescape %}\n",
        4,
        "{% autoescape %} is not supported; use {{ part(...) }} or {% include %}",
    ),
    "division": (HEAD + "spec: {{ 1 // 0 }}\n", 4, "integer division or modulo by zero"),
    "internals": (
        HEAD + "spec: {{ job.__class__ }}\n",
        4,
        "access to attribute '__class__' of 'dict' object is unsafe",
    ),
    "internals of text": (
        HEAD + "spec: {{ ''.__class__.__mro__[1].__subclasses__() }}\n",
        4,
        "access to attribute '__class__' of 'str' object is unsafe",
    ),
    "internals by format": (
        HEAD + "spec: {{ '{0.__class__}'.format(job) }}\n",
        4,
        "access to attribute '__class__' of 'dict' object is unsafe",
    ),
    "internals by filter": (
        HEAD + "spec: {{ job | attr('__class__') }}\n",
        4,
        "access to attribute '__class__' of 'dict' object is unsafe",
    ),
    "internals of a function": (
        HEAD + "spec: {{ part.__self__ }}\n",
        4,
        "access to attribute '__self__' of 'method' object is unsafe",
    ),
    "globals": (
        HEAD + "spec: {{ env_list.__globals__ }}\n",
        4,
        "access to attribute '__globals__' of 'function' object is unsafe",
    ),
    "change": (
        HEAD + "spec: {{ job.env.update({'a': 'b'}) }}\n",
        4,
        "access to attribute 'update' of 'dict' object is unsafe",
    ),
    "chance": (HEAD + "spec: {{ [1, 2] | random }}\n", 4, "No filter named 'random'"),
    "filler": (HEAD + "spec: {{ lipsum() }}\n", 4, "'lipsum' is undefined"),
    "too many": (
        HEAD + "{% for i in range(1000000) %}x{% endfor %}",
        4,
        "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)",
    ),
    "no such include": (HEAD + "{% include 'nope' %}\n", 4, 'there is no template file "nope"'),
    "no such part": (HEAD + "spec: {{ part('nope') }}\n", 4, 'there is no template file "_nope.yaml.j2"'),
    "outside the folder": (
        HEAD + "spec: {{ part('/../../../../etc/passwd') }}\n",
        4,
        'there is no template file "_/../../../../etc/passwd.yaml.j2"',
    ),
    "no name": ("apiVersion: batch/v1\nkind: Job\n" + POD, 1, "metadata.name of the Job is no text"),
    "no pod": (HEAD, 1, "spec.template.metadata of the Job is missing"),
    "no containers": (
        HEAD + "spec: {template: {metadata: {}, spec: {containers: []}}}\n",
        1,
        "spec.template.spec.containers of the Job is no list of mappings",
    ),
    "affinity that is none": (
        HEAD + "spec: {template: {metadata: {}, spec: {affinity: x, containers: [{name: main}]}}}\n",
        1,
        "spec.template.spec.affinity of the Job is no mapping",
    ),
    "no replicated jobs": (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\n",
        1,
        "spec.replicatedJobs of the JobSet is no list of mappings",
    ),
}


@pytest.mark.parametrize("case", list(BROKEN))
def test_a_broken_template_is_an_error_at_its_line(case: str, tmp_path: Path) -> None:
    """One finding with the template's file and line, and the job that uses it; never another exception."""
    text, line, message = BROKEN[case]
    plan = jobs_plan(job("own"))

    with pytest.raises(FindingsError) as caught:
        outputs(plan, own(tmp_path, text))

    (finding,) = caught.value.findings
    assert ("BP510", "bad-template", Severity.ERROR, message) == (
        finding.code,
        finding.name,
        finding.severity,
        finding.message,
    )
    assert (str(tmp_path / "own.yaml.j2"), line) == (finding.span.file, finding.span.line)
    assert (plan.span(("spec", "jobs", 0, "template")), 'template of job "job"') == finding.related[-1]


def test_a_finding_inside_a_part_names_the_part(tmp_path: Path) -> None:
    """Not the template that uses it, where nothing is wrong."""
    own(tmp_path, "metadata: {}\nspec: {{ nothing }}\n", "_pod.yaml.j2")

    with pytest.raises(FindingsError) as caught:
        outputs(jobs_plan(job()), tmp_path)

    assert [(str(tmp_path / "_pod.yaml.j2"), 2, 1, 20)] == [
        (one.span.file, one.span.line, one.span.column, one.span.end_column) for one in caught.value.findings
    ]


def test_yaml_trouble_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    """The text is read as a whole, and still each line knows where it came from."""
    own(tmp_path, "a: b\n  c: d\n", "_shared.yaml.j2")
    own(tmp_path, HEAD + "{% include '_shared.yaml.j2' %}\n")

    with pytest.raises(FindingsError) as caught:
        outputs(jobs_plan(job("own")), tmp_path)

    assert [(str(tmp_path / "_shared.yaml.j2"), 2)] == [
        (one.span.file, one.span.line) for one in caught.value.findings
    ]


def test_a_template_that_includes_itself_is_an_error(tmp_path: Path) -> None:
    """It ends with a finding and not with a crash."""
    with pytest.raises(FindingsError) as caught:
        outputs(jobs_plan(job("own")), own(tmp_path, HEAD + "{% include 'own.yaml.j2' %}\n"))

    assert [one.code for one in caught.value.findings] == ["BP510"]


def test_one_broken_template_is_one_finding_for_all_its_jobs(tmp_path: Path) -> None:
    """With a place for each job that uses it, and the other templates are looked at all the same."""
    own(tmp_path, HEAD + "spec: {{ a }}\n")
    own(tmp_path, HEAD + "spec: {{ b }}\n", "other.yaml.j2")
    plan = jobs_plan(
        *(job(template, name=f"{template}-{n}") for n in (1, 2) for template in ("own", "other"))
    )

    with pytest.raises(FindingsError) as caught:
        outputs(plan, tmp_path)

    assert [(one.message, [label for _, label in one.related]) for one in caught.value.findings] == [
        ("'b' is undefined", ['template of job "other-1"', 'template of job "other-2"']),
        ("'a' is undefined", ['template of job "own-1"', 'template of job "own-2"']),
    ]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_damage_to_a_template_gets_past_as_another_exception(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever a text editor does to a template: a manifest or findings come of it."""
    name = data.draw(st.sampled_from(sorted(file.name for file in BUILT_IN.glob("*.j2"))))
    text = (BUILT_IN / name).read_text("utf-8")
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    put = data.draw(
        st.sampled_from(["", "{{", "}}", "{%", "%}", "#}", "\n", "- ", ": ", "{", "]", '"', "&a", "*a", "|"])
    )
    folder = tmp_path_factory.mktemp("damaged")
    (folder / name).write_text(text[:start] + put + text[end:], encoding="utf-8")
    plan = jobs_plan(
        job(),
        job("pytorch-ddp", name="two", workers=2),
        job("etl", name="cron", schedule="@daily"),
        job("master-workers", name="three"),
        job("array", name="four"),
    )
    shown = compiled_or_codes(plan, folder)
    shutil.rmtree(folder)

    assert shown in (5, {"BP510"})


def compiled_or_codes(plan: Plan, templates: Path) -> int | set[str]:
    """How many outputs there are, or the codes of the findings."""
    try:
        return len(outputs(plan, templates))
    except FindingsError as error:
        return {one.code for one in error.findings}


# --- values ------------------------------------------------------------------------------------------------

HOSTILE = [
    "{{ 7*7 }}",
    "{% include '/etc/passwd' %}",
    "{# gone #}",
    '"}\n- x',
    "%}",
    "a\n---\nkind: Pod",
    "x\n  privileged: true",
    "!!python/object/apply:os.system [id]",
    "*alias",
    "&anchor x",
    "<<",
    "null",
    "yes",
    "1e3",
    "0o17",
    "# comment",
    "a: b",
    "[a, b]",
    "'",
    '"',
    "\\",
    "\\u0041",
    "\ue0000\ue000",
    "\ue0010:1\ue001",
    "\u2028\u2029\u0085",
    "\U0001f600",
    "\ud7ff\ufffd",
    "\t",
    " ",
    "x" * 5000,
    "$(JOB_COMPLETION_INDEX)",
]

#: What the profile language lets through as free text.
TEXT = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff")
        | st.sampled_from("\n\t{}%#\"'\\:-[]&*!|>"),
        max_size=40,
    ),
)


def leaves_replaced(node: Any, values: dict[str, str]) -> Any:
    """`node` with the words of `values` replaced wherever a text is exactly that word."""
    if isinstance(node, dict):
        return {key: leaves_replaced(below, values) for key, below in node.items()}
    if isinstance(node, list):
        return [leaves_replaced(below, values) for below in node]
    return values.get(node, node) if isinstance(node, str) else node


@settings(max_examples=30, deadline=None)
@given(
    TEXT.filter(lambda text: text and not re.search(r"\s", text)),
    st.lists(TEXT, min_size=4, max_size=4),
)
@example("{{7*7}}", ["{% raw %}", '"}\n- x', "%}", "a\n---\nb"])
@example("!!python/object", ["\ue0000\ue000", "\ue0010:0\ue001", "x" * 70_000, "\u2028"])
def test_no_value_changes_the_structure(image: str, values: list[str]) -> None:
    """A manifest with hostile values is the manifest with harmless words, the words replaced, and survives YAML."""
    words = {f"WORD{number}": value for number, value in enumerate(values)} | {"IMAGE": image}
    harmless = [
        job(
            template,
            workers=2,
            image="IMAGE",
            command=["WORD0", "same"],
            args=["WORD1", "WORD2"],
            env={"FIRST": "WORD3", "NCCL_DEBUG": "WORD0"},
        )
        for template in sorted(BUILT_IN_TEMPLATES)
    ]

    made = [one.body for one in outputs(jobs_plan(*harmless, *leaves_replaced(harmless, words)))]  # type: ignore[union-attr]

    expected, actual = leaves_replaced(made[: len(harmless)], words), made[len(harmless) :]
    assert expected == actual
    assert actual == [yaml.safe_load(to_yaml(body)) for body in actual]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_is_only_itself_wherever_a_template_puts_it(value: str, tmp_path: Path) -> None:
    """Bare, in quotes of both kinds, inside a text, in a block of text, in flow style, by a part, by a loop."""
    own(
        tmp_path,
        HEAD
        + POD
        + """bare: {{ job.args[0] }}
double: "{{ job.args[0] }}"
single: '{{ job.args[0] }}'
inside: a {{ job.args[0] }} b
block: |
  a {{ job.args[0] }}
  b
flow: [{{ job.args[0] }}, {x: {{ job.args[0] }}}]
part: {{ part("one", given=job.args[0]) }}
loop:
{%- for one in job.args %}
  - {{ one }}
{%- endfor %}
whole: {{ {"key": [job.args[0]]} }}
joined: {{ "a" ~ job.args[0] }}
""",
    )
    own(tmp_path, "given: {{ given }}\n", "_one.yaml.j2")

    body = document(job("own", args=[value, value]), templates=tmp_path).body

    assert {
        "bare": value,
        "double": value,
        "single": value,
        "inside": f"a {value} b",
        "block": f"a {value}\nb\n",
        "flow": [value, {"x": value}],
        "part": {"given": value},
        "loop": [value, value],
        "whole": {"key": [value]},
        "joined": f"a{value}",
    } == {key: below for key, below in body.items() if key not in ("apiVersion", "kind", "metadata", "spec")}


@pytest.mark.parametrize("name", ["items", "keys", "__class__", "update", "get"])
def test_names_of_variables_are_data(name: str) -> None:
    """A variable called like a method of Python's dictionaries is a variable."""
    env = pod_specs(document(job("etl", each=NO_GPU, env={name: "1"})).body)[0]["containers"][0]["env"]

    assert {"name": name, "value": "1"} in env
