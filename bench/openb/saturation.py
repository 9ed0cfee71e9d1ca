"""Pods arrive until their demand is 130 % of the GPUs, none leaves: what is allocated, and what is kept whole."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .trace import FULL, WHOLE, Machine, Request

#: The load in percent of the GPUs at which room is looked at.
PARTIAL = 70
#: The trace's most frequent pod with 8 devices: room for it is what `headroom` counts (millicores, MiB, devices).
LARGE = Request(88_000, 327_680, 8, WHOLE)


class Outcome(NamedTuple):
    """One run, or the mean of several. Shares are in percent; `large` are pods with 8 devices.

    `allocated`, `large` and `cores` are at the end, `at_full` when the demand has reached 100 %. `headroom`,
    `unschedulable` and `nodes` are at 70 %: nodes that have room for a large pod, pods that found no node, nodes in
    use.
    """

    at_full: float
    allocated: float
    large: float
    cores: float
    headroom: float
    unschedulable: float
    nodes: float


def outcome(
    machines: Sequence[Machine],
    kinds: Sequence[Request],
    arrivals: Sequence[int],
    nodes: NDArray[np.int64],
) -> Outcome:
    """What follows from where each of the arrivals (indexes of `kinds`) went; -1 is nowhere."""
    size = np.array([(one.cpu, one.memory, one.gpus * WHOLE) for one in machines], np.int64)
    wants = np.array([(kind.cpu, kind.memory, kind.demand) for kind in kinds], np.int64)[list(arrivals)]
    wants_large = np.array([kinds[kind].gpus == LARGE.gpus for kind in arrivals])
    is_placed = nodes >= 0
    total = size.sum(axis=0)
    demand = np.cumsum(wants[:, 2])

    def until(load: int) -> int:
        return int(np.searchsorted(demand, load * total[2] / 100)) + 1

    def used(count: int) -> NDArray[np.int64]:
        placed = np.flatnonzero(is_placed[:count])
        taken = np.zeros_like(size)
        np.add.at(taken, nodes[placed], wants[placed])
        return taken

    partial = until(PARTIAL)
    free = size - used(partial)
    room = (free >= (LARGE.cpu, LARGE.memory, LARGE.demand)).all(axis=1)
    at_full, at_end = (used(count).sum(axis=0) / total for count in (until(FULL), len(arrivals)))
    return Outcome(
        at_full=100 * float(at_full[2]),
        allocated=100 * float(at_end[2]),
        large=100 * float(is_placed[wants_large].mean()) if wants_large.any() else float("nan"),
        cores=100 * float(at_end[0]),
        headroom=int(room.sum()),
        unschedulable=int((~is_placed[:partial]).sum()),
        nodes=len(np.unique(nodes[:partial][is_placed[:partial]])),
    )


def mean(outcomes: Sequence[Outcome]) -> Outcome:
    """Column by column."""
    return Outcome(*(fmean(column) for column in zip(*outcomes, strict=True)))
