"""The hit rate of 10,118 placements that a real kube-scheduler 1.37.2 made on the openb trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from binpackgen.metrics.changes import Change
from binpackgen.metrics.golden import HitRate, Ledger
from tests.conformance.test_recorded_decisions import GPU, PROFILES, nodes, recording
from tests.unit.metrics.clusters import plan


def changes(name: str) -> Iterator[Change]:
    """The recording as the API server would tell it."""
    version = 0
    for node in nodes():
        version += 1
        allocatable = {
            r: f"{amount}m" if r == "cpu" else str(amount) for r, amount in node.allocatable.items()
        }
        item: dict[str, Any] = {"metadata": {"name": node.name}, "status": {"allocatable": allocatable}}
        yield Change(version, version / 1000, "ADDED", "Node", item)
    for number, ((cpu, memory, gpus), chosen) in enumerate(recording(name)):
        requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"} | ({GPU: str(gpus)} if gpus else {})
        spec = {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}
        metadata = {"name": f"p{number}", "namespace": "openb", "uid": str(number), "generation": 1}
        version += 2
        yield Change(version - 1, version / 1000, "ADDED", "Pod", {"metadata": metadata, "spec": spec})
        if chosen:
            bound = {"metadata": metadata, "spec": {**spec, "nodeName": chosen}}
            yield Change(version, version / 1000, "MODIFIED", "Pod", bound)


def hit_rate(name: str) -> HitRate:
    ledger = Ledger(plan(), PROFILES["most115"])
    for change in changes(name):
        ledger.feed(change)
    return ledger.golden().hit_rate


def test_every_placement_of_the_packing_scheduler_hits() -> None:
    """Only packing could tell its nodes apart, so that each of its 5,074 placements is one of the best."""
    rate = hit_rate("most115")

    assert 5074 == rate.choices + rate.without_choice
    assert rate.choices == rate.hits
    assert rate.choices > 5000


def test_the_default_scheduler_hits_by_accident() -> None:
    """The same pods under the default profile: a packing node in less than one of ten placements."""
    rate = hit_rate("default_all_nodes")

    assert 5044 == rate.choices + rate.without_choice
    assert rate.rate is not None
    assert rate.rate < 0.1
