"""The node scores of NodeResourcesFit, bit for bit.

Go's int64 division truncates and all operands here are >= 0 (except slopes of a shape), so `//` is equal.
Source: kubernetes v1.37.2, pkg/scheduler/framework/plugins/noderesources/{most_allocated,
requested_to_capacity_ratio,resource_allocation}.go and plugins/helper/shape_score.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

#: Highest score of one plugin on one node (framework.MaxNodeScore).
MAX_NODE_SCORE = 100

#: Points of a RequestedToCapacityRatio shape: (utilization 0..100, score 0..10), rising in utilization.
Shape = tuple[tuple[int, int], ...]


def most_allocated_share(requested: int, allocatable: int) -> int:
    """Score 0..100 of one resource under MostAllocated: its use in percent, cut at 100."""
    return min(requested, allocatable) * MAX_NODE_SCORE // allocatable


def ratio_share(shape: Shape, requested: int, allocatable: int) -> int:
    """Score 0..100 of one resource under RequestedToCapacityRatio."""
    utilization = 100 if requested > allocatable else requested * 100 // allocatable
    return shape_score(shape, utilization)


def shape_score(shape: Shape, utilization: int) -> int:
    """Score 0..100 of `utilization` (0..100) on a shape whose scores are 0..10."""
    for index, (x, y) in enumerate(shape):
        if utilization <= x:
            if index == 0:
                return y * 10
            x0, y0 = shape[index - 1]
            rise = (y - y0) * 10 * (utilization - x0)
            # Go truncates toward zero, also on a falling slope
            return y0 * 10 + (rise // (x - x0) if rise >= 0 else -(-rise // (x - x0)))
    return shape[-1][1] * 10


def weighted_floor(scores: Iterable[tuple[int, int]]) -> int:
    """MostAllocated's average of (score, weight) pairs, rounded down; 0 of nothing."""
    total = weights = 0
    for score, weight in scores:
        total += score * weight
        weights += weight
    return total // weights if weights else 0


def weighted_half_up(scores: Iterable[tuple[int, int]]) -> int:
    """RequestedToCapacityRatio's average: resources with score 0 drop out, halves round up."""
    total = weights = 0
    for score, weight in scores:
        if score > 0:
            total += score * weight
            weights += weight
    return (2 * total + weights) // (2 * weights) if weights else 0


def least_allocated_share(requested: int, allocatable: int) -> int:
    """Score 0..100 of one resource under LeastAllocated: what is left in percent, 0 if too much is asked.

    Source: kubernetes v1.37.2, pkg/scheduler/framework/plugins/noderesources/least_allocated.go.
    """
    return 0 if requested > allocatable else (allocatable - requested) * MAX_NODE_SCORE // allocatable


def balance(fractions: Sequence[float]) -> int:
    """NodeResourcesBalancedAllocation of one state of a node, 50..100, from the used fractions of its resources.

    The doubles are added in the plugin's order, so that they are the same bits as Go's on amd64. Source:
    kubernetes v1.37.2, pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go.
    """
    used = [min(fraction, 1.0) for fraction in fractions]
    deviation = 0.0
    if len(used) == 2:
        deviation = abs((used[0] - used[1]) / 2)
    elif len(used) > 2:
        total = 0.0
        for fraction in used:
            total += fraction
        mean = total / len(used)
        squares = 0.0
        for fraction in used:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / len(used))
    return int((1 - deviation) * MAX_NODE_SCORE)


def balance_gain(with_pod: int, without_pod: int) -> int:
    """NodeResourcesBalancedAllocation of 1.36 and later: 75 where a pod changes nothing, 50..100."""
    return MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + with_pod - without_pod) // 2
