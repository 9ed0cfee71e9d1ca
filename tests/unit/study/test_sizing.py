"""A size is enough, and one node fewer of any pool is not."""

from __future__ import annotations

import pytest

from binpackgen.errors import BinpackgenError
from binpackgen.study.sizing import Level, backlog, fewest, service
from binpackgen.study.source import Mix
from tests.unit.study.conftest import Make


def test_one_node_fewer_of_any_pool_fails(make: Make) -> None:
    """9 pods with a GPU, 4 a node, need 3 GPU nodes; whether the CPU pods find room beside them is the search's to say."""
    subject = make()
    demand = backlog(subject, {"train": 9, "etl": 17})

    size = fewest(subject, demand)

    assert size.bound <= size.nodes
    assert demand.is_met(subject, size.counts)
    for pool, count in size.counts.items():
        if count:
            assert not demand.is_met(subject, {**size.counts, pool: count - 1})
            assert pool in size.tight
    assert size.counts["gpu"] >= 3


def test_gpu_jobs_alone_need_no_cpu_nodes(make: Make) -> None:
    """And meet the bound."""
    subject = make()

    size = fewest(subject, backlog(subject, {"train": 9, "etl": 0}))

    assert {"gpu": 3, "cpu": 0} == dict(size.counts)
    assert size.bound == 3.0


def test_more_than_the_profile_has_is_found_too(make: Make) -> None:
    """The profile's own numbers are a beginning, no limit, and it is said that they are not enough."""
    subject = make()

    size = fewest(subject, backlog(subject, {"train": 40}))

    assert {"gpu": 10, "cpu": 0} == dict(size.counts)
    assert not size.stated_is_enough


def test_prices_are_what_is_made_small(make: Make) -> None:
    """Jobs without GPUs go where a node costs least."""
    subject = make()

    size = fewest(subject, backlog(subject, {"etl": 8}), prices={"gpu": 10.0, "cpu": 1.0})

    assert {"gpu": 0, "cpu": 1} == dict(size.counts)
    assert (1.0, 1.0) == (size.total, size.bound)


def test_a_level_of_service_is_kept_and_not_with_fewer(make: Make) -> None:
    """At every seed, for every job; the mean demand bounds it."""
    subject = make()
    demand = service(Mix(subject, 0.6, 150, subject.cluster()), Level.read("p95<=2m"), 2)

    size = fewest(subject, demand)

    assert size.bound <= size.nodes
    assert demand.is_met(subject, size.counts)
    assert {pool for pool, count in size.counts.items() if count} == size.tight


@pytest.mark.parametrize(
    ("text", "expected"),
    [("p95<=10m", ("p95", 600.0)), ("mean <= 90s", ("mean", 90.0)), ("max<=1.5h", ("max", 5400.0))],
)
def test_levels_are_read(text: str, expected: tuple[str, float]) -> None:
    """With the units that people write."""
    assert expected == Level.read(text)


@pytest.mark.parametrize("text", ["p95", "p95<10m", "p95<=ten", "median<=3s", ""])
def test_what_is_no_level_is_refused(text: str) -> None:
    """With examples of what is one."""
    with pytest.raises(BinpackgenError, match="p95<=10m"):
        Level.read(text)


def test_a_percentile_is_a_wait_that_someone_had() -> None:
    """Of 20 waits one may be longer than p95 says."""
    level = Level("p95", 10.0)

    assert level.holds([1.0] * 19 + [99.0])
    assert not level.holds([1.0] * 18 + [99.0] * 2)
