"""Manifests of jobs against what Kubernetes says: schemas of every minor, JobSet's definition, API rules, Pod Security.

The rules here are written from the upstream sources that they name and share no code with the compiler. Each
checker must also find what is wrong with broken objects, or its silence would mean nothing.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.document import Document
from binpackgen.quantity import Quantity
from binpackgen.rules.templates import BUILT_IN_TEMPLATES
from binpackgen_e2e.binaries import UnavailableError
from tests.conformance import crd_schemas
from tests.conformance.tiers import ask
from tests.targets.jobs_factory import NO_GPU, ONE_GPU, QUEUE, job, job_specs, jobs_plan, outputs, pod_specs

Object = dict[str, Any]

MINORS = [f"1.{minor}" for minor in range(31, 38)]
CONTROL_PLANES = ["kubeadm", "second-scheduler", "openshift", "eks", "gke", "gardener"]
CASES = Path(__file__).parents[3] / "shared" / "cases"
ANY_GPU = {"cpu": "1500m", "memory": "6Gi", "gpu": {"count": 2}}


@lru_cache
def manifests(control_plane: str) -> tuple[Object, ...]:
    """Every template, alone and in numbers, queued and not, scheduled and not, with and without GPUs."""
    shapes = itertools.product(BUILT_IN_TEMPLATES, (ONE_GPU, NO_GPU, ANY_GPU), (1, 3), (False, True))
    jobs: list[Object] = []
    for number, (template, each, workers, queued) in enumerate(shapes):
        more: Object = {"workers": workers, "each": each, "name": f"j{number}"}
        if queued:
            more |= {"queue": "vision", "volumes": {"data": "in", "output": "out"}, "env": {"A": "1"}}
        if template == "master-workers":
            more["master"] = NO_GPU
        if template == "array":
            more["completions"] = 150_000 if queued else 7
        jobs.append(job(template, **more))
        if template != "master-workers" and (workers == 1 or template != "pytorch-ddp"):
            jobs.append(job(template, **more | {"name": f"c{number}", "schedule": "*/5 * * * *"}))
    plan = jobs_plan(
        *jobs,
        control_plane=control_plane,
        queues=[QUEUE],
        priorityTiers=[{"name": "low", "value": 1, "default": True}],
        queueing={"topologyLevels": ["example.com/rack"]},
    )
    return tuple(one.body for one in outputs(plan) if isinstance(one, Document))


def of_kind(control_plane: str, *kinds: str) -> list[Object]:
    found = [body for body in manifests(control_plane) if body["kind"] in kinds]
    assert found
    return found


def children(jobset: Object) -> list[Object]:
    """The Jobs that the JobSet controller makes, as far as a schema can see them."""
    name, namespace = jobset["metadata"]["name"], jobset["metadata"]["namespace"]
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": f"{name}-{one['name']}-0", "namespace": namespace},
            "spec": one["template"]["spec"],
        }
        for one in jobset["spec"]["replicatedJobs"]
    ]


def all_jobs(control_plane: str) -> list[Object]:
    """Jobs and CronJobs, and the children of JobSets."""
    jobsets = of_kind(control_plane, "JobSet")
    return of_kind(control_plane, "Job", "CronJob") + [child for one in jobsets for child in children(one)]


def changed(body: Object, *steps: Any) -> Object:
    """A copy of `body` in which the value at the path is set to the last step; None removes it."""
    body = copy.deepcopy(body)
    *path, key, value = steps
    inside: Any = body
    for step in path:
        inside = inside[step]
    if value is None:
        del inside[key]
    else:
        inside[key] = value
    return body


# --- schemas of Kubernetes ---------------------------------------------------------------------------------


@lru_cache
def schema_validator(minor: str, kind: str) -> Any:
    """The strict JSON schema of a batch/v1 kind in one minor, from kubernetes-validate."""
    try:
        from kubernetes_validate.utils import schema_contents
    except ImportError:
        raise UnavailableError("kubernetes-validate", "the package is not installed") from None
    from jsonschema.validators import Draft202012Validator
    from referencing import Registry, Resource

    folder = f"kubernetes-json-schema/v{minor}.0-local-strict"
    schema = schema_contents(f"{folder}/{kind.lower()}-batch-v1.json", minor)
    definitions = Resource.from_contents(schema_contents(f"{folder}/_definitions.json", minor))
    registry = definitions @ (Resource.from_contents(schema) @ Registry())
    return Draft202012Validator(schema, registry=registry)


def schema_problems(minor: str, body: Object) -> list[str]:
    validator = ask(lambda: schema_validator(minor, body["kind"]))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(body)]


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("control_plane", ["kubeadm", "eks"])
def test_the_strict_schemas_of_every_minor_take_jobs_and_cronjobs(minor: str, control_plane: str) -> None:
    """No unknown field, no wrong type, nothing required is missing; for children of JobSets too."""
    for body in all_jobs(control_plane):
        assert schema_problems(minor, body) == []


TEMPLATE = ("spec", "template", "spec")


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ((*TEMPLATE, "backoffLimit", 2), "$.spec.template.spec: Additional properties are not allowed"),
        ((*TEMPLATE, "containers", None), "$.spec.template.spec: 'containers' is a required property"),
        (("spec", "parallelism", "2"), "$.spec.parallelism: '2' is not of type 'integer', 'null'"),
        (
            (*TEMPLATE, "containers", 0, "env", [{"name": "A", "value": 1}]),
            "$.spec.template.spec.containers[0].env[0].value: 1 is not of type 'string', 'null'",
        ),
    ],
)
def test_the_schemas_find_what_is_wrong(steps: tuple[Any, ...], problem: str) -> None:
    """The oracle is not silent by nature: a misplaced field, a missing one, wrong types (case jb01 e)."""
    (found,) = schema_problems("1.37", changed(of_kind("kubeadm", "Job")[0], *steps))

    assert found.startswith(problem)


# --- JobSet ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("control_plane", CONTROL_PLANES)
def test_the_definition_of_jobset_takes_the_jobsets(control_plane: str) -> None:
    """Schema, list types and CEL rules of the real CustomResourceDefinition."""
    for body in of_kind(control_plane, "JobSet"):
        assert ask(lambda body=body: crd_schemas.validate(body)) == []  # type: ignore[misc]


def test_the_definition_of_jobset_finds_what_is_wrong() -> None:
    """An unknown field, an unknown action, startupPolicy beside dependsOn."""
    body = next(one for one in of_kind("kubeadm", "JobSet") if len(one["spec"]["replicatedJobs"]) == 2)
    broken = [
        changed(body, "spec", "replicatedJobs", 0, "count", 2),
        changed(body, "spec", "failurePolicy", "rules", 0, "action", "Restart"),
        changed(body, "spec", "startupPolicy", {"startupPolicyOrder": "InOrder"}),
    ]

    assert [
        ["spec.replicatedJobs[0].count: unknown field"],
        [
            (
                "spec.failurePolicy.rules[0].action: 'Restart' is not one of ['FailJobSet', 'RestartJobSet', "
                "'RestartJobSetAndIgnoreMaxRestarts']"
            )
        ],
        ["spec: StartupPolicy and DependsOn APIs are mutually exclusive"],
    ] == [ask(lambda one=one: crd_schemas.validate(one)) for one in broken]  # type: ignore[misc]


DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?\Z")
RULE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?\Z")
FAILURE_REASONS = {
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
}


def jobset_problems(body: Object) -> Iterator[str]:
    """What JobSet's webhook refuses (jobset v0.11.0, pkg/webhooks/jobset_webhook.go, ValidateCreate)."""
    name, seen = body["metadata"]["name"], set()
    for index, one in enumerate(body["spec"]["replicatedJobs"]):
        last = one.get("replicas", 1) - 1
        spec = one["template"]["spec"]
        if not DNS_1035.match(f"{name}-{one['name']}-{last}"):
            yield "job name"
        if spec.get("completionMode", "Indexed") == "Indexed" and "completions" in spec:
            pod = f"{name}-{one['name']}-{last}-{spec['completions'] - 1}-abcde"
            if not DNS_1035.match(pod):
                yield "pod name"
        dependencies = {depended["name"] for depended in one.get("dependsOn", [])}
        if (index == 0 and dependencies) or dependencies - seen:
            yield "dependsOn"
        seen.add(one["name"])
    if set(body["spec"].get("successPolicy", {}).get("targetReplicatedJobs", [])) - seen:
        yield "successPolicy"
    rules = body["spec"].get("failurePolicy", {}).get("rules", [])
    if len({rule["name"] for rule in rules}) < len(rules):
        yield "rule names"
    for rule in rules:
        if not RULE_NAME.match(rule["name"]) or len(rule["name"]) > 128:
            yield "rule name"
        if set(rule.get("onJobFailureReasons", [])) - FAILURE_REASONS:
            yield "failure reason"


@pytest.mark.parametrize("control_plane", CONTROL_PLANES)
def test_jobsets_webhook_takes_the_jobsets(control_plane: str) -> None:
    """Names, dependencies, policies."""
    for body in of_kind(control_plane, "JobSet"):
        assert list(jobset_problems(body)) == []


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (("metadata", "name", "n" * 46), "pod name"),
        (("metadata", "name", "7b"), "job name"),
        (("metadata", "name", "a.b"), "job name"),
        (("spec", "replicatedJobs", 0, "dependsOn", [{"name": "workers", "status": "Ready"}]), "dependsOn"),
        (("spec", "successPolicy", {"operator": "All", "targetReplicatedJobs": ["driver"]}), "successPolicy"),
        (("spec", "failurePolicy", "rules", 0, "name", "on-eviction"), "rule name"),
        (("spec", "failurePolicy", "rules", 0, "name", "eviction"), "rule names"),
        (("spec", "failurePolicy", "rules", 0, "onJobFailureReasons", ["Evicted"]), "failure reason"),
    ],
)
def test_the_rules_of_jobsets_webhook_find_what_is_wrong(steps: tuple[Any, ...], problem: str) -> None:
    """Each rule by a change that breaks it."""
    assert problem in list(jobset_problems(changed(of_kind("kubeadm", "JobSet")[0], *steps)))


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        ("a-44-chars", False),
        ("b-45-chars", True),
        ("c-44-chars-101-replicas", True),
        ("d-dotted", True),
        ("e-leading-digit", True),
    ],
)
def test_the_rules_of_jobsets_webhook_agree_with_the_real_one(file: str, refused: bool) -> None:
    """Case js01: what a real JobSet 0.11.0 webhook answered."""
    assert refused == bool(list(jobset_problems(case(f"js01/{file}.yaml")[0])))


# --- rules of the Job API ------------------------------------------------------------------------------------


def job_problems(spec: Object) -> Iterator[str]:
    """What the API server refuses in a Job's spec (kubernetes v1.37.2, pkg/apis/batch/validation/validation.go)."""
    pod = spec["template"]["spec"]
    indexed = spec.get("completionMode") == "Indexed"
    if pod.get("restartPolicy") not in ("Never", "OnFailure"):
        yield "restartPolicy required"
    if "podFailurePolicy" in spec:
        if pod.get("restartPolicy") != "Never":
            yield "podFailurePolicy needs restartPolicy Never"
        if spec.get("podReplacementPolicy", "Failed") != "Failed":
            yield "podFailurePolicy needs podReplacementPolicy Failed"
        for rule in spec["podFailurePolicy"]["rules"]:
            if ("onExitCodes" in rule) == ("onPodConditions" in rule):
                yield "podFailurePolicy rule needs one requirement"
            if rule["action"] not in ("FailJob", "Ignore", "Count", "FailIndex"):
                yield "podFailurePolicy action"
            if rule["action"] == "FailIndex" and "backoffLimitPerIndex" not in spec:
                yield "FailIndex needs backoffLimitPerIndex"
    if indexed and "completions" not in spec:
        yield "Indexed needs completions"
    if indexed and spec.get("parallelism", 1) > 100_000:
        yield "parallelism"
    if not indexed and spec.keys() & {"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"}:
        yield "needs Indexed"
    limit, completions = spec.get("maxFailedIndexes"), spec.get("completions", 1)
    if limit is not None and ("backoffLimitPerIndex" not in spec or limit > min(completions, 100_000)):
        yield "maxFailedIndexes"
    if completions > 100_000 and "backoffLimitPerIndex" in spec:
        if limit is None or limit > 10_000:
            yield "maxFailedIndexes of a huge Job"
        if spec.get("parallelism", 1) > 10_000:
            yield "parallelism of a huge Job"
    for key in ("activeDeadlineSeconds", "backoffLimit", "parallelism", "ttlSecondsAfterFinished"):
        if spec.get(key, 0) < 0:
            yield f"negative {key}"
    if pod.get("activeDeadlineSeconds") is not None:
        yield "deadline on the pod"
    yield from pod_problems(pod)


def pod_problems(pod: Object) -> Iterator[str]:
    """What the API server refuses in a pod's spec, as far as manifests of jobs come near it."""
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    if len(volumes) < len(pod.get("volumes", [])):
        yield "volume names"
    for container in pod["containers"]:
        yield from resource_problems(container.get("resources", {}))
        mounts = container.get("volumeMounts", [])
        if {mount["name"] for mount in mounts} - volumes:
            yield "mount without volume"
        if len({mount["mountPath"] for mount in mounts}) < len(mounts):
            yield "mount paths"
    for constraint in pod.get("topologySpreadConstraints", []):
        if not 0 < constraint["maxSkew"] < 2**31:
            yield "maxSkew"
    for toleration in pod.get("tolerations", []):
        if toleration.get("operator", "Equal") == "Equal" and not toleration.get("key"):
            yield "toleration without key"
    for term in node_terms(pod):
        if not 1 <= term["weight"] <= 100:
            yield "weight"


def node_terms(pod: Object) -> list[Object]:
    affinity = pod.get("affinity", {}).get("nodeAffinity", {})
    return list(affinity.get("preferredDuringSchedulingIgnoredDuringExecution", []))


def resource_problems(resources: Object) -> Iterator[str]:
    """Rules of requests and limits (pkg/apis/core/validation, ValidateResourceRequirements)."""
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name in requests.keys() | limits.keys():
        if "/" in name:
            if name.startswith("requests."):
                yield f"{name} is no resource of a container"
            elif name not in limits:
                yield f"{name} needs a limit"
            elif Quantity(requests.get(name, limits[name])) != Quantity(limits[name]):
                yield f"{name}: request and limit differ"
            elif Quantity(limits[name]).milli_value() % 1000:
                yield f"{name} is no whole number"
        elif name not in ("cpu", "memory", "ephemeral-storage"):
            yield f"{name} is no resource of a container"
        elif name in requests and name in limits and Quantity(requests[name]) > Quantity(limits[name]):
            yield f"{name}: request above limit"


@pytest.mark.parametrize("control_plane", CONTROL_PLANES)
def test_the_job_api_takes_the_manifests(control_plane: str) -> None:
    """What schemas cannot say: how fields of a Job go together."""
    for body in manifests(control_plane):
        for spec in job_specs(body):
            assert list(job_problems(spec)) == []


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ((*TEMPLATE[1:], "restartPolicy", None), "restartPolicy required"),
        ((*TEMPLATE[1:], "restartPolicy", "OnFailure"), "podFailurePolicy needs restartPolicy Never"),
        (
            ("podReplacementPolicy", "TerminatingOrFailed"),
            "podFailurePolicy needs podReplacementPolicy Failed",
        ),
        (
            ("podFailurePolicy", "rules", 0, "onPodConditions", None),
            "podFailurePolicy rule needs one requirement",
        ),
        (("podFailurePolicy", "rules", 0, "action", "Fail"), "podFailurePolicy action"),
        (("podFailurePolicy", "rules", 0, "action", "FailIndex"), "FailIndex needs backoffLimitPerIndex"),
        (("completionMode", "Indexed"), "Indexed needs completions"),
        (("backoffLimitPerIndex", 1), "needs Indexed"),
        (("maxFailedIndexes", 1), "maxFailedIndexes"),
        (("activeDeadlineSeconds", -1), "negative activeDeadlineSeconds"),
        ((*TEMPLATE[1:], "activeDeadlineSeconds", 5), "deadline on the pod"),
        (
            (*TEMPLATE[1:], "containers", 0, "volumeMounts", [{"name": "x", "mountPath": "/x"}]),
            "mount without volume",
        ),
        ((*TEMPLATE[1:], "topologySpreadConstraints", [{"maxSkew": 2**31}]), "maxSkew"),
        ((*TEMPLATE[1:], "tolerations", [{"effect": "NoSchedule"}]), "toleration without key"),
        (
            (*TEMPLATE[1:], "containers", 0, "resources", "limits", "nvidia.com/gpu", "2"),
            "nvidia.com/gpu: request and limit differ",
        ),
        ((*TEMPLATE[1:], "containers", 0, "resources", "limits", "cpu", "1"), "cpu: request above limit"),
        (
            (*TEMPLATE[1:], "containers", 0, "resources", "requests", "gpu", "1"),
            "gpu is no resource of a container",
        ),
    ],
)
def test_the_rules_of_the_job_api_find_what_is_wrong(steps: tuple[Any, ...], problem: str) -> None:
    """Each rule by a change that breaks it."""
    spec = of_kind("kubeadm", "Job")[0]["spec"]
    assert list(job_problems(spec)) == []

    assert problem in list(job_problems(changed(spec, *steps)))


def case(path: str) -> list[Object]:
    file = CASES / path
    if not file.exists():
        pytest.skip("the collection of cases is not beside this checkout")
    return list(yaml.safe_load_all(file.read_text("utf-8")))


@pytest.mark.parametrize(
    ("file", "problems"),
    [
        ("jb01/a-onfailure", []),
        ("jb01/b-default-restart-policy", ["restartPolicy required"]),
        ("jb01/c-failure-policy-onfailure", ["podFailurePolicy needs restartPolicy Never"]),
        ("jb01/d-per-index-nonindexed", ["needs Indexed"]),
        ("jb02/a-deadline-on-pod", ["deadline on the pod"]),
        ("jb02/b-deadline-on-job", []),
    ],
)
def test_the_rules_of_the_job_api_agree_with_a_real_server(file: str, problems: list[str]) -> None:
    """Cases jb01 and jb02; a deadline on the pod is no error of the API but a trap."""
    assert list(job_problems(case(f"{file}.yaml")[0]["spec"])) == problems


def test_the_rules_of_resources_agree_with_a_real_server() -> None:
    """Case qt04: only the pod with a limit alone is taken."""
    taken = {
        pod["metadata"]["name"]: not list(resource_problems(pod["spec"]["containers"][0]["resources"]))
        for pod in case("qt04/pods.yaml")
    }

    assert taken == {
        "a-request-only": False,
        "b-request-below-limit": False,
        "c-limit-only": True,
        "d-bare-gpu": False,
        "e-quota-name-in-pod": False,
        "f-cpu-request-above-limit": False,
    }


@pytest.mark.parametrize("control_plane", CONTROL_PLANES)
def test_every_pod_is_guaranteed(control_plane: str) -> None:
    """Requests equal limits for cpu and memory in every container: nobody grows beyond what packing counted."""
    for body in manifests(control_plane):
        for pod in pod_specs(body):
            for container in pod["containers"]:
                resources = container["resources"]
                assert resources["requests"] == resources["limits"]
                assert {"cpu", "memory"} <= resources["requests"].keys()


# --- Pod Security --------------------------------------------------------------------------------------------

VOLUME_TYPES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def restricted_problems(pod: Object) -> Iterator[str]:
    """What the restricted level of Pod Security refuses (k8s.io/pod-security-admission v0.37.2, policy/)."""
    context = pod.get("securityContext", {})
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(key):
            yield key
    if context.get("seccompProfile", {}).get("type") not in (None, "RuntimeDefault", "Localhost"):
        yield "seccompProfile"
    if context.get("runAsUser") == 0:
        yield "runAsUser"
    for volume in pod.get("volumes", []):
        if volume.keys() - {"name"} - VOLUME_TYPES:
            yield "volume type"
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        own = container.get("securityContext", {})
        if own.get("privileged"):
            yield "privileged"
        if own.get("allowPrivilegeEscalation") is not False:
            yield "allowPrivilegeEscalation"
        if own.get("runAsNonRoot", context.get("runAsNonRoot")) is not True:
            yield "runAsNonRoot"
        if own.get("runAsUser") == 0:
            yield "runAsUser"
        profile = own.get("seccompProfile", context.get("seccompProfile", {}))
        if profile.get("type") not in ("RuntimeDefault", "Localhost"):
            yield "seccompProfile"
        capabilities = own.get("capabilities", {})
        if "ALL" not in capabilities.get("drop", []) or set(capabilities.get("add", [])) - {
            "NET_BIND_SERVICE"
        }:
            yield "capabilities"
        if any("hostPort" in port for port in container.get("ports", [])):
            yield "hostPort"


@pytest.mark.parametrize("control_plane", CONTROL_PLANES)
def test_pods_pass_the_restricted_level(control_plane: str) -> None:
    """Namespaces that enforce `restricted` take the pods."""
    for body in manifests(control_plane):
        for pod in pod_specs(body):
            assert list(restricted_problems(pod)) == []


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (("securityContext", "runAsNonRoot", None), "runAsNonRoot"),
        (("securityContext", "runAsUser", 0), "runAsUser"),
        (("securityContext", "seccompProfile", None), "seccompProfile"),
        (("securityContext", "seccompProfile", "type", "Unconfined"), "seccompProfile"),
        (("containers", 0, "securityContext", "allowPrivilegeEscalation", None), "allowPrivilegeEscalation"),
        (("containers", 0, "securityContext", "privileged", True), "privileged"),
        (("containers", 0, "securityContext", "capabilities", "drop", ["NET_RAW"]), "capabilities"),
        (("containers", 0, "securityContext", "capabilities", "add", ["SYS_ADMIN"]), "capabilities"),
        (("hostNetwork", True), "hostNetwork"),
        (("volumes", [{"name": "x", "hostPath": {"path": "/dev/shm"}}]), "volume type"),
    ],
)
def test_the_restricted_level_finds_what_is_wrong(steps: tuple[Any, ...], problem: str) -> None:
    """Each rule by a change that breaks it."""
    pod = pod_specs(of_kind("kubeadm", "Job")[0])[0]

    assert problem in list(restricted_problems(changed(pod, *steps)))
