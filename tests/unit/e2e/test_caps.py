"""What nodes have left when pods come to them, and the same plan without its cap."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Literal

import pytest

from binpackgen.compilation import compile_profile
from binpackgen.metrics.changes import Change
from binpackgen.plan.model import Plan
from binpackgen.targets.scheduler.configuration import scheduler_configuration
from binpackgen_e2e.caps import Left, for_pods, left_on_nodes
from binpackgen_e2e.control_profiles import (
    CONTROL_SCHEDULER,
    UNCAPPED_SCHEDULER,
    control_profiles,
    uncapped,
)
from binpackgen_e2e.invariants import headroom_breaches
from binpackgen_e2e.nodes import nodes_of
from tests.targets.scheduler_factory import scheduler_plan

Item = dict[str, Any]

GI = 1 << 30


def capped(form: str, **caps: Any) -> Plan:
    image = "example.com/scheduler:1" if form == "filter" else None
    packing = {"dominance": "best-effort"}
    return scheduler_plan(
        "kubeadm",
        image=image,
        caps={"form": form, "headroom": {"cpu": 2, "memory": "8Gi"}, **caps},
        packing=packing,
    )


def pod(name: str, cpu: str, memory: str, node: str, phase: str = "Running") -> Item:
    requests = {"cpu": cpu, "memory": memory}
    spec: Item = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ai", "uid": name},
        "spec": spec | ({"nodeName": node} if node else {}),
        "status": {"phase": phase},
    }


def stream(plan: Plan, *items: tuple[Item, Literal["ADDED", "MODIFIED", "DELETED"]]) -> list[Change]:
    nodes = [(item, "ADDED") for item in nodes_of(plan)]
    return [
        Change(version, 0.0, kind, item["kind"], item)  # type: ignore[arg-type]
        for version, (item, kind) in enumerate((*nodes, *items), start=1)
    ]


@pytest.mark.parametrize("form", ["reserve", "curve", "filter"])
def test_what_is_left_is_counted_down_from_the_machine_in_every_form(form: str) -> None:
    """Of the 32 cores 20 and then 10.5 are taken: 12 are left, then 1.5, which is less than the cap's 2.

    What has ended or is deleted gives back, and a pod counts once. The other nodes could have kept the headroom:
    one more of the pool, and two of the other.
    """
    plan = capped(form)
    a, b, c = (
        pod("a", "20", "10Gi", "a100-0"),
        pod("b", "10500m", "10Gi", "a100-0"),
        pod("c", "1", "1Gi", "a100-0"),
    )
    changes = stream(
        plan,
        (pod("a", "20", "10Gi", ""), "ADDED"),
        (a, "MODIFIED"),
        (b, "ADDED"),
        (b, "MODIFIED"),
        ({**a, "status": {"phase": "Succeeded"}}, "MODIFIED"),
        (a, "DELETED"),
        (c, "ADDED"),
    )
    memory = for_pods(plan, plan.pool("a100"))[1]
    assert [
        Left(6, "ai/a", "a100-0", 12000, memory - 10 * GI, short=False, keeping=3),
        Left(7, "ai/b", "a100-0", 1500, memory - 20 * GI, short=True, keeping=3),
        Left(11, "ai/c", "a100-0", 20500, memory - 11 * GI, short=False, keeping=3),
    ] == list(left_on_nodes(plan, changes))


@pytest.mark.parametrize("seed", range(20))
def test_a_node_is_short_when_the_invariant_says_so(seed: int) -> None:
    """Random pods on few nodes: the first short arrival on a node is where the invariant sees its breach begin."""
    plan, chance = capped("filter"), random.Random(seed)
    names = [item["metadata"]["name"] for item in nodes_of(plan)]
    items = [
        (
            pod(f"p{index}", f"{chance.randint(1, 12)}", f"{chance.randint(1, 40)}Gi", chance.choice(names)),
            "ADDED",
        )
        for index in range(20)
    ]
    changes = stream(plan, *items)  # type: ignore[arg-type]
    first: dict[str, int] = {}
    for one in left_on_nodes(plan, changes):
        if one.short:
            first.setdefault(one.node, one.version)
    begun: dict[str, int] = {}
    for breach in headroom_breaches(plan, changes):
        begun.setdefault(breach.holder.removeprefix("node "), breach.version)
    assert begun == first


def test_the_plan_without_its_cap_offers_the_reserve_and_packs_plainly() -> None:
    """A reserve goes back to the nodes; a curve becomes MostAllocated; the plugin of a filter is not asked for."""
    reserve = capped("reserve")
    node, plain = reserve.pool("a100").allocatable, uncapped(reserve).pool("a100").allocatable
    assert (2000, 8 * GI) == (plain.cpu - node.cpu, plain.memory - node.memory)
    assert [CONTROL_SCHEDULER] == [one["schedulerName"] for one in control_profiles(reserve)]
    for form in ("curve", "filter"):
        [_, profile] = control_profiles(capped(form))
        assert UNCAPPED_SCHEDULER == profile["schedulerName"]
        fit = profile["pluginConfig"][0]["args"]["scoringStrategy"]
        assert ("MostAllocated", None) == (fit["type"], profile["plugins"].get("filter"))


def test_a_cluster_that_could_be_sampled_has_a_control_that_is() -> None:
    """Above 100 nodes the compiled profile looks at all of them; the control leaves that out and nothing else."""
    plan = compile_profile(str(Path(__file__).parents[2] / "e2e" / "profiles" / "large.yaml")).plan
    [packing, *_] = scheduler_configuration(plan).body["profiles"]
    [_, sampling] = control_profiles(plan)
    assert packing == {
        "schedulerName": plan.scheduler.name,
        "percentageOfNodesToScore": 100,
        **{key: value for key, value in sampling.items() if key != "schedulerName"},
    }
