"""The mix of jobs that scenarios submit, and the lower bound that they compare with."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binpackgen.compilation import compile_profile
from binpackgen_e2e.work import lower_bound, mix
from binpackgen_e2e.workloads import manifests

PROFILES = Path(__file__).resolve().parents[3] / "profiles"


@pytest.mark.parametrize("profile", ["article", "minimal", "openb", "berlin-kubeadm"])
@pytest.mark.parametrize("share", [0.3, 0.85])
def test_a_mix_stays_within_its_share_of_every_queue_and_of_the_cluster(profile: str, share: float) -> None:
    """By sums over all quotas of a queue and all flavors."""
    compiled = compile_profile(str(PROFILES / f"{profile}.yaml"))
    plan = compiled.plan
    chosen = mix(plan, manifests(compiled), share, 10_000)
    asked: dict[str | None, float] = {}
    for manifest in chosen.items:
        for group in manifest.job.pod_groups:
            asked[manifest.job.queue] = asked.get(manifest.job.queue, 0) + group.request.cpu * group.count
    assert chosen.items
    assert sum(asked.values()) <= share * sum(flavor.room.cpu for flavor in plan.flavors)
    for queue in plan.queues:
        assert asked.get(queue.name, 0) <= share * sum(quota.nominal.cpu for quota in queue.quotas)


def test_a_mix_ends_at_its_most_pods() -> None:
    compiled = compile_profile(str(PROFILES / "article.yaml"))
    chosen = mix(compiled.plan, manifests(compiled), 0.85, 40)
    assert sum(manifest.pods for manifest in chosen.items) <= 40
    assert chosen.limit == "40 pods"


def best_count(items: list[tuple[int, int]], node: tuple[int, int]) -> int:
    """The fewest nodes, by trying every assignment of items to nodes."""
    for count in range(len(items) + 1):
        for assignment in itertools.product(range(count), repeat=len(items)):
            loads = [[0, 0] for _ in range(count)]
            for item, place in zip(items, assignment, strict=True):
                loads[place][0] += item[0]
                loads[place][1] += item[1]
            if all(load[0] <= node[0] and load[1] <= node[1] for load in loads):
                return count
    raise AssertionError("an item is larger than a node")


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 6)), max_size=5))
def test_no_packing_needs_fewer_nodes_than_the_bound(items: list[tuple[int, int]]) -> None:
    requests = [{"gpu": gpu, "cpu": cpu} for gpu, cpu in items]
    bound = lower_bound(requests, {"gpu": 8, "cpu": 6})
    assert bound <= max(best_count(items, (8, 6)), 0 if not any(map(sum, items)) else 1)


def test_pods_of_more_than_half_a_node_need_one_each() -> None:
    """Three pods of 5 GPUs: 15 of 8 by volume are two nodes, but no two share one."""
    assert lower_bound([{"gpu": 5}] * 3, {"gpu": 8}) == 3
    assert lower_bound([{"gpu": 4}] * 3, {"gpu": 8}) == 2
