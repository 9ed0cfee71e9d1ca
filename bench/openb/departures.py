"""Pods come and go: who is turned away, or how long they wait.

Arrivals are a Poisson process of pods drawn from a list. The offered load is the GPU time that they ask for, in percent
of the cluster's, and is told as it came out. With exponential durations the cluster is empty at first, so that the first
half of the arrivals, about four mean durations, counts for nothing. The list's own durations are so uneven that it would
take years to fill: there the pods that would be there come first, each with what is left of its time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from binpackgen.simulate.model import Node
from binpackgen.simulate.timeline.run import run
from binpackgen.simulate.workload.model import Submission, Workload

from .cluster import GPU
from .strategies import Strategy
from .trace import Request, Run

#: Sizes of pods by which outcomes are told, in devices.
SIZES = (0, 1, 2, 4, 8)


class Mix(NamedTuple):
    """Pods in order of arrival; `first` is the first that counts."""

    requests: tuple[Request, ...]
    arrives: tuple[float, ...]
    lasts: tuple[float, ...]
    first: int


class Departures(NamedTuple):
    """GPUs in use and offered in percent, by size what was turned away in percent, and seconds waited (mean, p95)."""

    offered: float
    in_use: float
    rejected: dict[int, float]
    waited: dict[int, tuple[float, float]]


def drawn(pods: Sequence[Request], gpus: int, load: float, count: int, seed: int) -> Mix:
    """Durations are exponential with mean 1."""
    rng = random.Random(seed)  # noqa: S311  the same arrivals every time are what is wanted
    rate = load / 100 * gpus / fmean(pod.gpus for pod in pods)
    return _mix([(rng.choice(pods), rng.expovariate(1)) for _ in range(count)], rate, rng)


def drawn_with_durations(pods: Sequence[Run], gpus: int, load: float, count: int, seed: int) -> Mix:
    """Each pod stays as long as it did in the trace; `count` is without those that are there from the start.

    As many are there as would be in the long run if nobody were turned away, the long ones as often as they are long,
    each at a random point of its time.
    """
    rng = random.Random(seed)  # noqa: S311  the same arrivals every time are what is wanted
    rate = load / 100 * gpus / fmean(pod.request.gpus * pod.lasts for pod in pods)
    there = round(rate * fmean(pod.lasts for pod in pods))
    before = rng.choices(pods, [pod.lasts for pod in pods], k=there)
    picks = [rng.choice(pods) for _ in range(count)]
    mix = _mix([(pick.request, pick.lasts) for pick in picks], rate, rng)
    return Mix(
        (*(pod.request for pod in before), *mix.requests),
        (*(0.0 for _ in before), *mix.arrives),
        (*(rng.random() * pod.lasts for pod in before), *mix.lasts),
        there,
    )


def _mix(pods: Sequence[tuple[Request, float]], rate: float, rng: random.Random) -> Mix:
    arrives = []
    now = 0.0
    for _ in pods:
        now += rng.expovariate(rate)
        arrives.append(now)
    return Mix(
        tuple(request for request, _ in pods),
        tuple(arrives),
        tuple(lasts for _, lasts in pods),
        len(pods) // 2,
    )


def play(
    nodes: Sequence[Node],
    strategy: Strategy,
    mix: Mix,
    *,
    waits: bool = False,
    larger_first: bool = False,
) -> Departures:
    """One run until the last arrival; pods that find no node leave, or wait (the oldest first, or the largest)."""
    kinds = sorted(set(mix.requests))
    index = {kind: position for position, kind in enumerate(kinds)}
    workload = Workload(
        "openb",
        tuple(strategy.pod(kind) for kind in kinds),
        tuple(
            Submission(
                f"pod-{number}",
                str(request.gpus),
                (index[request],),
                arrives,
                lasts,
                priority=request.gpus if larger_first else 0,
            )
            for number, (request, arrives, lasts) in enumerate(
                zip(mix.requests, mix.arrives, mix.lasts, strict=True)
            )
        ),
    )
    end = mix.arrives[-1]
    timeline = run(
        workload,
        nodes,
        strategy.scheduler,
        preemption=False,
        retry="wait" if waits else "loss",
        until=end,
    )
    total = sum(node.allocatable.get(GPU, 0) for node in nodes)
    sizes = np.array([request.gpus for request in mix.requests])
    counts = np.arange(len(sizes)) >= mix.first
    begin = mix.arrives[mix.first]
    is_bound = ~np.isnan(timeline.bound)
    # who still waits at the end has waited until then
    waited = np.where(is_bound, timeline.bound, end) - np.array(mix.arrives)
    rejected, waiting = {}, {}
    for size in SIZES:
        members = counts & (sizes == size)
        if members.any():
            rejected[size] = 100 * float((~is_bound[members]).mean())
            waiting[size] = (float(waited[members].mean()), float(np.quantile(waited[members], 0.95)))
    used = timeline.usage(GPU).mean(begin, end)
    return Departures(100 * _offered(mix, begin, end) / total, 100 * used / total, rejected, waiting)


def _offered(mix: Mix, begin: float, end: float) -> float:
    """Mean number of devices in use between two times if nobody were turned away."""
    seconds = 0.0
    for request, arrives, lasts in zip(mix.requests, mix.arrives, mix.lasts, strict=True):
        seconds += request.gpus * max(0.0, min(arrives + lasts, end) - max(arrives, begin))
    return seconds / (end - begin)


def mean_of(outcomes: Sequence[Departures]) -> Departures:
    """Of several runs, seed by seed."""
    sizes = [size for size in SIZES if all(size in one.rejected for one in outcomes)]
    return Departures(
        fmean(one.offered for one in outcomes),
        fmean(one.in_use for one in outcomes),
        {size: fmean(one.rejected[size] for one in outcomes) for size in sizes},
        {
            size: (
                fmean(one.waited[size][0] for one in outcomes),
                fmean(one.waited[size][1] for one in outcomes),
            )
            for size in sizes
        },
    )
