"""Custom resources against the definitions of the real modules, and Kueue's against its webhooks' rules."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.quantity import Quantity
from tests.conformance.crd_schemas import validate
from tests.conformance.emitted import emitted
from tests.conformance.tiers import ask

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside the repository")

QUEUE: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "q"},
    "spec": {
        "cohortName": "c",
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory"],
                "flavors": [
                    {
                        "name": "a",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "4", "borrowingLimit": "0"},
                            {"name": "memory", "nominalQuota": "4Gi", "lendingLimit": "0"},
                        ],
                    }
                ],
            }
        ],
    },
}


def queue(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """QUEUE with the value at `path` replaced, or taken away where it is None."""
    changed = copy.deepcopy(QUEUE)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


def objects(group: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for profile, document in emitted():
        if document.body["apiVersion"].startswith(f"{group}/"):
            yield f"{profile}/{document.path}", document.body


def webhook_refusals(obj: dict[str, Any]) -> Iterator[str]:
    """What Kueue's webhooks refuse beyond the definitions (pkg/webhooks, v0.17.0)."""
    groups = obj["spec"].get("resourceGroups", [])
    flavors = [flavor["name"] for group in groups for flavor in group["flavors"]]
    covered = [name for group in groups for name in group["coveredResources"]]
    if len(flavors) > 256 or len(covered) > 256:
        yield "more than 256 flavors or resources"
    if len(set(flavors)) < len(flavors) or len(set(covered)) < len(covered):
        yield "a flavor or a resource occurs twice"
    if not obj["spec"].get("namespaceSelector"):
        yield "nobody may use the queue, or everybody"
    for group in groups:
        if sum(len(flavor["resources"]) for flavor in group["flavors"]) > 512:
            yield "more than 512 pairs of flavor and resource"
        for flavor in group["flavors"]:
            if [one["name"] for one in flavor["resources"]] != group["coveredResources"]:
                yield f"{flavor['name']}: must match the name in coveredResources"
            for one in flavor["resources"]:
                if Quantity(str(one["nominalQuota"])) < Quantity("0"):
                    yield f"{flavor['name']}: negative quota"
                if ("borrowingLimit" in one or "lendingLimit" in one) and "cohortName" not in obj["spec"]:
                    yield f"{flavor['name']}: a limit without a cohort"
                if Quantity(one.get("lendingLimit", "0")) > Quantity(str(one["nominalQuota"])):
                    yield f"{flavor['name']}: lends more than it has"


@pytest.mark.parametrize("group", ["kueue.x-k8s.io", "jobset.x-k8s.io", "karpenter.sh", "nfd.k8s-sigs.io"])
def test_every_custom_resource_fits_its_definition(group: str) -> None:
    """The real definition, closed against unknown fields, and its CEL rules accept every object."""
    found = list(objects(group))

    assert found
    assert [(where, ask(lambda body=body: validate(body))) for where, body in found] == [
        (where, []) for where, _ in found
    ]


def test_every_cluster_queue_passes_the_webhook() -> None:
    """Order of resources, limits and selectors hold, which no definition checks."""
    queues = [(where, body) for where, body in objects("kueue.x-k8s.io") if body["kind"] == "ClusterQueue"]

    assert queues
    assert [(where, list(webhook_refusals(body))) for where, body in queues] == [
        (where, []) for where, _ in queues
    ]


def test_references_between_queues_hold() -> None:
    """Every flavor, topology, cluster queue and parent that an object names is emitted, or implicit by design."""
    kinds = ("ResourceFlavor", "ClusterQueue", "Topology")
    names = {
        (where.partition("/")[0], body["kind"], body["metadata"]["name"])
        for where, body in objects("kueue.x-k8s.io")
    }
    missing = []
    for where, body in objects("kueue.x-k8s.io"):
        spec = body.get("spec", {})
        named = [
            *(
                ("ResourceFlavor", one["name"])
                for group in spec.get("resourceGroups", [])
                for one in group["flavors"]
            ),
            *(("ClusterQueue", spec[key]) for key in ("clusterQueue",) if key in spec),
            *(("Topology", spec[key]) for key in ("topologyName",) if key in spec),
        ]
        assert {kind for kind, _ in named} <= set(kinds)
        missing += [(where, one) for one in named if (where.partition("/")[0], *one) not in names]

    assert missing == []


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("spec", "cohort"), "c", "spec.cohort: unknown field"),
        (("spec", "cohortName"), None, "spec: borrowingLimit must be nil when cohort is empty"),
        (
            ("spec", "queueingStrategy"),
            "FIFO",
            "spec.queueingStrategy: 'FIFO' is not one of ['StrictFIFO', 'BestEffortFIFO']",
        ),
        (
            ("spec", "resourceGroups", 0, "coveredResources"),
            ["cpu"],
            "spec.resourceGroups[0]: flavors must have the same number of resources as the coveredResources",
        ),
        (
            ("spec", "resourceGroups", 0, "flavors", 0, "resources", 1, "name"),
            "cpu",
            "spec.resourceGroups[0].flavors[0].resources[1]: duplicate value ['cpu']",
        ),
        (
            ("spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "nominalQuota"),
            None,
            "spec.resourceGroups[0].flavors[0].resources[0]: 'nominalQuota' is a required property",
        ),
        (
            ("spec", "flavorFungibility"),
            {"preference": "BorrowingOverPreemption"},
            "spec.flavorFungibility: preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
        ),
        (("metadata", "namespace"), "default", "metadata.namespace: the kind is cluster"),
        (("metadata", "name"), "Q", "metadata.name: 'Q' is no lowercase RFC 1123 subdomain"),
        (
            ("apiVersion",),
            "kueue.x-k8s.io/v1alpha1",
            'apiVersion: no matches for kind "ClusterQueue" in version "kueue.x-k8s.io/v1alpha1"',
        ),
    ],
)
def test_the_definitions_refuse_what_is_wrong(path: tuple[str | int, ...], value: Any, expected: str) -> None:
    """Negative control: fields, types, lists, defaults and CEL rules are really asked."""
    assert ask(lambda: validate(QUEUE)) == []
    assert ask(lambda: validate(queue(path, value))) == [expected]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            ("spec", "resourceGroups", 0, "coveredResources"),
            ["memory", "cpu"],
            "a: must match the name in coveredResources",
        ),
        (("spec", "cohortName"), None, "a: a limit without a cohort"),
        (
            ("spec", "resourceGroups", 0, "flavors", 0, "resources", 1, "lendingLimit"),
            "5Gi",
            "a: lends more than it has",
        ),
    ],
)
def test_the_webhook_rules_refuse_what_is_wrong(
    path: tuple[str | int, ...], value: Any, expected: str
) -> None:
    """Negative control: a wrong order, limits without a cohort and a loan beyond the quota are noticed."""
    selected = queue(("spec", "namespaceSelector"), {"matchLabels": {"a": "b"}})
    wrong = queue(path, value) | {}
    wrong["spec"]["namespaceSelector"] = selected["spec"]["namespaceSelector"]

    assert list(webhook_refusals(selected)) == []
    assert expected in list(webhook_refusals(wrong))


@needs_cases
def test_recorded_answers_of_a_real_kueue() -> None:
    """The oracle answers as Kueue 0.17.0 on a real API server did (cases kq04, kq06, kq09)."""
    expected = {
        "kq04/a-no-toleration.yaml": [],
        "kq04/b-flavor-adds-toleration.yaml": [],
        "kq06/a-v1beta1-cohort.yaml": [],
        "kq06/b-only-version-bumped.yaml": ["spec.cohort: unknown field"],
        "kq06/c-v1beta2-ok.yaml": [],
        "kq06/d-alpha-cohort.yaml": [
            'apiVersion: no matches for kind "Cohort" in version "kueue.x-k8s.io/v1alpha1"',
        ],
        "kq06/e-cohort-old-parent-field.yaml": ["spec.parent: unknown field"],
        "kq09/objects.yaml": [],
    }
    answers: dict[str, list[str]] = {}
    for file in expected:
        for obj in yaml.safe_load_all((CASES / file).read_text()):
            if obj["apiVersion"].startswith("kueue.x-k8s.io/"):
                answers.setdefault(file, []).extend(ask(lambda obj=obj: validate(obj)))

    assert answers == expected


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            ("spec", "template", "metadata", "labels"),
            {"karpenter.sh/x": "y"},
            'label domain "karpenter.sh" is restricted',
        ),
        (
            ("spec", "template", "spec", "requirements", 0, "values"),
            [],
            "requirements with operator 'In' must have a value defined",
        ),
        (
            ("spec", "disruption", "consolidationPolicy"),
            "WhenUnderutilized",
            "'WhenUnderutilized' is not one of",
        ),
        (("spec", "template", "spec", "kubelet"), {"maxPods": 5}, "unknown field"),
        (("spec", "template", "spec", "nodeClassRef", "name"), None, "'name' is a required property"),
    ],
)
def test_karpenters_definition_refuses_what_is_wrong(
    path: tuple[str | int, ...], value: Any, expected: str
) -> None:
    """Negative control: its labels, its requirements and fields that moved to the node class."""
    _, right = next(objects("karpenter.sh"))
    wrong: Any = copy.deepcopy(right)
    place = wrong
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value

    (answer,) = ask(lambda: validate(wrong))

    assert expected in answer


def test_unknown_kinds_are_no_pass() -> None:
    """A kind without a definition is an error of the test, not an object without problems."""
    with pytest.raises(LookupError):
        ask(
            lambda: validate(
                {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueues", "metadata": {"name": "q"}}
            )
        )
    with pytest.raises(LookupError):
        validate({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "q"}})
