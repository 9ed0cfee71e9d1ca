"""Hit rates among the nodes that a pod prefers: which pool is the author's word, which node in it is packing's."""

from __future__ import annotations

from binpackgen.metrics.golden import HitRate, Ledger
from tests.unit.metrics.clusters import PACKING, TYPE, Item, node, on, plan, pod, stream

PLAN = plan()

FIRST = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": weight,
                "preference": {"matchExpressions": [{"key": TYPE, "operator": "In", "values": [kind]}]},
            }
            for weight, kind in ((100, "none"), (50, "v100"))
        ]
    }
}


def preferred(*items: Item) -> HitRate:
    ledger = Ledger(PLAN, PACKING)
    for one in stream(items):
        ledger.feed(one)
    return ledger.golden().preferred_hit_rate


def cpu_node(name: str) -> Item:
    item = node(name)
    item["metadata"]["labels"][TYPE] = "none"
    item["status"]["allocatable"] = {
        key: value for key, value in item["status"]["allocatable"].items() if "/" not in key
    }
    return item


def job(name: str, where: str, cpu: str = "8") -> list[Item]:
    item = pod(name, cpu, "16Gi", 0, affinity=FIRST)
    return [item, on(item, where)]


#: A GPU node that is fuller than both CPU nodes, of which c0 holds one pod.
START = [cpu_node("c0"), cpu_node("c1"), node("g0")]
FILLED = [*job("a", "g0", "24"), *job("b", "c0")]


def last(*items: Item) -> HitRate:
    """What the items after FILLED add."""
    before, after = preferred(*START, *FILLED), preferred(*START, *FILLED, *items)
    return HitRate(*(new - old for new, old in zip(after, before, strict=True)))


def test_the_fuller_node_of_the_preferred_pool_hits() -> None:
    """Though the GPU node, of another pool, has a higher score."""
    assert last(*job("c", "c0")) == HitRate(choices=1, hits=1)


def test_the_emptier_node_of_the_preferred_pool_misses() -> None:
    assert last(*job("c", "c1")) == HitRate(choices=1, hits=0)


def test_a_pool_that_is_preferred_less_misses_while_the_other_has_room() -> None:
    """Even on the node of the highest score of all."""
    assert last(*job("c", "g0")) == HitRate(choices=1, hits=0)


def test_where_the_preferred_pool_is_full_the_next_one_counts() -> None:
    """32 cores: c0 has 24 left and c1 32, so a pod of 30 fits on c1 alone, and the next one on no CPU node."""
    full = [*job("big", "c1", "30"), *job("rest", "c0", "24")]
    before, after = last(*full), last(*full, *job("c", "g0", "4"))
    assert HitRate(*(new - old for new, old in zip(after, before, strict=True))) == HitRate(without_choice=1)


def test_without_preferences_both_rates_agree() -> None:
    ledger = Ledger(PLAN, PACKING)
    items = [node("n0"), node("n1")]
    for name, where in (("a", "n0"), ("b", "n1"), ("c", "n0")):
        one = pod(name, "6", "16Gi", 1)
        items += [one, on(one, where)]
    for one_change in stream(items):
        ledger.feed(one_change)
    golden = ledger.golden()
    assert golden.hit_rates == golden.preferred_hit_rates
    assert golden.hit_rate == HitRate(choices=1, hits=0, without_choice=2)
