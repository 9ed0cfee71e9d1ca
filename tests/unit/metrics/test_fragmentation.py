"""Fragmentation, worked out by hand.

The lab's sizes on v100 nodes are train (weight 2: 16 cores, 32 GiB, 4 GPUs), eval (weight 1: 6 cores, 16 GiB, 1 GPU)
and, if the plan lets CPU-only pods in, etl (weight 1: 3 cores, 8 GiB).
"""

from __future__ import annotations

from typing import Any

import pytest

from binpackgen.metrics.golden import Ledger
from binpackgen.metrics.sizes import Stock
from binpackgen.plan.model import Plan
from tests.unit.metrics.clusters import GPU, PACKING, Item, node, on, plan, pod, stream

GIB = 2**30
#: CPU-only pods stay off the GPU pools, so that etl is no size of theirs.
APART = "  packing: {cpuOnlyPods: cpu-pools-only}\n"
PLAN = plan(APART)


def stocks(*items: Item, kind: str = "v100", of: Plan = PLAN) -> dict[str, Stock]:
    ledger = Ledger(of, PACKING)
    for one in stream(items):
        ledger.feed(one)
    return dict(ledger.golden().fragmentation.get(kind, {}))


def test_the_example_of_the_module() -> None:
    """20 cores, 7 GPUs and 112 GiB are free.

    One train pod fits (cores: 20/16) and leaves 3 GPUs, 4 cores and 80 GiB; three eval pods fit (20/6) and leave 4
    GPUs, 2 cores and 64 GiB. GPUs: (2*3 + 1*4) / (3*7) = 10/21; cores: (2*4 + 1*2) / (3*20) = 1/6; memory:
    (2*80 + 64) / (3*112) = 2/3.
    """
    assert {
        "cpu": Stock(32_000, 20_000, 1 / 6),
        "memory": Stock(128 * GIB, 112 * GIB, 2 / 3),
        GPU: Stock(8, 7, 10 / 21),
    } == stocks(node("n0"), on(pod("x", "12", "16Gi", 1), "n0"))


def test_an_empty_node_that_the_sizes_fill_is_not_fragmented() -> None:
    """Two train pods take 8 GPUs; five eval pods take 5 (cores: 32/6): (2*0 + 1*3) / (3*8) = 1/8."""
    assert Stock(8, 8, 0.125) == stocks(node("n0"))[GPU]


def test_free_gpus_without_cores_are_unusable() -> None:
    """2 cores left: no size fits, all 7 free GPUs are unusable."""
    assert Stock(8, 7, 1.0) == stocks(node("n0"), on(pod("x", "30", "16Gi", 1), "n0"))[GPU]


def test_scattered_gpus_are_unusable_for_the_large_size_alone() -> None:
    """Three nodes with 3 free GPUs each: train fits nowhere, eval everywhere (18/6): 2*9 / (3*9) = 2/3."""
    items = [item for n in range(3) for item in (node(f"n{n}"), on(pod(f"p{n}", "5", "8Gi", 5), f"n{n}"))]

    assert Stock(24, 9, 2 / 3) == stocks(*items)[GPU]


def test_where_nothing_is_free_nothing_is_unusable() -> None:
    """All 8 GPUs in use: 0 of 0."""
    gpus = stocks(node("n0"), on(pod("x", "8", "16Gi", 8), "n0"))[GPU]

    assert (Stock(8, 0, 0.0), 0.0) == (gpus, gpus.free_share)


def test_the_plain_rate_is_told_too() -> None:
    """(8 - 2) / 8."""
    assert 0.75 == stocks(node("n0"), on(pod("x", "8", "16Gi", 2), "n0"))[GPU].free_share


def test_pools_of_one_type_are_one_stock() -> None:
    """The small pool's 2 GPUs can't hold train: with an empty large node (2*0 + 3 + 2*2 + 0) / (3*10) = 7/30."""
    assert Stock(10, 10, 7 / 30) == stocks(node("n0"), node("s0", "v100-small"))[GPU]


@pytest.mark.parametrize(
    "spec",
    [{"unschedulable": True}, {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}],
)
def test_what_is_free_on_a_closed_node_is_unusable(spec: Any) -> None:
    """A cordon, or a taint that the plan does not know, closes the node to the profile's jobs."""
    assert Stock(8, 8, 1.0) == stocks(node("n0", **spec))[GPU]


def test_the_taint_of_the_pool_closes_nothing() -> None:
    """Jobs tolerate what the plan gives the pool."""
    taints = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]

    assert Stock(8, 8, 0.125) == stocks(node("n0", taints=taints))[GPU]


def test_cpu_only_sizes_count_where_the_plan_lets_them() -> None:
    """Without pools apart etl can use the cores of a GPU node that has no GPU left: 24 cores hold 8 of it."""
    items = [node("n0"), on(pod("x", "8", "16Gi", 8), "n0")]

    assert Stock(32_000, 24_000, 1.0) == stocks(*items)["cpu"]
    assert Stock(32_000, 24_000, 0.75) == stocks(*items, of=plan())["cpu"]


def test_cpu_pools_are_of_type_none() -> None:
    """10 cores free: three etl pods leave one; memory is plenty, 40 of 64 GiB stay unused."""
    items = [node("c0", "cpu"), on(pod("x", "22", "64Gi"), "c0")]

    assert {
        "cpu": Stock(32_000, 10_000, 0.1),
        "memory": Stock(128 * GIB, 64 * GIB, 40 / 64),
    } == stocks(*items, kind="none")


def test_a_resource_that_no_size_asks_for_has_no_share() -> None:
    """Without jobs there is nothing to weigh by."""
    apart = PLAN._replace(jobs=())

    assert Stock(8, 8, None) == stocks(node("n0"), of=apart)[GPU]


def test_a_cap_in_filter_form_is_room_that_no_size_can_use() -> None:
    """2 of 32 cores stay free: 30 hold one train pod (2*4 GPUs left), or five eval pods (3 left): (2*4+3)/(3*8)."""
    capped = plan(APART + "  caps: {headroom: {cpu: 2}, form: filter}\n")

    assert Stock(8, 8, 11 / 24) == stocks(node("n0"), of=capped)[GPU]


def test_nodes_of_no_pool_are_left_out() -> None:
    """A node without the pool label belongs to no GPU type of the plan."""
    stray = node("n0")
    stray["metadata"]["labels"] = {}

    assert {} == stocks(stray)


def test_types_without_nodes_are_left_out() -> None:
    """After its last node is gone a type has no stock."""
    ledger = Ledger(PLAN, PACKING)
    (one,) = stream([node("n0")])
    ledger.feed(one)
    before = set(ledger.golden().fragmentation)
    ledger.feed(one._replace(version=2, type="DELETED"))

    assert ({"v100"}, set()) == (before, set(ledger.golden().fragmentation))
