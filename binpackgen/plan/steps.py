"""What one step of packing is worth: the least difference that it makes to a node's score.

A step is one more device in use or, without devices, one more smallest job. All of it is the scheduler's own
integer arithmetic, over every state that two nodes can be in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ..scheduler.arithmetic import (
    MAX_NODE_SCORE,
    Shape,
    most_allocated_share,
    ratio_share,
    shape_score,
    weighted_floor,
    weighted_half_up,
)
from .model import Amount


class FitScore(NamedTuple):
    """NodeResourcesFit with its strategy: the score of a node from the use of its resources."""

    strategy: str
    shape: Shape
    cpu_weight: int
    memory_weight: int

    @property
    def packs_by_ratio(self) -> bool:
        """Whether the strategy is RequestedToCapacityRatio."""
        return self.strategy == "RequestedToCapacityRatio"

    def share(self, requested: int, allocatable: int) -> int:
        """Score 0..100 of one resource."""
        if self.packs_by_ratio:
            return ratio_share(self.shape, requested, allocatable)
        return most_allocated_share(requested, allocatable)

    def average(self, scores: Sequence[tuple[int, int]]) -> int:
        """Score 0..100 of a node from (share, weight) pairs."""
        return weighted_half_up(scores) if self.packs_by_ratio else weighted_floor(scores)

    def extremes(self, requested: int, allocatable: int) -> tuple[int, ...]:
        """The shares between which a resource can move on a node that holds at least `requested`.

        Enough to find the least and greatest average: it rises with each share, except that a share of 0
        drops its resource from a ratio's average.
        """
        if not self.packs_by_ratio:
            return (most_allocated_share(requested, allocatable), MAX_NODE_SCORE)
        lowest = requested * 100 // allocatable
        shares = [shape_score(self.shape, u) for u in range(min(lowest, 100), 101)]
        positive = [share for share in shares if share > 0]
        found = {0} if 0 in shares else set()
        return tuple(sorted(found | ({min(positive), max(positive)} if positive else set())))


def device_step(fit: FitScore, gpu_weight: int, pool: Amount, request: Amount, device: str) -> int | None:
    """The least score difference of one more device in use, with equal use of cpu and memory.

    None where the pod takes every device, so that no node with the pod on it can be fuller than another.
    """
    total, asked = pool.devices[device], request.devices[device]
    weights = fit.cpu_weight + fit.memory_weight + gpu_weight
    shares = [fit.share(used, total) for used in range(asked, total + 1)]
    rises = list(pairwise(shares))
    if not rises:
        return None
    # floor(x + d) - floor(x) >= floor(d), and some use of cpu and memory reaches it
    steps = [(fuller - emptier) * gpu_weight // weights for emptier, fuller in rises]
    if fit.packs_by_ratio:  # it drops resources with share 0, which changes the average of the others
        others = [
            ((c, fit.cpu_weight), (m, fit.memory_weight))
            for c in fit.extremes(request.cpu, pool.cpu)
            for m in fit.extremes(request.memory, pool.memory)
        ]
        steps += [
            fit.average((*other, (fuller, gpu_weight))) - fit.average((*other, (emptier, gpu_weight)))
            for emptier, fuller in rises
            for other in others
        ]
    return min(steps)


def device_step_any_state(
    fit: FitScore, gpu_weight: int, pool: Amount, request: Amount, device: str
) -> int | None:
    """The least score difference of one more device in use against any state of cpu and memory.

    The fuller node holds nothing but the pod in cpu and memory; the emptier one has both full.
    """
    total, asked = pool.devices[device], request.devices[device]
    if asked >= total:
        return None
    cpu = fit.extremes(request.cpu, pool.cpu)
    memory = fit.extremes(request.memory, pool.memory)

    def averages(used: int) -> Iterator[int]:
        share = fit.share(used + asked, total)
        for c in cpu:
            for m in memory:
                yield fit.average(((c, fit.cpu_weight), (m, fit.memory_weight), (share, gpu_weight)))

    return min(min(averages(used + 1)) - max(averages(used)) for used in range(total - asked))


def job_step(fit: FitScore, pool: Amount, request: Amount) -> int:
    """The least score difference of one more pod of `request` (cpu and memory only) on a node.

    Both nodes hold the pod that is being placed, which asks for at least as much.
    """
    cpu, memory = (
        requested * 100 // allocatable if allocatable else 0
        for requested, allocatable in ((request.cpu, pool.cpu), (request.memory, pool.memory))
    )
    if not fit.packs_by_ratio:
        return (cpu * fit.cpu_weight + memory * fit.memory_weight) // (fit.cpu_weight + fit.memory_weight)
    return _ratio_step(fit, cpu, memory)


@lru_cache(maxsize=4096)
def _ratio_step(fit: FitScore, cpu: int, memory: int) -> int:
    """`job_step` on a shape, by trying every state; `cpu` and `memory` are what a pod takes in percent."""
    shares = [shape_score(fit.shape, utilization) for utilization in range(101)]

    def average(c: int, m: int) -> int:
        return fit.average(((shares[min(c, 100)], fit.cpu_weight), (shares[min(m, 100)], fit.memory_weight)))

    return min(
        (
            average(c + cpu + odd, m + memory + even) - average(c, m)
            for c in range(cpu, 101 - cpu)
            for m in range(memory, 101 - memory)
            for odd in (0, 1)  # where the percentages of the parts round up together
            for even in (0, 1)
        ),
        default=0,
    )
