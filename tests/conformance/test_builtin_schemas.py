"""Objects of kinds that Kubernetes has by itself, against the published schemas of each minor version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.conformance.emitted import emitted

MINORS = [f"1.{minor}" for minor in range(31, 38)]
BUILT_IN = {
    "v1",
    "apps/v1",
    "autoscaling/v2",
    "batch/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "scheduling.k8s.io/v1",
}
#: Groups that another test asks its own oracle about.
CUSTOM = {"jobset.x-k8s.io", "karpenter.sh", "kueue.x-k8s.io", "nfd.k8s-sigs.io"}
#: Files for a component or a cloud, not for the API server: no schema of them is published as such.
COMPONENT = {
    "aks.azure.com",
    "config.openshift.io",
    "core.gardener.cloud",
    "karpenter.azure.com",
    "karpenter.k8s.aws",
    "kind.x-k8s.io",
    "kubeadm.k8s.io",
    "kubelet.config.k8s.io",
    "kubescheduler.config.k8s.io",
}
CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside the repository")


def refusals(obj: dict[str, Any], minor: str) -> list[str]:
    """Why the object is none of its kind in this minor; a kind without a schema is refused too."""
    try:
        kubernetes_validate.validate(obj, minor, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [error.message]
    except kubernetes_validate.SchemaNotFoundError:
        return [f"{obj['apiVersion']} {obj['kind']} is not known in {minor}"]
    return []


@pytest.mark.parametrize("minor", MINORS)
def test_every_built_in_object_fits_its_schema(minor: str) -> None:
    """Strict schemas of this minor accept every object: no unknown field, no wrong type."""
    checked: dict[str, tuple[str, dict[str, Any]]] = {}
    for profile, document in emitted():
        if document.body["apiVersion"] in BUILT_IN:
            # the same object of another profile differs in its metadata alone
            content = {key: value for key, value in document.body.items() if key != "metadata"}
            checked[json.dumps(content)] = (f"{profile}/{document.path}", document.body)
    problems = [(where, problem) for where, body in checked.values() for problem in refusals(body, minor)]

    assert problems == []
    assert len(checked) > 20


def test_every_kind_has_an_oracle() -> None:
    """An object of a group that no list names would be checked by nobody."""
    unknown = {
        document.body["apiVersion"]
        for _, document in emitted()
        if document.body["apiVersion"] not in BUILT_IN
        and document.body["apiVersion"].partition("/")[0] not in CUSTOM | COMPONENT
    }

    assert unknown == set()


@pytest.mark.parametrize(
    "change",
    [{"value": "1000"}, {"globaldefault": True}, {"kind": "PriorityKlass"}, {"preemptionPolicy": True}],
    ids=["text", "misspelt", "kind", "boolean"],
)
def test_the_schemas_refuse_what_is_wrong(change: dict[str, Any]) -> None:
    """Negative control: a wrong type, an unknown field and an unknown kind are noticed in every minor."""
    right = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "a"},
        "value": 1,
    }

    assert [refusals(right, minor) for minor in MINORS] == [[] for _ in MINORS]
    assert all(refusals({**right, **change}, minor) for minor in MINORS)


def priority_class_refusals(obj: dict[str, Any]) -> list[str]:
    """What validation refuses beyond the schema (pkg/apis/scheduling/validation/validation.go, v1.37.2)."""
    problems = []
    if not -(2**31) <= obj["value"] < 2**31:
        problems.append("value: no int32")
    elif obj["value"] > 1_000_000_000:
        problems.append("value: above the maximum of user defined priorities")
    if obj["metadata"]["name"].startswith("system-"):
        problems.append("metadata.name: reserved for system use")
    return problems


def quota_refusals(obj: dict[str, Any]) -> list[str]:
    """Keys of a quota that are refused with a PriorityClass scope, or accepted and never counted for pods."""
    counted = ("pods", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
    return [
        f"spec.hard.{key}: never counted"
        for key in obj["spec"]["hard"]
        if key not in counted and not (key.startswith("requests.") and "/" in key)
    ]


def test_priority_classes_are_within_the_apis_bounds() -> None:
    """Every class passes validation, and one profile has at most one default."""
    classes = [(name, one.body) for name, one in emitted() if one.body["kind"] == "PriorityClass"]
    defaults = [name for name, body in classes if body.get("globalDefault")]

    assert [problem for _, body in classes for problem in priority_class_refusals(body)] == []
    assert len(defaults) == len(set(defaults))


@needs_cases
def test_recorded_refusals_of_priority_classes() -> None:
    """Negative control: what a real API server answered (case pr02)."""
    outcome = {
        path.name[0]: bool(priority_class_refusals(yaml.safe_load(path.read_text())))
        for path in sorted((CASES / "pr02").glob("[a-e]-*.yaml"))
    }

    assert outcome == {"a": True, "b": True, "c": False, "d": True, "e": True}


def test_quotas_use_only_keys_that_are_counted() -> None:
    """A quota whose keys nobody counts limits nothing and says nothing."""
    quotas = [one.body for _, one in emitted() if one.body["kind"] == "ResourceQuota"]

    assert quotas
    assert [problem for body in quotas for problem in quota_refusals(body)] == []


@needs_cases
def test_recorded_quotas_that_never_bite() -> None:
    """Negative control: the bare GPU name and limits. were accepted by a real API server and never used (case qt05)."""
    outcome = {
        path.name[0]: bool(quota_refusals(yaml.safe_load(path.read_text())))
        for path in sorted((CASES / "qt05").glob("[a-c]-*.yaml"))
    }

    assert outcome == {"a": True, "b": True, "c": False}
