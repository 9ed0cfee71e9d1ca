"""Fragmentation of a state: how much of what is free the workload's own pods can't use.

The definition is that of `metrics.sizes`, with the shapes of a workload in place of the profile's jobs: for the nodes
of one GPU type and one resource,

    unusable = sum over nodes and shapes of  weight * (free - copies * request) / (sum of weights * free of all nodes)

where `copies` is how many pods of the shape the node takes as it is, `weight` how often the shape is asked for, and
only shapes count that ask for the resource and may run on a node of the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..simulate.model import ClusterState, PodShape
from ..simulate.workload.fitting import look, may_run
from .use import PODS, Amounts, capacity, wants


class Fragmentation(NamedTuple):
    """Shares of what the nodes of a type offer and have free; `unusable` is None where no pod asks for it there."""

    free_share: float
    unusable: float | None


class Fragments:
    """Computes fragmentation of states of one cluster under one workload. `kinds` are the kinds of nodes by index."""

    def __init__(
        self,
        cluster: ClusterState,
        shapes: Sequence[PodShape],
        weights: Sequence[int],
        resources: Sequence[str],
        kinds: Sequence[str],
    ) -> None:
        self._resources = tuple(resources)
        self._whole = capacity(cluster, [*resources, PODS])
        self._wants = wants(shapes, [*resources, PODS])
        self._weights = np.array(weights, np.int64)
        looks = [look(node) for node in cluster.nodes]
        kinds_of_nodes = dict(zip(looks, cluster.nodes, strict=True))
        allowed = {one: [may_run(shape, node) for shape in shapes] for one, node in kinds_of_nodes.items()}
        self._allowed: NDArray[np.bool_] = np.array([allowed[one] for one in looks], bool).reshape(
            len(cluster.nodes), len(shapes)
        )
        self.kinds = tuple(dict.fromkeys(kinds))
        self._members = {kind: np.array([one == kind for one in kinds], bool) for kind in self.kinds}

    def of(self, used: Amounts) -> dict[str, dict[str, Fragmentation]]:
        """By kind of node and resource; `used` is nodes x resources, pods last."""
        free = np.maximum(self._whole - used, 0)
        sums: dict[str, list[list[float]]] = {
            kind: [[0.0, 0.0] for _ in self._resources] for kind in self.kinds
        }
        for shape, want in enumerate(self._wants):
            weight = int(self._weights[shape])
            if not weight:
                continue
            asked = want > 0
            copies = np.where(self._allowed[:, shape], (free[:, asked] // want[asked]).min(axis=1), 0)
            for kind, members in self._members.items():
                if not (members & self._allowed[:, shape]).any():
                    continue
                for place, amount in enumerate(want[:-1]):
                    if amount:
                        left = (free[members, place] - copies[members] * amount).sum()
                        sums[kind][place][0] += weight * float(left)
                        sums[kind][place][1] += weight * float(free[members, place].sum())
        return {
            kind: {
                resource: Fragmentation(
                    _share(free, self._whole, self._members[kind], place),
                    _unusable(*sums[kind][place], weighed=self._is_asked(kind, place)),
                )
                for place, resource in enumerate(self._resources)
                if self._whole[self._members[kind], place].any()
            }
            for kind in self.kinds
        }

    def _is_asked(self, kind: str, place: int) -> bool:
        asking = (self._wants[:, place] > 0) & (self._weights > 0)
        return bool(self._allowed[self._members[kind]][:, asking].any())


def _share(free: Amounts, whole: Amounts, members: NDArray[np.bool_], place: int) -> float:
    total = int(whole[members, place].sum())
    return float(free[members, place].sum()) / total if total else 0.0


def _unusable(left: float, total: float, *, weighed: bool) -> float | None:
    if not weighed:
        return None
    return left / total if total else 0.0
