"""The ledger on streams worked out by hand.

A v100 node of the lab has 32 cores, 128 GiB and 8 GPUs; weights are 1 for cpu and memory and 5 for the GPU. A pod
of 6 cores, 16 GiB and 1 GPU on an empty node: cpu 600/32 = 18, memory 1600/128 = 12, GPU 100/8 = 12, and so
(18 + 12 + 5*12) / 7 = 90/7 = 12. Beside one of its kind: (37 + 25 + 5*25) / 7 = 187/7 = 26.
"""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from binpackgen.metrics.golden import HitRate, Ledger, NodeUse, Placement
from binpackgen.simulate.engine import simulator
from binpackgen.simulate.model import ClusterState, SchedulerProfile
from binpackgen.simulate.objects import read_node, read_pod
from tests.unit.metrics.clusters import (
    GPU,
    PACKING,
    TYPE,
    Item,
    change,
    failed_attempt,
    node,
    on,
    plan,
    pod,
    stream,
)

PLAN = plan()


def fed(*items: Item) -> Ledger:
    ledger = Ledger(PLAN, PACKING)
    for one in stream(items):
        ledger.feed(one)
    return ledger


def eval_pod(name: str, **rest: object) -> Item:
    return pod(name, "6", "16Gi", 1, **rest)


def placed(item: Item, name: str) -> list[Item]:
    return [item, on(item, name)]


def test_a_placement_on_the_fuller_node_hits() -> None:
    """Two pods on one of two nodes: the first has no choice (12 on both), the second takes 26 over 12."""
    ledger = fed(node("n0"), node("n1"), *placed(eval_pod("a"), "n0"), *placed(eval_pod("b"), "n0"))

    assert [
        Placement("lab", "a", "n0", 4, 4.0, "v100", 2, 12, 12, choice=False, unjudged=()),
        Placement("lab", "b", "n0", 6, 6.0, "v100", 2, 26, 26, choice=True, unjudged=()),
    ] == ledger.placements
    assert HitRate(choices=1, hits=1, without_choice=1) == ledger.golden().hit_rate
    assert 1.0 == ledger.golden().hit_rate.rate


def test_a_placement_on_the_emptier_node_misses() -> None:
    """The same second pod on the empty node: 12 where 26 was to be had."""
    ledger = fed(node("n0"), node("n1"), *placed(eval_pod("a"), "n0"), *placed(eval_pod("b"), "n1"))

    assert (12, 26, True, False) == (
        ledger.placements[1].score,
        ledger.placements[1].best,
        ledger.placements[1].choice,
        ledger.placements[1].hit,
    )
    assert HitRate(choices=1, hits=0, without_choice=1) == ledger.golden().hit_rate
    assert 0.0 == ledger.golden().hit_rate.rate


def test_without_a_choice_there_is_no_rate() -> None:
    """One node, or none that differs: nothing to judge."""
    ledger = fed(node("n0"), *placed(eval_pod("a"), "n0"))

    assert HitRate(without_choice=1) == ledger.golden().hit_rate
    assert ledger.golden().hit_rate.rate is None
    assert HitRate() == Ledger(PLAN, PACKING).golden().hit_rate


def test_hit_rates_are_told_by_gpu_type_and_in_total() -> None:
    """GPU pods count under their node's type, pods without devices under none, whatever the node."""
    ledger = fed(
        node("v0"), node("v1"), node("a0", "a100"), node("a1", "a100"),
        *placed(eval_pod("1", nodeSelector={TYPE: "v100"}), "v0"),
        *placed(eval_pod("2", nodeSelector={TYPE: "v100"}), "v1"),
        *placed(pod("3", gpus=1, nodeSelector={TYPE: "a100"}), "a0"),
        *placed(pod("4", gpus=1, nodeSelector={TYPE: "a100"}), "a0"),
        *placed(pod("5"), "v0"),
    )  # fmt: skip
    golden = ledger.golden()

    assert {
        "a100": HitRate(1, 1, 1),
        "none": HitRate(1, 0, 0),
        "v100": HitRate(1, 0, 1),
    } == golden.hit_rates
    assert HitRate(3, 1, 2) == golden.hit_rate


def test_labels_taints_and_cordons_keep_nodes_out_of_the_choice() -> None:
    """Of five fuller nodes the pod may go to none: the empty one is no choice and no miss."""
    fuller = [
        node("other", "a100"),
        node("tainted", taints=[{"key": "x", "effect": "NoSchedule"}]),
        node("cordoned", unschedulable=True),
        node("full"),
        node("shaded", labels={"zone": "z2"}),
    ]
    fill = [
        on(pod(f"p{n}", "10", "32Gi", uid=str(n)), item["metadata"]["name"]) for n, item in enumerate(fuller)
    ]
    fill += [on(pod("whole", "1", "1Gi", 8), "full")]
    mine = eval_pod("mine", nodeSelector={TYPE: "v100", "zone": "z1"})
    ledger = fed(*fuller, *fill, node("free", labels={"zone": "z1"}), *placed(mine, "free"))

    assert (
        Placement("lab", "mine", "free", 14, 14.0, "v100", 1, 12, 12, choice=False, unjudged=())
        == ledger.placements[0]
    )


def test_a_finished_pod_leaves_once() -> None:
    """Succeeded makes room; the deletion that follows takes nothing more."""
    first = eval_pod("a")
    ledger = fed(node("n0"), *placed(first, "n0"), on(first, "n0", "Running"))
    before = [use.requested for use in ledger.nodes()]
    ledger.feed(change(5, on(first, "n0", "Succeeded")))
    finished = [use.requested for use in ledger.nodes()]
    ledger.feed(change(6, on(first, "n0", "Succeeded"), "DELETED"))

    assert [{"cpu": 6000, "memory": 16 * 2**30, GPU: 1}] == before
    assert [{}] == finished == [use.requested for use in ledger.nodes()]


def test_a_deleted_pod_leaves() -> None:
    """A pod that is deleted while it runs makes room as one that finished."""
    first = eval_pod("a")
    ledger = fed(node("n0"), *placed(first, "n0"))
    ledger.feed(change(4, on(first, "n0"), "DELETED"))

    assert [(0, 0, {})] == [(use.pods, use.counted, use.requested) for use in ledger.nodes()]


def test_listing_everything_again_changes_nothing() -> None:
    """Every object as ADDED with the version that is known, and changes from before, are passed over."""
    items = [node("n0"), node("n1"), *placed(eval_pod("a"), "n0"), *placed(eval_pod("b"), "n1")]
    changes = stream(items)
    ledger = fed(*items)
    golden, nodes, placements = ledger.golden(), list(ledger.nodes()), list(ledger.placements)
    for one in [*changes, *(again._replace(type="ADDED") for again in changes)]:
        ledger.feed(one)

    assert (golden, nodes, placements) == (ledger.golden(), list(ledger.nodes()), ledger.placements)


def test_an_old_list_does_not_bring_a_deleted_pod_back() -> None:
    """A list from before the deletion is older than it."""
    item = on(eval_pod("a"), "n0")
    ledger = fed(node("n0"))
    ledger.feed(change(2, item, "ADDED"))
    ledger.feed(change(3, item, "DELETED"))
    ledger.feed(change(2, item, "ADDED"))

    assert [0] == [use.pods for use in ledger.nodes()]


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    """A new uid takes the place of one whose deletion was not seen, and is placed anew."""
    ledger = fed(
        node("n0"), node("n1"), *placed(eval_pod("a"), "n0"), *placed(eval_pod("a", uid="second"), "n1")
    )

    assert ["n0", "n1"] == [placement.node for placement in ledger.placements]
    assert {"n0": 0, "n1": 1} == {use.name: use.pods for use in ledger.nodes()}


def test_a_pod_that_is_first_seen_on_a_node_is_no_placement() -> None:
    """It takes room, but what choice it had is not known."""
    ledger = fed(node("n0"), on(eval_pod("a"), "n0", "Running"))

    assert ([], 1) == (ledger.placements, next(ledger.nodes()).pods)


def test_pods_wait_for_their_node_and_survive_it() -> None:
    """Pods on a node that is not there yet, or gone, count when it is there."""
    ledger = fed(on(eval_pod("a"), "n0", "Running"), node("n0"))
    early = [(use.name, use.pods) for use in ledger.nodes()]
    ledger.feed(change(3, node("n0"), "DELETED"))
    gone = list(ledger.nodes())
    ledger.feed(change(4, node("n0"), "ADDED"))
    back = [(use.name, use.pods) for use in ledger.nodes()]
    ledger.feed(change(5, node("n0"), "DELETED"))
    ledger.feed(change(6, on(eval_pod("a"), "n0", "Running"), "DELETED"))
    ledger.feed(change(7, node("n0"), "ADDED"))

    assert ([("n0", 1)], [], [("n0", 1)], [("n0", 0)]) == (
        early,
        gone,
        back,
        [(use.name, use.pods) for use in ledger.nodes()],
    )


def test_a_placement_on_a_node_that_is_not_known_is_not_judged() -> None:
    """It is listed with the reason."""
    ledger = fed(node("n0"), *placed(eval_pod("a"), "ghost"))

    assert [
        Placement(
            "lab",
            "a",
            "ghost",
            3,
            3.0,
            "unknown",
            0,
            None,
            None,
            choice=False,
            unjudged=("a node that is not known",),
        )
    ] == ledger.placements
    assert HitRate(unjudged=1) == ledger.golden().hit_rate


def test_claims_and_gates_do_not_keep_a_pod_from_being_judged() -> None:
    """The volumes of our jobs' templates, a gate that was lifted, and a token are harmless."""
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "pvc-nas-data"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "token", "projected": {"sources": []}},
    ]
    item = eval_pod("b", volumes=volumes)
    gated = eval_pod("b", volumes=volumes, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    ledger = fed(node("n0"), node("n1"), *placed(eval_pod("a"), "n0"), gated, item, on(item, "n0"))

    assert (True, True, ()) == (
        ledger.placements[1].choice,
        ledger.placements[1].hit,
        ledger.placements[1].unjudged,
    )


@pytest.mark.parametrize(
    ("more", "features"),
    [
        ({"resourceClaims": [{"name": "gpu"}]}, ("spec.resourceClaims",)),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}}},
            ("node affinity by matchFields",),
        ),
    ],
)  # fmt: skip
def test_what_is_not_modeled_is_counted_and_not_judged(more: Item, features: tuple[str, ...]) -> None:
    """The pod of a DaemonSet or of a claim takes its room; its placement stands beside the rate."""
    ledger = fed(node("n0"), node("n1"), *placed(eval_pod("a"), "n0"), *placed(eval_pod("b", **more), "n1"))

    assert features == ledger.placements[1].unjudged
    assert HitRate(without_choice=1, unjudged=1) == ledger.golden().hit_rate
    assert [{"cpu": 6000, "memory": 16 * 2**30, GPU: 1}] * 2 == [use.requested for use in ledger.nodes()]


def test_requests_of_a_pod_as_a_whole_take_the_place_of_its_containers() -> None:
    """spec.resources counts on the node; the placement is not judged."""
    item = eval_pod("a", resources={"requests": {"cpu": "10"}})
    ledger = fed(node("n0"), *placed(item, "n0"))

    assert [{"cpu": 10_000, "memory": 16 * 2**30, GPU: 1}] == [use.requested for use in ledger.nodes()]
    assert ("spec.resources",) == ledger.placements[0].unjudged


def test_only_chosen_pods_are_judged_and_all_take_room() -> None:
    """The other pods' placements are not listed, and their nodes are not in use by the chosen."""
    ledger = Ledger(PLAN, PACKING, counts=lambda item: item["metadata"]["labels"].get("mine") == "yes")
    others, mine = pod("other"), pod("mine", labels={"mine": "yes"})
    for one in stream([node("n0", "cpu"), node("n1", "cpu"), *placed(others, "n0"), *placed(mine, "n1")]):
        ledger.feed(one)

    assert ["mine"] == [placement.name for placement in ledger.placements]
    assert HitRate(1, 0) == ledger.golden().hit_rate
    assert {"cpu": 1} == ledger.nodes_in_use()
    assert [("n0", 1, 0), ("n1", 1, 1)] == [(use.name, use.pods, use.counted) for use in ledger.nodes()]


def test_a_node_shows_who_holds_its_devices() -> None:
    """The label app.kubernetes.io/name, else the owner, else the pod; nodes come by pool and name."""
    owned = eval_pod("owned")
    owned["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "eval-7", "controller": True}]
    named = pod("named", "8", "32Gi", 4, labels={"app.kubernetes.io/name": "resnet"})
    ledger = fed(
        node("c", "cpu"), node("v1"), node("v0"),
        on(named, "v1"), on(owned, "v1"), on(eval_pod("alone"), "v1"), on(pod("cpu-only"), "v1"),
    )  # fmt: skip
    offers = {"cpu": 32_000, "memory": 128 * 2**30, "pods": 110}

    assert [
        NodeUse("v0", "v100", "v100", {**offers, GPU: 8}, {}, 0, 0, (None,) * 8),
        NodeUse(
            "v1", "v100", "v100", {**offers, GPU: 8},
            {"cpu": 24_000, "memory": 80 * 2**30, GPU: 6}, 4, 4,
            ("resnet", "resnet", "resnet", "resnet", "eval-7", "alone", None, None),
        ),
        NodeUse("c", "cpu", "none", offers, {}, 0, 0, ()),
    ] == list(ledger.nodes())  # fmt: skip


def test_room_kept_for_a_nominated_pod_is_no_choice() -> None:
    """The fuller node's last GPUs are kept for a pod of higher priority: to leave them is no miss.

    The nominated pod of 4 GPUs and the 4 that are in use make 8. A pod of even higher priority could have had them.
    """
    waiting = pod("high", "4", "16Gi", 4, priority=100)
    nominated = failed_attempt(waiting, "n0")
    before = [node("n0"), node("n1"), on(pod("half", "4", "16Gi", 4), "n0"), waiting, nominated]
    low, top = eval_pod("low", priority=10), eval_pod("top", priority=1000)

    assert HitRate(without_choice=1) == fed(*before, *placed(low, "n1")).golden().hit_rate
    assert HitRate(choices=1) == fed(*before, *placed(top, "n1")).golden().hit_rate


def test_the_node_of_a_preemption_is_no_choice() -> None:
    """The scheduler tries that node alone; other nodes that became feasible meanwhile were not compared."""
    item = eval_pod("a")
    items = [
        node("n0"),
        node("n1"),
        on(eval_pod("x"), "n1"),
        item,
        failed_attempt(item, "n0"),
        on(item, "n0"),
    ]

    assert HitRate(without_choice=1) == fed(*items).golden().hit_rate


def test_hard_spreading_leaves_no_choice() -> None:
    """One pod of the app on n0 and maxSkew 1: the second may not go there, so that the empty node is no miss."""
    labels = {"app": "a"}
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    second = eval_pod("b", labels=labels, topologySpreadConstraints=[constraint])
    soft = eval_pod(
        "b", labels=labels, topologySpreadConstraints=[{**constraint, "whenUnsatisfiable": "ScheduleAnyway"}]
    )
    before = [node("n0"), node("n1"), on(eval_pod("a", labels=labels), "n0")]

    assert HitRate(without_choice=1) == fed(*before, *placed(second, "n1")).golden().hit_rate
    assert HitRate(choices=1) == fed(*before, *placed(soft, "n1")).golden().hit_rate


def test_required_affinity_leaves_the_nodes_of_the_others() -> None:
    """A worker must join its master on n1; that n0 is fuller does not matter."""
    term = {"labelSelector": {"matchLabels": {"job": "j"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    before = [
        node("n0"),
        node("n1"),
        on(pod("x", gpus=4), "n0"),
        on(eval_pod("m", labels={"job": "j"}), "n1"),
    ]

    assert (
        HitRate(without_choice=1)
        == fed(*before, *placed(eval_pod("w", affinity=affinity), "n1")).golden().hit_rate
    )
    assert HitRate(choices=1) == fed(*before, *placed(eval_pod("w"), "n1")).golden().hit_rate


def test_one_node_can_be_asked_for() -> None:
    """The same as among all, None for a node that is not there."""
    ledger = fed(node("n0"), on(eval_pod("a"), "n0"))

    assert next(ledger.nodes()) == ledger.node("n0")
    assert ledger.node("n1") is None


def test_spreading_has_a_low_hit_rate_and_packing_a_high_one() -> None:
    """The same 60 pods on ten nodes: the packing profile hits always, LeastAllocated in less than a fifth."""
    rates = {
        name: simulated_rate(strategy)
        for name, strategy in (("pack", "MostAllocated"), ("spread", "LeastAllocated"))
    }

    assert 1.0 == rates["pack"]
    assert rates["spread"] is not None
    assert rates["spread"] < 0.2


def simulated_rate(strategy: str) -> float | None:
    chance = random.Random(5)
    nodes = [node(f"n{index}") for index in range(10)]
    pods = [
        eval_pod(f"p{index}") if chance.random() < 0.5 else pod(f"p{index}", "2", "4Gi")
        for index in range(60)
    ]
    profile = SchedulerProfile(
        37, strategy=strategy, resources=PACKING.resources, weights={"NodeResourcesFit": 1}
    )
    run = simulator(ClusterState(map(read_node, nodes)), profile, [read_pod(item) for item in pods])
    items = list(nodes)
    for index, item in enumerate(pods):
        taken = run.place(index)
        items += [item] if taken is None else placed(item, f"n{taken}")
    return fed(*items).golden().hit_rate.rate


def test_metrics_are_light_to_import() -> None:
    """An exporter needs neither numpy nor what only the command line uses."""
    code = "import sys, binpackgen.metrics.golden; print([m for m in ('numpy', 'click', 'jinja2') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]\n" == result.stdout
