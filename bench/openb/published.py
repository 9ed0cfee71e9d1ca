"""The paper's policies, written again: they need score plugins of their own, and a filter that knows each device.

    nodes = run(machines, kinds, arrivals, BestFit())

Formulas: github.com/hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin (best_fit_score.go,
gpu_packing_score.go, fgd_score.go) and pkg/utils/frag.go. Of nodes with equal scores the first is
taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .trace import WHOLE, Machine, Request

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Largest node of the paper's scores: millicores and thousandths of devices.
MAX_CPU, MAX_GPU = 128_000, 8_000
DEVICES = 8


class Nodes:
    """What is free: millicores, MiB and thousandths of each device; -1 stands for a device that is not there."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self.machines = machines
        self.cpu = np.array([machine.cpu for machine in machines], np.int64)
        self.memory = np.array([machine.memory for machine in machines], np.int64)
        self.gpus = np.array([machine.gpus for machine in machines], np.int64)
        self.left = np.where(np.arange(DEVICES) < self.gpus[:, None], WHOLE, -1)

    def holds(self, kind: Request, of: Ints) -> NDArray[np.bool_]:
        """Which of the nodes `of` have room; models are looked at elsewhere."""
        fits = (self.cpu[of] >= kind.cpu) & (self.memory[of] >= kind.memory)
        if kind.gpus:
            fits &= (self.left[of] >= kind.milli).sum(axis=1) >= kind.gpus
        return fits

    def take(self, kind: Request, node: int, device: int | None) -> None:
        """Place a pod; whole devices are taken in order, of shared ones `device` or the fullest that will do."""
        self.cpu[node] -= kind.cpu
        self.memory[node] -= kind.memory
        left = self.left[node]
        if kind.gpus and kind.milli == WHOLE:
            left[np.flatnonzero(left == WHOLE)[: kind.gpus]] = 0
        elif kind.gpus:
            fullest = int(np.where(left >= kind.milli, left, WHOLE + 1).argmin())
            left[fullest if device is None else device] -= kind.milli


class Policy(Protocol):
    """Scores nodes for a pod of a kind; the highest score wins."""

    def scores(self, nodes: Nodes, kind: Request, of: Ints) -> Floats:
        """Scores of the nodes `of`, all of which have room."""
        ...

    def device(self, nodes: Nodes, kind: Request, node: int) -> int | None:
        """The device that a pod with a share of one gets; None for the fullest that will do."""
        ...


class _BestDevice:
    def device(self, nodes: Nodes, kind: Request, node: int) -> int | None:
        """See Policy."""
        return None


class BestFit(_BestDevice):
    """Least left of cpu and devices, both in shares of the largest node."""

    def scores(self, nodes: Nodes, kind: Request, of: Ints) -> Floats:
        """See Policy."""
        cpu = (nodes.cpu[of] - kind.cpu) / MAX_CPU
        gpu = (np.maximum(nodes.left[of], 0).sum(axis=1) - kind.demand) / MAX_GPU
        scores: Floats = np.trunc((1 - (cpu * 0.5 + gpu * 0.5)) * 100)
        return scores


class GpuPacking(_BestDevice):
    """Shared devices before free ones of used nodes, these before those of idle nodes."""

    def scores(self, nodes: Nodes, kind: Request, of: Ints) -> Floats:
        """See Policy."""
        if not kind.gpus:
            return np.zeros(len(of))
        left = nodes.left[of]
        idle = (left == WHOLE).sum(axis=1)
        fullest = np.where(left >= kind.milli, left, WHOLE).min(axis=1)
        takes_free = (fullest == WHOLE) if kind.milli < WHOLE else np.ones(len(of), bool)
        used = np.where(takes_free, np.maximum(50 - kind.gpus, 33), 100 - fullest // 100)
        scores: Floats = np.where(idle == nodes.gpus[of], np.maximum(33 - idle, idle), used).astype(float)
        return scores


class Fgd:
    """Fragmentation gradient descent: least growth of fragmentation, expected over the pods of `workload`."""

    def __init__(self, workload: Sequence[Request]) -> None:
        kinds = sorted(set(workload))
        counts = dict.fromkeys(kinds, 0)
        for request in workload:
            counts[request] += 1
        self._share = np.array([counts[kind] for kind in kinds]) / len(workload)
        self._cpu = np.array([kind.cpu for kind in kinds])
        self._gpus = np.array([kind.gpus for kind in kinds])
        self._milli = np.array([kind.milli for kind in kinds])
        self._models = [frozenset(model.lower() for model in kind.models) for kind in kinds]
        self._open: dict[str, NDArray[np.bool_]] = {}

    def scores(self, nodes: Nodes, kind: Request, of: Ints) -> Floats:
        """See Policy."""
        before = self._fragments(nodes, of, nodes.cpu[of], nodes.left[of])
        return np.array([self._best(nodes, kind, int(n), b)[0] for n, b in zip(of, before, strict=True)])

    def device(self, nodes: Nodes, kind: Request, node: int) -> int | None:
        """See Policy."""
        one = np.array([node])
        before = self._fragments(nodes, one, nodes.cpu[one], nodes.left[one])
        return self._best(nodes, kind, node, float(before[0]))[1]

    def _best(self, nodes: Nodes, kind: Request, node: int, before: float) -> tuple[float, int | None]:
        left = nodes.left[node]
        devices: list[int | None] = [None]
        if kind.gpus and kind.milli < WHOLE:
            # devices that are equally full are equal
            _, first = np.unique(left, return_index=True)
            devices = [int(device) for device in first if left[device] >= kind.milli]
        after = np.repeat(left[None, :], len(devices), axis=0)
        for row, device in zip(after, devices, strict=True):
            if device is not None:
                row[device] -= kind.milli
            elif kind.gpus:
                row[np.flatnonzero(row == WHOLE)[: kind.gpus]] = 0
        cpu = np.full(len(devices), nodes.cpu[node] - kind.cpu)
        growth = before - self._fragments(nodes, np.full(len(devices), node), cpu, after)
        scores = np.trunc(100 / (1 + np.exp(-growth / 1000)))
        best = int(scores.argmax())
        return float(scores[best]), devices[best]

    def _fragments(self, nodes: Nodes, of: Ints, cpu: Ints, left: Ints) -> Floats:
        """Thousandths of devices that a pod drawn from the workload could not use."""
        free = np.maximum(left, 0)
        milli = np.where(self._gpus > 0, self._milli, WHOLE + 1)
        too_small = free[:, None, :] < milli[None, :, None]
        unusable = (free[:, None, :] * too_small).sum(axis=2)
        enough = (~too_small & (left[:, None, :] >= 0)).sum(axis=2) >= np.maximum(self._gpus, 1)
        open_ = np.array([self._open_to(nodes.machines[node].model.lower()) for node in of])
        can = enough & (cpu[:, None] >= self._cpu[None, :]) & open_
        total = free.sum(axis=1)[:, None]
        expected: Floats = np.where(can, unusable, total) @ self._share
        return expected

    def _open_to(self, model: str) -> NDArray[np.bool_]:
        if model not in self._open:
            self._open[model] = np.array([not models or model in models for models in self._models])
        return self._open[model]


def run(
    machines: Sequence[Machine], kinds: Sequence[Request], arrivals: Sequence[int], policy: Policy
) -> Ints:
    """The node of each arrival (indexes of `kinds`), -1 where there was none."""
    nodes = Nodes(machines)
    everyone = np.arange(len(machines))
    open_to = [_open(machines, kind) for kind in kinds]
    # scores by kind, and up to which entry of the log of changed nodes they are current
    scores = np.full((len(kinds), len(machines)), np.nan)
    seen = [-1] * len(kinds)
    log: list[int] = []
    placed = np.full(len(arrivals), -1)
    for position, kind in enumerate(arrivals):
        request = kinds[kind]
        stale = everyone if seen[kind] < 0 else np.unique(np.array(log[seen[kind] :], np.int64))
        seen[kind] = len(log)
        row = scores[kind]
        if len(stale):
            fits = nodes.holds(request, stale) & open_to[kind][stale]
            row[stale] = -1
            if fits.any():
                row[stale[fits]] = policy.scores(nodes, request, stale[fits])
        highest = row.max()
        if highest < 0:
            continue
        node = int(row.argmax())
        shares = request.gpus and request.milli < WHOLE
        nodes.take(request, node, policy.device(nodes, request, node) if shares else None)
        log.append(node)
        placed[position] = node
    return placed


def _open(machines: Sequence[Machine], kind: Request) -> NDArray[np.bool_]:
    return np.array([(not kind.models or machine.model in kind.models) for machine in machines])
