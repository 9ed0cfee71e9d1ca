"""The ledger and its slow twin, which looks at whole snapshots, say the same of random streams."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binpackgen.metrics import choices, preemption, sizes
from binpackgen.metrics.golden import Ledger
from binpackgen.metrics.nodes import KnownNode, Nodes, PodKey
from binpackgen.plan.model import Plan
from binpackgen.simulate.model import SchedulerProfile
from tests.unit.metrics.clusters import GPU, POOL, plan
from tests.unit.metrics.naive import Twin
from tests.unit.metrics.streams import Stream

WITHIN = 30.0
STRATEGIES = ("MostAllocated", "LeastAllocated", "RequestedToCapacityRatio")
RESOURCES = (("cpu", 1), ("memory", 2), (GPU, 5))
SHAPE = ((0, 0), (30, 7), (80, 10), (100, 2))
CAPS = {
    "no cap": ("", None),
    "a cap": (
        "  caps: {headroom: {cpu: 2, memory: 8Gi}, form: filter}\n",
        (2000, 8 * 2**30 * 1000, False),
    ),
    "a cap with exemption": (
        "  caps: {headroom: {cpu: 4, memory: 8Gi}, form: filter, exemptWholeNode: true}\n",
        (4000, 8 * 2**30 * 1000, True),
    ),
}
PLANS = {name: plan(more) for name, (more, _) in CAPS.items()}


def differences(seed: int, length: int, strategy: str, cap: str, nodes: int) -> list[tuple[str, Any, Any]]:
    """What the twin and the ledger say differently, asked now and then and at the end."""
    chance = random.Random(seed)
    profile = SchedulerProfile(
        37,
        strategy=strategy,
        resources=RESOURCES,
        shape=SHAPE,
        weights={"NodeResourcesFit": 1},
        percentage=100,
    )
    plan = PLANS[cap]
    ledger = Ledger(plan, profile, within=WITHIN)
    twin = Twin(strategy, RESOURCES, SHAPE, WITHIN)
    twin.cap = CAPS[cap][1]
    found: list[tuple[str, Any, Any]] = []
    for change in Stream(chance, nodes).changes(length):
        twin.feed(change)
        ledger.feed(change)
        if chance.random() < 0.1:
            found += compared(plan, twin, ledger)
    return found + compared(plan, twin, ledger)


def compared(plan: Plan, twin: Twin, ledger: Ledger) -> list[tuple[str, Any, Any]]:
    golden = ledger.golden()
    placements = [(p.node, p.score, p.best, p.feasible, p.choice) for p in ledger.placements]
    judged = [row for row in twin.placements if row[5]]
    pairs = [
        ("placements", [row[1:] for row in twin.placements], placements),
        ("choices", len(judged), golden.hit_rate.choices),
        ("hits", sum(row[2] == row[3] for row in judged), golden.hit_rate.hits),
        ("preemption", twin.preemption(), tuple(golden.preemption)),
        ("nodes in use", nodes_in_use(twin), dict(ledger.nodes_in_use())),
        (
            "requested",
            requested(twin),
            {use.name: (use.requested.get("cpu", 0), use.pods) for use in ledger.nodes()},
        ),
        (
            "fragmentation",
            fragmentation(plan, twin),
            {
                kind: {
                    name: (stock.allocatable, stock.free, stock.unusable and round(stock.unusable, 9))
                    for name, stock in stocks.items()
                }
                for kind, stocks in golden.fragmentation.items()
            },
        ),
    ]
    return [(name, expected, actual) for name, expected, actual in pairs if expected != actual]


def nodes_in_use(twin: Twin) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in twin.nodes.values():
        pool = node["metadata"]["labels"][POOL]
        if twin.on_node(node["metadata"]["name"]):
            counts[pool] = counts.get(pool, 0) + 1
    return counts


def requested(twin: Twin) -> dict[str, tuple[int, int]]:
    pods = {name: twin.on_node(name) for name in twin.nodes}
    return {name: (twin.used(here, "cpu"), len(here)) for name, here in pods.items()}


def fragmentation(plan: Plan, twin: Twin) -> dict[str, dict[str, tuple[int, int, float | None]]]:
    pools = {pool.name: (pool.gpu_type, {taint.key for taint in pool.taints}) for pool in plan.pools}
    sizes = [
        (
            group.count,
            group.gpu_type or "",
            set(group.pools),
            {
                "cpu": group.request.cpu,
                "memory": group.request.memory * 1000,
                **{name: count * 1000 for name, count in group.request.devices.items()},
            },
        )
        for job in plan.jobs
        for group in job.pod_groups
    ]
    return {
        kind: {
            name: (
                whole // (1 if name == "cpu" else 1000),
                free // (1 if name == "cpu" else 1000),
                share and round(share, 9),
            )
            for name, (whole, free, share) in stocks.items()
        }
        for kind, stocks in twin.fragmentation(POOL, pools, sizes).items()
    }


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    length=st.integers(1, 120),
    strategy=st.sampled_from(STRATEGIES),
    cap=st.sampled_from(sorted(CAPS)),
    nodes=st.integers(1, 7),
)
def test_the_ledger_says_what_whole_snapshots_say(
    seed: int, length: int, strategy: str, cap: str, nodes: int
) -> None:
    """Placements, hit rate, fragmentation, preemption and node states are those of the naive recomputation."""
    assert [] == differences(seed, length, strategy, cap, nodes)


def broken_release(self: Nodes, key: PodKey, known: KnownNode) -> None:
    """Takes the pod off the node and leaves its GPUs behind."""
    held = known.pods[key]
    RELEASE(self, key, known)
    for place, amount in held.change:
        if place == self.place(GPU):
            known.used[place] += amount


RELEASE = Nodes.release
RENEW = choices._Table.renew
MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "scores from before the last changes": (
        choices._Table,
        "renew",
        lambda self, nodes: None if len(self.scores) >= len(nodes.slots) else RENEW(self, nodes),
    ),
    "finished pods keep their GPUs": (Nodes, "release", broken_release),
    "taints and labels not looked at": (choices.Demand, "_permits", lambda *_: True),
    "nodes of one kind though a pod asks for their labels": (Nodes, "tell_apart", lambda *_: None),
    "anti-affinity not looked at": (choices.Choices, "_filters_between_pods", lambda *_: []),
    "room of nominated pods not kept": (Ledger, "_reserved", lambda *_: ()),
    "no exemption of whole nodes": (choices, "takes_all_devices", lambda *_: False),
    "a cordoned node counted as usable": (sizes, "_is_open", lambda _: True),
    "old changes taken for new": (Ledger, "_is_old", lambda *_: False),
    "every nomination one by preemption": (preemption, "_makes_room", lambda *_: True),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_the_twin_catches_mistakes(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of ten mistakes in the ledger makes it differ from the twin within a few hundred streams."""
    where, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(where, name, wrong)

    assert any(is_caught(seed) for seed in range(300))


def is_caught(seed: int) -> bool:
    try:
        return bool(differences(seed, 60, STRATEGIES[seed % 3], sorted(CAPS)[seed // 3 % 3], 5))
    except (KeyError, ValueError, IndexError):
        # an impossible state is as good as a difference
        return True
