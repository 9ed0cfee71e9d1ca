"""Kubernetes objects become the model's, and what is not modeled is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from binpackgen.errors import BinpackgenError
from binpackgen.simulate.matching import Requirement, equals
from binpackgen.simulate.model import PodTerm, UnmodeledError
from binpackgen.simulate.objects import read_cluster, read_node, read_pod

MIB = 2**20


def pod(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    body = {"containers": [{"name": "c", "image": "app:1"}]} | (spec or {})
    return {"kind": "Pod", "metadata": {"name": "p", **metadata}, "spec": body}


def container(requests: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    resources = {"requests": requests} if requests is not None else {}
    return {"name": "c", "resources": resources | rest.pop("resources", {}), **rest}


def test_a_container_that_declares_nothing_counts_only_in_scoring() -> None:
    """100m and 200Mi for each container without a key; a stated 0 stays 0."""
    shape = read_pod(
        pod({"containers": [container(), container({"cpu": "0"}), container({"memory": "1Gi"})]})
    )

    assert {"cpu": 0, "memory": 2**30} == shape.requests
    assert {"cpu": 200, "memory": 2**30 + 400 * MIB} == shape.scoring_requests


def test_limits_stand_in_for_requests() -> None:
    """What has a limit and no request requests its limit, as the API server has it."""
    limited = container({"cpu": "1"}, resources={"limits": {"cpu": "4", "nvidia.com/gpu": 2}})
    limited["resources"]["requests"] = {"cpu": "1"}

    assert {"cpu": 1000, "nvidia.com/gpu": 2} == read_pod(pod({"containers": [limited]})).requests


def test_init_containers_sidecars_and_overhead() -> None:
    """The greater of what runs together and of each start, sidecars included, and the overhead on top."""
    spec = {
        "containers": [container({"cpu": "2"})],
        "initContainers": [
            container({"cpu": "1"}, restartPolicy="Always"),
            container({"cpu": "3"}),
        ],
        "overhead": {"cpu": "250m"},
    }

    assert {"cpu": 4250} == read_pod(pod(spec)).requests


def test_fractions_are_summed_before_they_are_rounded() -> None:
    """Two containers of half a byte make one byte."""
    shape = read_pod(pod({"containers": [container({"memory": "500m"}), container({"memory": "500m"})]}))

    assert {"memory": 1} == shape.requests


def test_owners_merge_into_one_selector() -> None:
    """Every Service that selects the pod and its controller; others and other namespaces do not count."""
    labels = {"app": "x", "job": "1"}
    reference = {"kind": "StatefulSet", "name": "db", "controller": True}
    owners = [
        {"kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"app": "x"}}},
        {"kind": "Service", "metadata": {"name": "t"}, "spec": {"selector": {"app": "y"}}},
        {"kind": "Service", "metadata": {"name": "u", "namespace": "other"}, "spec": {"selector": labels}},
        {"kind": "Service", "metadata": {"name": "v"}, "spec": {}},
        {"kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {"selector": {"matchLabels": {"job": "1"}}}},
        {"kind": "ReplicaSet", "metadata": {"name": "db"}, "spec": {"selector": {"matchLabels": {"z": "1"}}}},
    ]  # fmt: skip

    shape = read_pod(pod(labels=labels, ownerReferences=[reference]), owners)

    assert equals(labels) == shape.owner_selector
    assert read_pod(pod(labels=labels)).owner_selector is None


def test_pod_terms() -> None:
    """The pod's own namespace is the default, an empty namespaceSelector means all, label keys are merged."""
    terms = [
        {"topologyKey": "z", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["job", "none"]},
        {"topologyKey": "z", "namespaceSelector": {}, "labelSelector": {}},
        {"topologyKey": "z", "namespaces": ["team"]},
    ]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    shape = read_pod(pod({"affinity": affinity}, labels={"job": "1"}, namespace="batch"))

    expected = (
        PodTerm("z", (*equals({"a": "b"}), Requirement("job", "In", ("1",))), frozenset({"batch"})),
        PodTerm("z", (), None),
        PodTerm("z", None, frozenset({"team"})),
    )
    assert expected == shape.required_pods


FIELDS = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}}  # fmt: skip
BY_NAMESPACE = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z", "namespaceSelector": {"matchLabels": {"a": "b"}}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        ({"resourceClaims": [{"name": "gpu"}]}, ["spec.resourceClaims"]),
        ({"schedulingGates": [{"name": "g"}]}, ["spec.schedulingGates"]),
        ({"schedulingGroup": {"podGroupName": "g"}}, ["spec.schedulingGroup"]),
        ({"resources": {"requests": {"cpu": "1"}}}, ["spec.resources"]),
        ({"somethingNew": 1}, ["spec.somethingNew"]),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
            ["volumes of kind persistentVolumeClaim"],
        ),
        ({"volumes": [{"name": "v", "image": {"reference": "m"}}]}, ["volumes of kind image"]),
        ({"containers": [container(ports=[{"hostPort": 80}])]}, ["hostPort"]),
        ({"containers": [container(resources={"claims": [{"name": "g"}]})]}, ["resources.claims"]),
        ({"affinity": {"nodeAffinity": FIELDS}}, ["node affinity by matchFields"]),
        ({"affinity": {"podAffinity": BY_NAMESPACE}}, ["pod affinity by namespaceSelector"]),
        ({"hostNetwork": True, "resourceClaims": [{}]}, ["spec.hostNetwork", "spec.resourceClaims"]),
    ],
)
def test_what_is_not_modeled_is_refused(spec: dict[str, Any], features: list[str]) -> None:
    """All features that could change a decision are named at once."""
    with pytest.raises(UnmodeledError) as caught:
        read_pod(pod(spec))

    assert features == list(caught.value.features)
    assert f"Pod default/p: the simulation does not model {', '.join(features)}" == str(caught.value)


def test_harmless_fields_are_passed_over() -> None:
    """Fields and volumes that no scheduler plugin looks at, and empty ones that would matter."""
    spec = {
        "restartPolicy": "Never",
        "priority": 5,
        "hostNetwork": False,
        "schedulingGates": [],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "nfs": {"server": "s", "path": "/"}}],
    }

    assert read_pod(pod(spec)) == read_pod(pod())


def test_a_nominated_pod_is_refused() -> None:
    """A nomination changes where other pods fit."""
    with pytest.raises(UnmodeledError, match=r"status\.nominatedNodeName"):
        read_pod(pod() | {"status": {"nominatedNodeName": "n"}})


def test_a_bound_pod_may_use_what_only_its_own_placement_depends_on() -> None:
    """Ports, volumes, claims and node fields of what already runs decide nothing for others."""
    terms = FIELDS["requiredDuringSchedulingIgnoredDuringExecution"]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {"hostNetwork": True, "volumes": volumes, "affinity": affinity, "resourceClaims": [{"name": "g"}]}

    assert {} == read_pod(pod(spec | {"nodeName": "n"})).requests
    with pytest.raises(UnmodeledError):
        read_pod(pod(spec))


@pytest.mark.parametrize(("held", "refused"), [("1", False), ("1500m", True), ("500m", False)])
def test_a_resize_in_place_is_refused_while_it_counts(held: str, refused: bool) -> None:
    """A pod that holds more than it asks for counts with what it holds."""
    item = pod({"nodeName": "n", "containers": [container({"cpu": "1"})]})
    item["status"] = {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": held}}]}

    if refused:
        with pytest.raises(UnmodeledError, match="a resize in place of cpu"):
            read_pod(item)
    else:
        assert {"cpu": 1000} == read_pod(item).requests


def test_resource_slices_are_refused() -> None:
    """Devices by claims change scores and filters."""
    with pytest.raises(UnmodeledError, match="ResourceSlice"):
        read_cluster([{"kind": "ResourceSlice", "metadata": {"name": "s"}}])


def test_a_cluster_is_read_from_lists() -> None:
    """Lists are opened, finished pods dropped, bound ones bound, waiting ones kept in order."""
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}
    done = pod({"nodeName": "n"}) | {"status": {"phase": "Succeeded"}}
    objects = [
        {"kind": "NodeList", "items": [node]},
        {"kind": "List", "items": [pod({"nodeName": "n"}), done, pod({"schedulerName": "packer"})]},
        {"kind": "ConfigMap", "metadata": {"name": "x"}},
    ]

    cluster = read_cluster(objects)

    assert [1] == [len(pods) for pods in cluster.state.pods]
    assert ["packer"] == [pending.scheduler for pending in cluster.pending]


def test_a_pod_on_an_unknown_node_is_an_error() -> None:
    """A snapshot without some of its nodes would give wrong answers."""
    with pytest.raises(BinpackgenError, match="Pod default/p runs on node gone"):
        read_cluster([pod({"nodeName": "gone"})])


def test_image_names_get_the_tag_that_the_scheduler_gives_them() -> None:
    """A port is no tag."""
    images = ["a", "a:1", "r:5000/a", "r:5000/a:1"]
    shape = read_pod(pod({"containers": [{"name": "c", "image": image} for image in images]}))

    assert ("a:latest", "a:1", "r:5000/a:latest", "r:5000/a:1") == shape.images


def test_a_node() -> None:
    """Allocatable amounts, taints, images and the cordon."""
    node = read_node(
        {
            "metadata": {"name": "n"},
            "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {
                "allocatable": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "8"},
                "images": [{"names": ["a:1", "a@sha256:0"], "sizeBytes": 5}],
            },
        }
    )

    assert {"cpu": 1500, "memory": 2**30, "nvidia.com/gpu": 8} == node.allocatable
    assert {"a:1": 5, "a@sha256:0": 5} == node.images
    assert [("k", "", "NoSchedule")] == [(taint.key, taint.value, taint.effect) for taint in node.taints]
    assert node.unschedulable


@pytest.mark.parametrize(
    ("operator", "values", "label", "expected"),
    [
        ("Gt", ("9",), "10", True),
        ("Gt", ("10",), "10", False),
        ("Lt", ("10",), "9", True),
        ("Gt", ("1",), "1_0", False),
        ("Gt", ("1",), "x", False),
        ("Gt", ("1",), "9223372036854775808", False),
        ("NotIn", ("a",), None, True),
        ("DoesNotExist", (), "a", False),
    ],
)
def test_requirements(operator: str, values: tuple[str, ...], label: str | None, expected: bool) -> None:
    """Numbers are Go's int64, and absence meets only NotIn and DoesNotExist."""
    labels = {} if label is None else {"k": label}

    assert expected == Requirement("k", operator, values).matches(labels)
