"""What is read from `kubectl get nodes -o json`, and what is said about it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from cluster_nodes import GI, KI, a100, node, node_list
from hypothesis import given
from hypothesis import strategies as st

from binpackgen.cluster.model import ClusterNode, NodeList
from binpackgen.cluster.read import read_nodes
from binpackgen.errors import FindingsError
from binpackgen.profile.models import Gpu, Taint


def read(text: str) -> NodeList:
    return read_nodes(text.encode(), "nodes.json")


def findings(text: str) -> list[tuple[str, str, str]]:
    with pytest.raises(FindingsError) as caught:
        read(text)
    return [(finding.code, str(finding.span), finding.message) for finding in caught.value.findings]


def test_a_node_is_read_with_all_its_amounts() -> None:
    """Capacity and allocatable are kept apart, to the byte and the millicore."""
    text = node_list(
        node(
            "worker-1",
            cpu="64",
            memory="263921132Ki",
            pods="250",
            allocatable={"cpu": "63770m", "memory": "262770156Ki"},
            labels={"team": "vision", "topology.kubernetes.io/zone": "eu-1a"},
        )
    )

    expected = NodeList(
        (
            ClusterNode(
                name="worker-1",
                cpu=64_000,
                memory=263921132 * KI,
                allocatable_cpu=63_770,
                allocatable_memory=262770156 * KI,
                pods=250,
                zone="eu-1a",
                labels={"team": "vision"},
                taints=(),
            ),
        ),
        found=1,
        kubernetes="1.37",
    )

    assert expected == read(text)


def test_a_single_node_is_a_list_of_one() -> None:
    """`kubectl get node NAME -o json` prints a Node and no List."""
    assert read(node_list(node())) == read(json.dumps(node()))


def test_a_node_list_of_the_api_itself_is_read() -> None:
    """The API server's NodeList has items without a kind."""
    item = {key: value for key, value in node().items() if key not in ("apiVersion", "kind")}

    assert read(node_list(node())) == read(json.dumps({"kind": "NodeList", "items": [item]}))


def test_nodes_that_batch_work_cannot_have_are_left_out_and_named() -> None:
    """Control planes by their taint, virtual kubelets and Windows are no place for batch jobs."""
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    read_list = read(
        node_list(
            node("cp-1", taints=[taint]),
            node("cp-2", taints=[taint]),
            node("win-1", labels={"kubernetes.io/os": "windows"}),
            node(
                "fargate-1",
                taints=[
                    {"key": "eks.amazonaws.com/compute-type", "value": "fargate", "effect": "NoSchedule"}
                ],
            ),
            node("new-1", cpu="0", memory="0"),
            node("worker-1"),
        )
    )

    assert ["worker-1"] == [found.name for found in read_list.nodes]
    assert read_list.found == 6
    assert read_list.notes == (
        "left out, Fargate: 1 node (fargate-1)",
        "left out, Windows: 1 node (win-1)",
        "left out, control plane: 2 nodes (cp-1, cp-2)",
        "left out, no cpu or memory in the status: 1 node (new-1)",
    )


def test_a_control_plane_that_takes_pods_counts() -> None:
    """Without the taint, as on k3s, pods run on it."""
    read_list = read(node_list(node(labels={"node-role.kubernetes.io/control-plane": "true"})))

    assert 1 == len(read_list.nodes)
    assert read_list.notes == ("counted, control plane without a taint: 1 node (node-1)",)


def test_nodes_in_trouble_count_and_are_named() -> None:
    """Cordoned and NotReady nodes come back; a profile that forgot them would be too small."""
    read_list = read(
        node_list(
            node(
                "a",
                cordoned=True,
                taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
            ),
            node("b", ready="False", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]),
            node("c", ready="Unknown"),
            node("d"),
        )
    )

    assert [()] * 4 == [found.taints for found in read_list.nodes]
    assert read_list.notes == ("counted, cordoned: 1 node (a)", "counted, not Ready: 2 nodes (b, c)")


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("node.kubernetes.io/memory-pressure", False),
        ("node.cloudprovider.kubernetes.io/uninitialized", False),
        ("ToBeDeletedByClusterAutoscaler", False),
        ("karpenter.sh/disrupted", False),
        ("node.cilium.io/agent-not-ready", False),
        ("nvidia.com/gpu", True),
        ("dedicated", True),
        ("node-role.kubernetes.io/gpu", True),
    ],
)
def test_taints_that_pass_with_a_condition_are_no_part_of_a_pool(key: str, kept: bool) -> None:
    """What controllers put on and take off again is dropped; what somebody decided stays."""
    (found,) = read(node_list(node(taints=[{"key": key, "value": "x", "effect": "NoSchedule"}]))).nodes

    assert ((Taint(key=key, value="x"),) if kept else ()) == found.taints


def test_labels_that_others_keep_are_no_part_of_a_pool() -> None:
    """What Kubernetes, clouds and discovery agents write is theirs; the rest belongs to the users."""
    labels = {
        "node.kubernetes.io/instance-type": "p4d.24xlarge",
        "feature.node.kubernetes.io/cpu-cpuid.AVX": "true",
        "nvidia.com/cuda.driver-version.full": "580.1",
        "eks.amazonaws.com/nodegroup": "gpu",
        "binpackgen.dev/pool": "big",
        "example.com/team": "vision",
        "gpu.type": "a100",
    }
    (found,) = read(node_list(node(labels=labels))).nodes

    assert {"example.com/team": "vision", "gpu.type": "a100"} == found.labels
    assert found.pool == "big"


def test_devices_that_are_not_allocatable_do_not_count() -> None:
    """An unhealthy GPU stays in capacity and leaves allocatable; the scheduler sees seven."""
    read_list = read(node_list(a100(allocatable={"nvidia.com/gpu": "7"})))

    assert Gpu(type="a100-sxm4-80gb", count=7) == read_list.nodes[0].gpu
    assert read_list.notes == ("not counted, 1 of 8 nvidia.com/gpu is not allocatable: 1 node (gpu-1)",)


def test_resources_that_a_profile_cannot_state_are_named() -> None:
    """Network devices and the like are dropped, but not in silence."""
    nodes = [a100(f"gpu-{n}", devices={"nvidia.com/gpu": "8", "rdma/hca": "1k"}) for n in range(5)]
    read_list = read(node_list(*nodes))

    assert read_list.notes == (
        "left out, rdma/hca has no place in a profile: 5 nodes (gpu-0, gpu-1, gpu-2 and 2 more)",
    )


def test_a_gpu_without_a_name_is_called_by_its_resource() -> None:
    """No label names the product, so nobody guesses one."""
    read_list = read(node_list(node(devices={"nvidia.com/gpu": "4"})))

    assert Gpu(type="nvidia-gpu", count=4) == read_list.nodes[0].gpu
    assert read_list.notes == (
        'no label names the type of the GPUs, which is called "nvidia-gpu": 1 node (node-1)',
    )


def test_the_newest_kubelet_names_the_version() -> None:
    """A control plane is never older than its kubelets, and 1.9 is older than 1.34."""
    nodes = [node("a", version="v1.9.1"), node("b", version="v1.34.2+k3s1"), node("c", version="strange")]

    assert "1.34" == read(node_list(*nodes)).kubernetes


def test_more_pods_than_a_profile_states_are_cut_and_named() -> None:
    """Simulated nodes often take a million pods."""
    read_list = read(node_list(node(pods="1M")))

    assert 2500 == read_list.nodes[0].pods
    assert read_list.notes == (
        "2500 pods a node are stated, the most that a profile can, not 1000000: 1 node (node-1)",
    )


def test_a_bad_quantity_is_found_where_it_stands() -> None:
    """The finding names the node and points at the value."""
    text = node_list(node("good"), node("bad", memory="8Gi", allocatable={"memory": "lots"}))
    (line,) = [number for number, content in enumerate(text.splitlines(), 1) if "lots" in content]

    assert [
        (
            "BP009",
            f"nodes.json:{line}:31",
            'allocatable memory of node "bad": "lots" is no quantity: it has no number, such as 6Gi or 500m have',
        )
    ] == findings(text)


def test_a_bad_capacity_is_told_from_a_bad_allocatable() -> None:
    """The same amount stands in both; the finding points at the right one."""
    text = node_list(node("bad", memory="lots", allocatable={"memory": "8Gi"}))
    (line,) = [number for number, content in enumerate(text.splitlines(), 1) if "lots" in content]

    assert [f"nodes.json:{line}:31"] == [place for _, place, _ in findings(text)]


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        ("", "BP001", "1:1", "is empty"),
        ("{", "BP002", "1:2", "is no JSON: expecting property name enclosed in double quotes"),
        ('{"kind": "PodList", "items": []}', "BP001", "1:1", "holds a PodList, and a List of Node is wanted"),
        (
            '{"items": []}',
            "BP001",
            "1:1",
            "holds JSON that is no Kubernetes object, and a List of Node is wanted",
        ),
        ("[]", "BP001", "1:1", "holds JSON that is no Kubernetes object, and a List of Node is wanted"),
        ('{"kind": "List", "items": [{"kind": "Pod"}]}', "BP001", "1:1", "items[0] is a Pod, not a Node"),
        ('{"kind": "List", "items": [1]}', "BP001", "1:1", "items[0] is no object, not a Node"),
        ('{"kind": "Node"}', "BP009", "1:1", "a node has no metadata.name"),
        (
            '{"kind": "Node", "metadata": {"name": "A B"}}',
            "BP009",
            "1:39",
            'a node has the name "A B", which is none',
        ),
        (
            "NAME     STATUS   ROLES    AGE   VERSION\nnode-1   Ready    <none>   1d    v1.37.1\n",
            "BP001",
            "1:1",
            "is kubectl's table for people, which does not say what the nodes offer",
        ),
        ("apiVersion: v1\nkind: List\n", "BP001", "1:1", "is YAML, and nodes are read as JSON"),
        ("hello\n", "BP001", "1:1", "is neither JSON nor a table"),
    ],
)
def test_what_is_no_list_of_nodes_is_refused(text: str, code: str, place: str, message: str) -> None:
    """Every other text gets one finding that says what it is."""
    assert [(code, f"nodes.json:{place}", message)] == findings(text)


def test_a_node_twice_is_refused() -> None:
    """Two lists in one file would count every node double."""
    (found,) = findings(node_list(node("a"), node("a")))

    assert ("BP003", 'the list has node "a" twice') == (found[0], found[2])


def test_more_devices_than_a_profile_states_are_refused() -> None:
    """160 devices are shared ones, and only labels can say by how many."""
    (found,) = findings(node_list(node(devices={"nvidia.com/gpu": "160"})))

    assert found[0] == "BP009"
    assert found[2].startswith(
        'node "node-1" offers 160 nvidia.com/gpu, and a profile states at most 128 devices'
    )


def test_bytes_that_are_no_text_are_refused() -> None:
    """The finding names the byte and its line."""
    with pytest.raises(FindingsError) as caught:
        read_nodes(b'{"kind":\n "\xff"}', "nodes.json")

    assert [("BP001", "nodes.json:2:3", "byte 0xff is no UTF-8 text")] == [
        (finding.code, str(finding.span), finding.message) for finding in caught.value.findings
    ]


def test_a_broken_archive_is_refused() -> None:
    """A download that stopped halfway is no list of nodes."""
    with pytest.raises(FindingsError) as caught:
        read_nodes(b"\x1f\x8b\x08\x00\x00", "nodes.json.gz")

    assert [("BP001", "nodes.json.gz:1:1")] == [
        (finding.code, str(finding.span)) for finding in caught.value.findings
    ]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path inside a JSON value."""
    found = [path]
    if isinstance(value, dict):
        for key, child in value.items():
            found += paths(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            found += paths(child, (*path, index))
    return found


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    if isinstance(value, dict):
        return {k: replaced(v, path[1:], junk) if k == path[0] else v for k, v in value.items()}
    return [replaced(v, path[1:], junk) if i == path[0] else v for i, v in enumerate(value)]


WHOLE = json.loads(
    node_list(
        a100(taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]),
        node("mig", devices={"nvidia.com/mig-1g.10gb": "7"}, labels={"team": "x"}),
    )
)


@given(st.sampled_from(paths(WHOLE)), JUNK)
def test_junk_anywhere_is_a_finding_or_harmless(path: tuple[Any, ...], junk: Any) -> None:
    """Whatever replaces a part of the input, no other exception gets out, and nodes stay plausible."""
    text = json.dumps(replaced(WHOLE, path, junk))
    found: tuple[ClusterNode, ...] = ()
    with contextlib.suppress(FindingsError):
        found = read(text).nodes

    assert all(0 < one.allocatable_cpu <= one.cpu for one in found)
    assert all(0 < one.allocatable_memory <= one.memory for one in found)


def test_memory_is_read_in_any_notation() -> None:
    """kubelets write Ki, clouds write what they like."""
    for text in ("8388608Ki", "8Gi", "8589934592", "8589934592000m"):
        (found,) = read(node_list(node(memory=text))).nodes

        assert 8 * GI == found.memory
