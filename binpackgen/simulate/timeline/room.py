"""What is free on each node, kept beside a simulator: which shapes a node could take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..filters import is_ignored, is_open
from ..model import ClusterState, PodShape, SchedulerProfile

Amounts = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: More than any node has: where NodeResourcesFit does not filter, everything has room.
_ENDLESS = 2**62


class Room:
    """Free amounts by node and resource; the last resource is the number of pods.

    `wanted[s]` is what a pod of shape s takes. Amounts of resources that no shape asks for are not kept.
    """

    def __init__(self, cluster: ClusterState, profile: SchedulerProfile, shapes: Sequence[PodShape]) -> None:
        self._nodes = cluster.nodes
        self._profile = profile
        self._shapes = shapes
        asked = {name for shape in shapes for name, amount in shape.requests.items() if amount > 0}
        names = sorted(name for name in asked if not is_ignored(name, profile))
        wanted = [[shape.requests.get(name, 0) for name in names] + [1] for shape in shapes]
        there = [
            [node.allocatable.get(name, 0) for name in names] + [node.allocatable.get("pods", 0)]
            for node in cluster.nodes
        ]
        taken = [
            [used.get(name, 0) for name in names] + [len(pods)]
            for used, pods in zip(cluster.requested, cluster.pods, strict=True)
        ]
        width = len(names) + 1
        self.wanted: Amounts = np.array(wanted, np.int64).reshape(len(wanted), width)
        self.allocatable: Amounts = np.array(there, np.int64).reshape(len(there), width)
        if "NodeResourcesFit" not in profile.filters:
            self.allocatable[:] = _ENDLESS
        self.free: Amounts = self.allocatable - np.array(taken, np.int64).reshape(len(there), width)
        # what a pod does not ask for is not looked at, however little is left
        self.asks: Amounts = np.where(self.wanted > 0, self.wanted, -_ENDLESS)
        self._allowed: dict[int, Mask] = {}

    def take(self, shape: int, node: int) -> None:
        """A pod comes."""
        self.free[node] -= self.wanted[shape]

    def give(self, shape: int, node: int) -> None:
        """A pod goes."""
        self.free[node] += self.wanted[shape]

    def shapes_for(self, nodes: Iterable[int]) -> Mask:
        """The shapes whose requests fit what is free on one of `nodes`; labels and taints are not looked at."""
        found = np.zeros(len(self.wanted), bool)
        for node in nodes:
            found |= (self.asks <= self.free[node]).all(axis=1)
        return found

    def fits(self, shape: int, node: int) -> bool:
        """Whether the requests of a shape fit what is free."""
        return bool((self.asks[shape] <= self.free[node]).all())

    def allowed(self, shape: int) -> Mask:
        """The nodes that labels, taints and cordons leave open to a shape, and that are large enough when empty."""
        mask = self._allowed.get(shape)
        if mask is None:
            pod = self._shapes[shape]
            keys = sorted(_keys(pod, self._profile))
            known: dict[object, bool] = {}
            answers = []
            for node in self._nodes:
                look = (tuple(node.labels.get(key) for key in keys), node.taints, node.unschedulable)
                answer = known.get(look)
                if answer is None:
                    answer = known[look] = is_open(pod, node, self._profile)
                answers.append(answer)
            large = (self.asks[shape] <= self.allocatable).all(axis=1)
            mask = self._allowed[shape] = np.array(answers, bool) & large
        return mask


def _keys(pod: PodShape, profile: SchedulerProfile) -> set[str]:
    selectors = (pod.node_selector, *(pod.required_nodes or ()), *(profile.added_nodes or ()))
    return {requirement.key for selector in selectors for requirement in selector}


def binding_helps(shapes: Iterable[PodShape]) -> bool:
    """Whether a pod that comes can let another one fit: one that wants to be near others, or evens out a spread."""
    return any(shape.required_pods or any(constraint.hard for constraint in shape.spread) for shape in shapes)
