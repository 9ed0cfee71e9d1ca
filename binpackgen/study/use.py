"""What nodes hold at a time, as arrays: from a timeline's log, without building a cluster for each moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..simulate.model import ClusterState, PodShape
from ..simulate.timeline.result import Log, Timeline

Amounts = NDArray[np.int64]

#: Resource by whose name pods are counted.
PODS = "pods"


def capacity(cluster: ClusterState, resources: Sequence[str]) -> Amounts:
    """What the nodes offer beside what is bound to them from the start: nodes x resources."""
    rows = [
        [max(0, node.allocatable.get(name, 0) - _held(cluster, index, name)) for name in resources]
        for index, node in enumerate(cluster.nodes)
    ]
    return np.array(rows, np.int64).reshape(len(cluster.nodes), len(resources))


def wants(shapes: Sequence[PodShape], resources: Sequence[str]) -> Amounts:
    """What pods request: shapes x resources."""
    rows = [[1 if name == PODS else shape.requests.get(name, 0) for name in resources] for shape in shapes]
    return np.array(rows, np.int64).reshape(len(shapes), len(resources))


def used_at(timeline: Timeline, times: Sequence[float], resources: Sequence[str]) -> Iterator[Amounts]:
    """What the workload's pods hold on each node at each of rising times, after all that happens then."""
    log: Log = timeline.log
    each = wants(timeline.shapes, resources)
    used = np.zeros((len(timeline.cluster.nodes), len(resources)), np.int64)
    start = 0
    for time in times:
        end = int(np.searchsorted(log.times, time, side="right"))
        part = slice(start, end)
        np.add.at(used, log.nodes[part], each[log.shapes[part]] * log.signs[part, None].astype(np.int64))
        start = end
        yield used.copy()


def running_at(timeline: Timeline, time: float) -> Amounts:
    """How many pods of each shape run at a time."""
    until = int(np.searchsorted(timeline.log.times, time, side="right"))
    counts = np.zeros(len(timeline.shapes), np.int64)
    np.add.at(counts, timeline.log.shapes[:until], timeline.log.signs[:until])
    return counts


def _held(cluster: ClusterState, node: int, resource: str) -> int:
    return len(cluster.pods[node]) if resource == PODS else cluster.requested[node].get(resource, 0)
