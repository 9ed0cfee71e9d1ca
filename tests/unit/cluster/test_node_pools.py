"""From nodes to pools: grouping, names, and amounts that come back exactly."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from cluster_nodes import GI, KI, a100, node, node_list
from hypothesis import given
from hypothesis import strategies as st

from binpackgen.canonical import to_yaml
from binpackgen.cluster.model import ClusterNode
from binpackgen.cluster.pools import MEMORY_TOLERANCE, Grouping, group_nodes
from binpackgen.cluster.read import read_nodes
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Pool
from binpackgen.plan.pools import offered_devices
from binpackgen.profile.load import load_profile
from binpackgen.profile.models import Gpu, Mig, MigSlice, NodePool, Sharing, Taint

MI = 1024**2


def group(*nodes: dict[str, Any]) -> Grouping:
    return group_nodes(read_nodes(node_list(*nodes).encode(), "nodes.json").nodes)


def plan_pools(grouping: Grouping) -> tuple[Pool, ...]:
    """The compiler's pools, by way of the text of a profile."""
    text = to_yaml(
        {
            "apiVersion": "binpackgen.dev/v1alpha1",
            "kind": "ClusterProfile",
            "metadata": {"name": "c"},
            "spec": {"kubernetes": {"version": "1.37"}, "nodePools": list(grouping.pools)},
        }
    )
    return compile_plan(load_profile("-", text.encode())).pools


def test_equal_nodes_become_one_pool() -> None:
    """The whole entry: what differs from a profile's defaults, and nothing else."""
    allocatable = {"cpu": "31500m", "memory": "250Gi"}
    nodes = [
        a100(
            f"gpu-{number}",
            memory="256Gi",
            allocatable=allocatable,
            pods="250",
            labels={"topology.kubernetes.io/zone": zone, "team": "vision", "rack": zone},
            taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
        )
        for number, zone in enumerate(["eu-b", "eu-a", "eu-a"])
    ]
    expected = Grouping(
        (
            {
                "name": "a100-sxm4-80gb-8x",
                "count": 3,
                "cpu": 32,
                "memory": "256Gi",
                "pods": 250,
                "gpu": {"type": "a100-sxm4-80gb", "count": 8},
                "labels": {"team": "vision"},
                "taints": [{"key": "nvidia.com/gpu", "value": "true"}],
                "zones": ["eu-a", "eu-b"],
                "reserved": {"system": {"cpu": "500m", "memory": "6044Mi"}},
            },
        ),
        ("pool a100-sxm4-80gb-8x: labels that not all of its 3 nodes have alike are left out: rack",),
    )

    assert expected == group(*nodes)


def test_a_pool_says_what_a_profile_does_not_assume() -> None:
    """110 pods and the GPU taint are defaults; a GPU pool without taints is not."""
    default = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    entry = {"count": 1, "cpu": 32, "memory": "8Gi", "gpu": {"type": "a100-sxm4-80gb", "count": 8}}
    no_reserve = {"reserved": {"evictionMemory": 0}}

    assert ({"name": "a100-sxm4-80gb-8x", **entry, **no_reserve},) == group(
        a100(memory="8Gi", taints=default)
    ).pools
    assert ({"name": "a100-sxm4-80gb-8x", **entry, "taints": [], **no_reserve},) == group(
        a100(memory="8Gi")
    ).pools


def test_taints_tell_pools_apart() -> None:
    """Machines that are kept for somebody are a pool of their own."""
    kept = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]

    assert ["cpu-32c-8g", "cpu-32c-8g-2"] == [
        pool["name"] for pool in group(node("a", memory="8Gi", taints=kept), node("b", memory="8Gi")).pools
    ]


def test_memory_that_differs_a_little_is_one_pool() -> None:
    """Equal machines report a few Ki more or less; the pool has the least, and the note has the numbers."""
    grouping = group(
        node("a", memory="263921132Ki", allocatable={"memory": "262770156Ki"}),
        node("b", memory="263921380Ki", allocatable={"memory": "262770404Ki"}),
    )
    (pool,) = plan_pools(grouping)

    assert (2, 263921132 * KI, 262770156 * KI) == (
        pool.nodes_max,
        pool.capacity.memory,
        pool.allocatable.memory,
    )
    expected = (
        "pool cpu-32c-252g: allocatable memory of its 2 nodes differs by up to 248Ki (at most 0.01 %); "
        "the least, 262770156Ki, is stated"
    )

    assert (expected,) == grouping.notes


@pytest.mark.parametrize(("more", "pools"), [(1.0, 1), (1.0001, 2)])
def test_one_percent_is_the_limit(more: float, pools: int) -> None:
    """Nodes whose memory differs by more than the tolerance are other machines."""
    least = 100_000 * MI
    nodes = [node("a", memory=str(least)), node("b", memory=str(int(least * (1 + more / 100))))]

    assert pools == len(group(*nodes).pools)


def test_a_reserve_that_differs_is_another_pool() -> None:
    """The same machine with another kubelet offers something else."""
    grouping = group(
        node("a", memory="100Gi", allocatable={"memory": "90Gi"}),
        node("b", memory="100Gi", allocatable={"memory": "98Gi"}),
    )

    assert [90 * GI, 98 * GI] == [pool.allocatable.memory for pool in plan_pools(grouping)]


def test_shared_gpus_get_a_type_of_their_own_beside_whole_ones() -> None:
    """A job that wants a whole T4 must not get a quarter; alone, the type needs no suffix."""
    product = {"nvidia.com/gpu.product": "Tesla-T4"}
    shared = {
        "nvidia.com/gpu.product": "Tesla-T4-SHARED",
        "nvidia.com/gpu.replicas": "4",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
    }
    whole_node = node("a", devices={"nvidia.com/gpu": "1"}, labels=product)
    shared_node = node("b", devices={"nvidia.com/gpu": "4"}, labels=shared)

    def types(*nodes: dict[str, Any]) -> list[str]:
        return [pool["gpu"]["type"] for pool in group(*nodes).pools]

    assert ["t4", "t4-shared"] == types(whole_node, shared_node)
    assert ["t4"] == types(shared_node)


def test_names_are_as_long_as_they_must_be() -> None:
    """Type and number; cores where they differ; memory where cores do not; a number as the last resort."""
    t4, taint = Gpu(type="t4", count=2), Taint(key="x")

    def one(name: str, cpu: int, memory: int, gpu: Gpu | None = None, **more: Any) -> ClusterNode:
        return ClusterNode(name, cpu * 1000, memory * GI, cpu * 1000, memory * GI, gpu, **more)

    nodes = [
        one("a", 64, 256, Gpu(type="A100.big", count=8)),
        one("b", 16, 64, t4),
        one("c", 32, 64, t4),
        one("d", 32, 128, t4),
        one("e", 32, 128),
        one("f", 32, 128, taints=(taint,)),
        one("g", 8, 8, pool="infra"),
        one("h", 16, 8, pool="infra"),
        one("i", 16, 16, pool="No_Label"),
        one("j", 1, 1, pool="cpu-32c-128g-2"),
        one("k", 8, 8, Gpu(type="t4", count=4)),
        one("l", 8, 8, Gpu(type="t4", count=4), taints=(taint,)),
    ]

    assert [
        "a100-big-8x",
        "t4-2x-16c",
        "t4-2x-32c-64g",
        "t4-2x-32c-128g",
        "t4-4x",
        "t4-4x-2",
        "cpu-32c-128g-2",
        "infra-8c",
        "infra-16c",
        "cpu-16c-16g",
        "cpu-32c-128g",
        "cpu-32c-128g-3",
    ] == [pool["name"] for pool in group_nodes(nodes).pools]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (0, {"evictionMemory": 0}),
        (3 * MI, {"evictionMemory": 0}),
        (4 * MI, {"system": {"memory": "4Mi"}, "evictionMemory": 0}),
        (99 * MI, {"system": {"memory": "99Mi"}, "evictionMemory": 0}),
        (100 * MI, {}),
        (101 * MI, {"system": {"memory": "101Mi"}, "evictionMemory": 0}),
        (104 * MI, {"system": {"memory": "4Mi"}}),
        (1124 * MI, {"system": {"memory": "1Gi"}}),
    ],
)
def test_the_reserve_makes_allocatable_exact(kept: int, expected: dict[str, Any]) -> None:
    """The usual eviction threshold where it fits, none where it does not; amounts below 4Mi have no place."""
    found = ClusterNode("a", 4000, 8 * GI, 4000, 8 * GI - kept)
    grouping = group_nodes([found])
    (pool,) = plan_pools(grouping)

    assert expected == grouping.pools[0].get("reserved", {})
    assert 8 * GI - kept == pool.allocatable.memory


GPUS = st.sampled_from(
    [
        None,
        Gpu(type="t4", count=4),
        Gpu(type="t4", count=4, sharing=Sharing(strategy="time-slicing", replicas=4)),
        Gpu(type="t4", count=4, sharing=Sharing(strategy="mps", replicas=2, rename=True)),
        Gpu(type="mi300x", count=8, resource="amd.com/gpu"),
        Gpu(
            type="a100-mig",
            count=1,
            mig=Mig(strategy="mixed", slices=(MigSlice(profile="1g.10gb", count=7),)),
        ),
        Gpu(type="1e3", count=1, mig=Mig(strategy="single", slices=(MigSlice(profile="3g.40gb", count=2),))),
    ]
)
TAINTS = st.sampled_from(
    [
        None,
        (),
        (Taint(key="nvidia.com/gpu", value="present"),),
        (Taint(key="a/b", value="08", effect="NoExecute"), Taint(key="c", effect="PreferNoSchedule")),
    ]
)
LABELS = st.dictionaries(
    st.sampled_from(["team", "x.y/z", "on"]), st.sampled_from(["", "yes", "1e3", "08", "a"])
)


@st.composite
def cluster(draw: st.DrawFn, memory: st.SearchStrategy[int]) -> list[ClusterNode]:
    """Up to 30 nodes of a few kinds; memory is drawn for each node."""
    nodes = []
    for number in range(draw(st.integers(1, 30))):
        cpu, size = draw(st.sampled_from([4000, 31_500, 128_000])), draw(memory)
        kept_cpu = draw(st.sampled_from([0, 1, 500]))
        kept = draw(st.sampled_from([0, 100 * MI, 150 * MI, 1024 * MI, 5 * MI + 1]))
        nodes.append(
            ClusterNode(
                name=f"n{number}",
                cpu=cpu,
                memory=size + kept,
                allocatable_cpu=cpu - kept_cpu,
                allocatable_memory=size,
                gpu=draw(GPUS),
                pods=draw(st.sampled_from([None, 110, 250])),
                pool=draw(st.sampled_from([None, "infra", "Bad_Name"])),
                zone=draw(st.sampled_from([None, "a", "b"])),
                labels=draw(LABELS),
                taints=draw(TAINTS),
            )
        )
    return nodes


def devices(gpu: Gpu | None) -> tuple[tuple[str, int], ...]:
    return tuple(offered_devices(NodePool(name="x", count=1, cpu="1", memory="8Mi", gpu=gpu)).items())


def kind(found: ClusterNode) -> tuple[Any, ...]:
    """What the scheduler sees of a node, apart from memory."""
    default = (Taint(key=found.gpu.resource, value="present"),) if found.gpu else ()
    taints = found.taints if found.taints is not None else default
    return (
        found.allocatable_cpu,
        devices(found.gpu),
        found.pods or 110,
        tuple((t.key, t.value, t.effect) for t in taints),
    )


def pool_kind(pool: Pool) -> tuple[Any, ...]:
    """The same of a node of a planned pool."""
    taints = tuple((taint.key, taint.value, taint.effect) for taint in pool.taints)
    return pool.allocatable.cpu, tuple(pool.allocatable.devices.items()), pool.source.pods, taints


@given(cluster(st.sampled_from([8 * GI, 100 * GI + 1, 256 * GI])))
def test_every_node_comes_back_exactly(nodes: list[ClusterNode]) -> None:
    """Read, grouped, written, loaded and planned, the cluster has the same nodes as before, to the byte."""
    planned: Counter[tuple[Any, ...]] = Counter()
    for pool in plan_pools(group_nodes(nodes)):
        planned[*pool_kind(pool), pool.allocatable.memory] += pool.nodes_max

    assert Counter((*kind(found), found.allocatable_memory) for found in nodes) == planned


@given(cluster(st.integers(8 * GI, 8 * GI + 400 * MI)))
def test_no_pool_offers_more_than_its_nodes(nodes: list[ClusterNode]) -> None:
    """However memory differs, no node has less than its pool says, nor more than 1 % more than that."""
    pools = plan_pools(group_nodes(nodes))
    wanted: dict[tuple[Any, ...], list[int]] = {}
    for pool in sorted(pools, key=lambda pool: pool.allocatable.memory):
        wanted.setdefault(pool_kind(pool), []).extend([pool.allocatable.memory] * pool.nodes_max)
    offered: dict[tuple[Any, ...], list[int]] = {}
    for found in sorted(nodes, key=lambda found: found.allocatable_memory):
        offered.setdefault(kind(found), []).append(found.allocatable_memory)

    assert {key: len(sizes) for key, sizes in offered.items()} == {
        key: len(sizes) for key, sizes in wanted.items()
    }
    for key, sizes in offered.items():
        for has, stated in zip(sizes, wanted[key], strict=True):
            assert stated <= has <= stated * (100 + MEMORY_TOLERANCE) / 100


@given(cluster(st.integers(8 * GI, 8 * GI + 400 * MI)), st.randoms(use_true_random=False))
def test_the_order_of_the_nodes_does_not_matter(nodes: list[ClusterNode], chance: random.Random) -> None:
    """An API server lists nodes in any order; the profile stays the same."""
    shuffled = list(nodes)
    chance.shuffle(shuffled)

    assert group_nodes(nodes) == group_nodes(shuffled)
