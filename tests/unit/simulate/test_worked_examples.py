"""Scores worked out by hand and confirmed on the real plugins of kubernetes v1.37.2, number by number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from binpackgen.simulate.cycle import decide, score
from binpackgen.simulate.matching import Requirement, Selector, Taint, Toleration, equals
from binpackgen.simulate.model import (
    HOSTNAME,
    ZONE,
    ClusterState,
    Node,
    PodShape,
    PodTerm,
    PreferredNodes,
    PreferredPods,
    SchedulerProfile,
    requests_of,
)
from binpackgen.simulate.scores import Cycle

GPU = "nvidia.com/gpu"
GIB = 2**30
MIB = 2**20
DEFAULT = SchedulerProfile(37)
PACKING = SchedulerProfile(37, strategy="MostAllocated", resources=(("cpu", 1), ("memory", 1), (GPU, 5)))


def request(cpu: float | None = None, memory: float | None = None, gpus: int = 0) -> dict[str, int]:
    """Requests in cores and GiB; what is None is not declared."""
    amounts = {}
    if cpu is not None:
        amounts["cpu"] = int(cpu * 1000)
    if memory is not None:
        amounts["memory"] = int(memory * GIB)
    return amounts | ({GPU: gpus} if gpus else {})


def pod(container: dict[str, int] | None = None, **rest: Any) -> PodShape:
    requests, scoring = requests_of([container or {}])
    return PodShape("pod", requests, scoring, **rest)


def node(name: str, gpus: int = 8, **rest: Any) -> Node:
    labels = {HOSTNAME: name} | rest.pop("labels", {})
    allocatable = {"cpu": 64000, "memory": 256 * GIB, "pods": 110} | ({GPU: gpus} if gpus else {})
    return Node(name, allocatable | rest.pop("allocatable", {}), labels, **rest)


def three_nodes() -> ClusterState:
    """Nodes a and b with 8 GPUs, c without; a pod with 16 cores, 64 GiB and 4 GPUs runs on a."""
    state = ClusterState([node("a"), node("b"), node("c", 0)])
    state.bind(pod(request(16, 64, 4)), 0)
    return state


def weighted(
    plugin: str, state: ClusterState, shape: PodShape, profile: SchedulerProfile = DEFAULT
) -> list[int] | None:
    """The weighted scores of one plugin on all nodes."""
    scores = score(Cycle(shape, state, profile, range(len(state.nodes)))).get(plugin)
    return None if scores is None else list(scores)


LEAST = replace(PACKING, strategy="LeastAllocated")
LINEAR = replace(PACKING, strategy="RequestedToCapacityRatio", shape=((0, 0), (100, 10)))
BENT = replace(PACKING, strategy="RequestedToCapacityRatio", shape=((0, 0), (40, 8), (100, 10)))
#: The scores of a pod that asks for a GPU on node c, where it is filtered, are not part of an example.
FIT_EXAMPLES = {
    "most": (PACKING, request(8, 32, 1), (54, 12)),
    "most without GPU": (PACKING, request(8, 32), (37, 12, 12)),
    "most without any request": (PACKING, {}, (25, 0, 0)),
    "most with a GPU alone": (PACKING, request(gpus=1), (51, 8)),
    "most with cpu stated as 0": (PACKING, request(0, 32), (31, 6, 6)),
    "ratio drops what scores 0": (LINEAR, request(0, 32), (31, 12, 12)),
    "least": (LEAST, request(8, 32, 1), (44, 87)),
    "least without GPU": (LEAST, request(8, 32), (62, 87, 87)),
    "ratio on a bent line": (BENT, request(8, 32, 1), (83, 24)),
}


@pytest.mark.parametrize("example", list(FIT_EXAMPLES))
def test_node_resources_fit(example: str) -> None:
    """The three strategies with GPUs, without, with undeclared requests and with a stated 0."""
    profile, container, expected = FIT_EXAMPLES[example]
    actual = weighted("NodeResourcesFit", three_nodes(), pod(container), profile)

    assert actual is not None
    assert expected == tuple(actual[: len(expected)])


@pytest.mark.parametrize(
    ("resources", "container", "expected"),
    [
        (("cpu", "memory"), request(8, 64), (71, 71, 71)),
        (("cpu", "memory"), request(32, 32), (65, 65, 65)),
        (("cpu", "memory", GPU), request(8, 64, 1), (75, 72)),
    ],
)
def test_balanced_allocation(
    resources: tuple[str, ...], container: dict[str, int], expected: tuple[int, ...]
) -> None:
    """Two and three resources in the form of 1.36 and later."""
    profile = replace(DEFAULT, balanced_resources=resources)
    actual = weighted("NodeResourcesBalancedAllocation", three_nodes(), pod(container), profile)

    assert actual is not None
    assert expected == tuple(actual[: len(expected)])


@pytest.mark.parametrize(("minor", "expected"), [(34, [95]), (35, [95]), (36, [72]), (37, [72])])
def test_balanced_allocation_changed_in_1_36(minor: int, expected: list[int]) -> None:
    """A pod of 1 core and 1 GiB on an empty node of 8 cores and 32 GiB, as the scheduler of each minor logs it."""
    state = ClusterState([Node("n", {"cpu": 8000, "memory": 32 * GIB, "pods": 110})])
    actual = weighted("NodeResourcesBalancedAllocation", state, pod(request(1, 1)), SchedulerProfile(minor))

    assert expected == actual


def test_balanced_allocation_skips_best_effort_pods_since_1_33() -> None:
    """A pod that requests none of the resources is scored in 1.32 and not in 1.33."""
    state, shape = three_nodes(), pod()

    assert [100, 100, 100] == weighted("NodeResourcesBalancedAllocation", state, shape, SchedulerProfile(32))
    assert weighted("NodeResourcesBalancedAllocation", state, shape, SchedulerProfile(33)) is None


def test_names_that_count_nowhere_vanish() -> None:
    """`gpu` and `pods` change nothing beside cpu and ephemeral-storage, whatever their weights."""
    resources = (("cpu", 1), ("ephemeral-storage", 1), ("gpu", 50), ("pods", 50))
    state = ClusterState([Node("n", {"cpu": 10000, "ephemeral-storage": 100 * GIB, "pods": 110, "gpu": 4})])
    state.bind(pod({"cpu": 5000, "ephemeral-storage": 20 * GIB}), 0)
    profile = replace(PACKING, resources=resources)

    assert [40] == weighted("NodeResourcesFit", state, pod({"cpu": 1000}), profile)


@pytest.mark.parametrize("second", [False, True])
def test_image_locality(second: bool) -> None:
    """1000 MiB on two of four nodes score 48; with a second container of 40 MiB on one of four, 24."""
    big, small = {"big:1": 1000 * MIB}, {"small:1": 40 * MIB}
    held = [big | small, big, {}, {}]
    state = ClusterState(node(f"n{index}", images=images) for index, images in enumerate(held))
    shape = pod(images=("big:1", "small:1") if second else ("big:1",))

    expected = [24, 24, 0, 0] if second else [48, 48, 0, 0]
    assert expected == weighted("ImageLocality", state, shape)


def test_taint_toleration() -> None:
    """0, 1 and 3 PreferNoSchedule taints that are not tolerated, at weight 3."""
    taints = tuple(Taint(key, "", "PreferNoSchedule") for key in "xyz")
    state = ClusterState([node("a"), node("b", taints=taints[:1]), node("c", taints=taints)])

    assert [300, 201, 0] == weighted("TaintToleration", state, pod())
    assert [300, 300, 300] == weighted(
        "TaintToleration", state, pod(tolerations=(Toleration(operator="Exists"),))
    )
    # a toleration of another effect does not count
    strict = Toleration(operator="Exists", effect="NoSchedule")
    assert [300, 201, 0] == weighted("TaintToleration", state, pod(tolerations=(strict,)))


def test_node_affinity() -> None:
    """Preferred terms of 80 and 30: both, the first, the second, none, at weight 2; no terms, no score."""

    def has(key: str) -> Selector:
        return (Requirement(key, "Exists"),)

    labels = [{"x": "", "y": ""}, {"x": ""}, {"y": ""}, {}]
    state = ClusterState(node(f"n{index}", labels=own) for index, own in enumerate(labels))
    shape = pod(preferred_nodes=(PreferredNodes(80, has("x")), PreferredNodes(30, has("y"))))

    assert [200, 144, 54, 0] == weighted("NodeAffinity", state, shape)
    assert weighted("NodeAffinity", state, pod()) is None


def test_system_default_spreading() -> None:
    """Zones z1 with a and b, z2 with c; two pods on a, one on b: 46, 53, 100 at weight 2."""
    state = ClusterState(
        [node(name, labels={ZONE: zone}) for name, zone in zip("abc", ("z1", "z1", "z2"), strict=True)]
    )
    shape = pod(labels={"app": "x"}, owner_selector=equals({"app": "x"}))
    for index in (0, 0, 1):
        state.bind(shape, index)

    assert [92, 106, 200] == weighted("PodTopologySpread", state, shape)
    assert weighted("PodTopologySpread", state, replace(shape, owner_selector=None)) is None


def test_preferred_pod_affinity() -> None:
    """A term of 100 on the hostname, two matching pods on a, one on b: it adds up, at weight 2."""
    state = ClusterState([node("a"), node("b"), node("c")])
    term = PodTerm(HOSTNAME, equals({"app": "x"}), frozenset({"default"}))
    for index in (0, 0, 1):
        state.bind(pod(labels={"app": "x"}), index)

    shape = pod(preferred_pods=(PreferredPods(100, term),))
    assert [200, 100, 0] == weighted("InterPodAffinity", state, shape)


@pytest.mark.parametrize(("raw", "expected"), [(29, 28), (57, 56), (58, 57)])
def test_inter_pod_affinity_normalizes_in_floating_point(raw: int, expected: int) -> None:
    """29 of 100 gives 28: the doubles of the plugin, in its order."""
    state = ClusterState([node("a"), node("b"), node("c")])
    state.bind(pod(labels={"app": "x"}), 0)
    state.bind(pod(labels={"app": "y"}), 1)
    terms = tuple(
        PreferredPods(weight, PodTerm(HOSTNAME, equals({"app": app}), None))
        for app, weight in (("x", 100), ("y", raw))
    )

    assert [200, 2 * expected, 0] == weighted("InterPodAffinity", state, pod(preferred_pods=terms))


@pytest.mark.parametrize(
    ("profile", "totals"),
    [
        (PACKING, (549, 596)),
        (replace(PACKING, weights={**PACKING.weights, "NodeResourcesFit": 5}), (717, 680)),
        (replace(PACKING, default_spread=(), system_spread=False), (417, 396)),
    ],
    ids=["as it comes", "with weight 5", "without default spreading"],
)
def test_the_jobset_trap(profile: SchedulerProfile, totals: tuple[int, int]) -> None:
    """The Service of a JobSet spreads its pods against packing, unless packing weighs more or defaults are off."""
    state = ClusterState([node("a"), node("b"), node("c", 0)])
    labels = {"jobset.sigs.k8s.io/jobset-name": "train"}
    shape = pod(request(8, 32, 2), labels=labels, owner_selector=equals(labels))
    state.bind(shape, 0)

    decision = decide(state, shape, profile)

    assert (0, 1) == decision.feasible
    assert totals == decision.totals
    assert (0 if totals[0] > totals[1] else 1) == decision.node
