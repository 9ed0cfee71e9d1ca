"""Where workloads come from: the profile's jobs, a trace, or objects of a cluster; a workload for every seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from ..errors import BinpackgenError
from ..finding import Finding, Severity
from ..plan.model import Amount, PodGroup, Pool
from ..profile.codes import FITS_NOWHERE
from ..simulate.cycle import scheduler_order
from ..simulate.matching import Requirement, Taint, Toleration
from ..simulate.model import ClusterState, Node, PodShape, PreferredNodes
from ..simulate.workload.fitting import homeless
from ..simulate.workload.model import Workload
from ..simulate.workload.openb import MODEL, read_openb
from ..simulate.workload.synthetic import draw_workload
from ..source import Span
from .mix import DURATIONS, rates
from .subject import Subject
from .use import capacity, wants


class Source(Protocol):
    """Workloads by seed, and the cluster that they come to."""

    @property
    def words(self) -> str:
        """What it is, in words."""
        ...

    @property
    def cluster(self) -> ClusterState:
        """The cluster before anything arrives."""
        ...

    def workload(self, seed: int) -> Workload:
        """The workload of a seed."""
        ...

    def population(self, workload: Workload, seed: int) -> Iterator[int]:
        """Shapes of pods as they run side by side, one after the other, without end; empty for no pods."""
        ...


class Mix(NamedTuple):
    """The profile's jobs at an offered load."""

    subject: Subject
    load: float
    runs: int
    cluster: ClusterState

    @property
    def words(self) -> str:
        """What it is, in words."""
        return f"{self.runs:,} runs of the profile's jobs at an offered load of {self.load:g}, {DURATIONS}"

    def notes(self) -> list[str]:
        """What is taken for granted."""
        reading = draw_workload(
            self.subject.plan, self.subject.outputs, load=self.load, submissions=1, durations=DURATIONS
        )
        return list(dict.fromkeys(finding.message for finding in reading.findings))

    def workload(self, seed: int) -> Workload:
        """The workload of a seed."""
        shares = {rate.job: rate.rate for rate in rates(self.subject.plan, self.load)}
        return draw_workload(
            self.subject.plan,
            self.subject.outputs,
            load=self.load,
            submissions=self.runs,
            shares=shares,
            durations=DURATIONS,
            seed=seed,
        ).workload

    def population(self, workload: Workload, seed: int) -> Iterator[int]:
        """Jobs by how many run at a time, each with all its pods."""
        table = rates(self.subject.plan, self.load)
        pods: dict[str, list[tuple[int, ...]]] = {}
        for submission in workload.submissions:
            pods.setdefault(submission.kind, []).append(submission.shapes)
        table = tuple(rate for rate in table if rate.job in pods)
        weights = [rate.running for rate in table]
        rng = random.Random(seed)  # noqa: S311  the same arrivals every time are what is wanted
        while table:
            [chosen] = rng.choices(table, weights)
            yield from rng.choice(pods[chosen.job])


class Trace(NamedTuple):
    """A recorded workload. Seed 0 keeps its order, others shuffle who comes when (the times stay)."""

    recorded: Workload
    cluster: ClusterState
    raw: Workload | None = None
    """As it was before the profile's templates were put over it."""

    @property
    def words(self) -> str:
        """What it is, in words."""
        return f"{self.recorded.source}: {self.recorded.pods:,} pods"

    def workload(self, seed: int) -> Workload:
        """The workload of a seed."""
        if not seed:
            return self.recorded
        submissions = list(self.recorded.submissions)
        times = [submission.arrives for submission in submissions]
        random.Random(seed).shuffle(submissions)  # noqa: S311  the same order every time is what is wanted
        moved = (one._replace(arrives=time) for one, time in zip(submissions, times, strict=True))
        return self.recorded._replace(submissions=tuple(moved))

    def population(self, workload: Workload, seed: int) -> Iterator[int]:
        """The pods shuffled, then random picks of them: the protocol of the FGD paper (USENIX ATC 2023)."""
        pods = [shape for submission in workload.submissions for shape in submission.shapes]
        rng = random.Random(seed)  # noqa: S311  the same arrivals every time are what is wanted
        rng.shuffle(pods)
        yield from pods
        while pods:
            yield rng.choice(pods)


def retargeted(source: Source, subject: Subject) -> Source:
    """The same workload for another subject, whose templates may prefer other pools."""
    if isinstance(source, Mix):
        return source._replace(subject=subject)
    assert isinstance(source, Trace)  # noqa: S101  there are no others
    return source._replace(recorded=adopt(subject, source.raw)) if source.raw is not None else source


def at_load(trace: Trace, load: float, resources: Sequence[str]) -> Trace:
    """The trace with arrivals closer together or further apart, so that it offers `load` of its scarcest resource.

    Raises BinpackgenError for a trace without times.
    """
    submissions = trace.recorded.submissions
    span = max((submission.arrives for submission in submissions), default=0.0)
    if not span or any(submission.runs is None for submission in submissions):
        raise BinpackgenError(
            "--load needs to know when pods come and how long they run, which the workload does not say"
        )
    whole = capacity(trace.cluster, resources).sum(axis=0)
    each = wants(trace.recorded.shapes, resources)
    work = sum(each[shape] * (one.runs or 0.0) for one in submissions for shape in one.shapes)
    place = 0 if whole[0] and work[0] else int(np.argmax(work / np.maximum(whole, 1)))
    if not work[place]:
        raise BinpackgenError("--load: the pods of the workload ask for nothing that the nodes have")
    factor = float(work[place]) / float(whole[place]) / span / load

    def scaled(workload: Workload) -> Workload:
        moved = tuple(one._replace(arrives=one.arrives * factor) for one in workload.submissions)
        words = f"{workload.source}, arrivals drawn together to an offered load of {load:g}"
        return workload._replace(source=words, submissions=moved)

    raw = trace.raw if trace.raw is None else scaled(trace.raw)
    return trace._replace(recorded=scaled(trace.recorded), raw=raw)


def adopt(subject: Subject, workload: Workload) -> Workload:
    """A trace's pods as the profile's templates would make them.

    They get the tolerations of the pools that can hold them, the profile's own spelling of GPU types, and its
    preferences between pools.
    """
    keys = subject.plan.spec.node_labels
    types = {pool.gpu_type.lower(): pool.gpu_type for pool in subject.plan.pools}
    open_pools = subject.plan.cpu_only_pools
    closed = tuple(sorted(pool.name for pool in subject.plan.pools if pool.name not in open_pools))

    def adopted(shape: PodShape) -> PodShape:
        has_devices = any(shape.requests.get(device) for device in subject.devices)
        holding = [pool for pool in subject.plan.pools if _holds(pool, shape)]
        if not has_devices:
            holding = [pool for pool in holding if pool.name in open_pools]
        wanted = {
            Toleration(taint.key, "Equal", taint.value, taint.effect): None
            for pool in holding
            for taint in pool.taints
            if taint.effect != "PreferNoSchedule"
        }
        terms = shape.required_nodes
        if terms is not None:
            terms = tuple(
                tuple(_respelled(requirement, keys.gpu_type, types) for requirement in term) for term in terms
            )
        if closed and not has_devices:
            elsewhere = Requirement(keys.pool, "NotIn", closed)
            terms = tuple((*term, elsewhere) for term in terms or ((),))
        placed = replace(
            shape,
            required_nodes=terms,
            tolerations=tuple(dict.fromkeys((*shape.tolerations, *wanted))),
        )
        return replace(placed, preferred_nodes=(*placed.preferred_nodes, *_preferences(subject, placed)))

    return workload._replace(shapes=tuple(adopted(shape) for shape in workload.shapes))


def adopt_nodes(subject: Subject, nodes: Sequence[Node]) -> tuple[list[Node], int]:
    """Nodes with the labels and taints of the pool that looks like them, and how many no pool looks like."""
    keys = subject.plan.spec.node_labels
    pools = {_look(subject, pool): pool for pool in subject.plan.pools}
    found = []
    strangers = 0
    for node in nodes:
        if keys.pool in node.labels:
            found.append(node)
            continue
        pool = pools.get(_look_of(subject, node))
        if pool is None:
            strangers += 1
            found.append(node)
            continue
        labels = {key: value for key, value in node.labels.items() if key != MODEL} | dict(pool.labels)
        taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in pool.taints)
        found.append(replace(node, labels=labels, taints=tuple(dict.fromkeys((*node.taints, *taints)))))
    return scheduler_order(found), strangers


def read_trace(
    subject: Subject, workload: str, nodes: str | None, stdin: bytes | None = None
) -> tuple[Trace, list[str], tuple[Finding, ...]]:
    """A workload with its cluster from files, notes and findings. Raises FindingsError for bad input."""
    notes: list[str] = []
    if _is_list(workload):
        reading = read_openb(workload, nodes, stdin=stdin)
    else:
        from ..simulate.workload.objects import read_objects

        reading = read_objects([workload, *([nodes] if nodes else [])], stdin=stdin)
    recorded = reading.workload
    if recorded.nodes:
        own, strangers = adopt_nodes(subject, recorded.nodes)
        if strangers:
            notes.append(f"{strangers:,} of {len(own):,} nodes look like no pool of the profile")
        cluster = ClusterState(own)
        for index, node in enumerate(reading.cluster.nodes if reading.cluster else ()):
            for pod in reading.cluster.pods[index] if reading.cluster else ():
                cluster.bind(pod, cluster.index[node.name])
    else:
        cluster = subject.cluster()
    if not cluster.nodes:
        raise BinpackgenError("there are no nodes to place anything on")
    trace = Trace(adopt(subject, recorded), cluster, recorded)
    # with nodes of its own the reader has looked
    lost = () if recorded.nodes else homeless(trace.recorded.shapes, cluster.nodes)
    findings = [*reading.findings, *(_fits_nowhere(workload, trace.recorded, shape) for shape in lost)]
    return trace, notes, tuple(findings)


def _fits_nowhere(file: str, workload: Workload, shape: int) -> Finding:
    count = sum(submission.shapes.count(shape) for submission in workload.submissions)
    message = f"no node of the profile takes {workload.shapes[shape].name} ({count:,} pods): by size, GPU type, labels or taints"
    return Finding(FITS_NOWHERE.code, FITS_NOWHERE.name, Severity.WARNING, message, Span(file, 1, 1, 1, 1))


def _is_list(file: str) -> bool:
    suffixes = Path(file).suffixes
    return ".csv" in suffixes[-2:]


def _preferences(subject: Subject, shape: PodShape) -> tuple[PreferredNodes, ...]:
    """The profile's preferences between pools for such a pod."""
    keys = subject.plan.spec.node_labels
    devices = {name: shape.requests[name] for name in subject.devices if shape.requests.get(name)}
    named = {
        value
        for term in shape.required_nodes or (shape.node_selector,)
        for requirement in term
        if requirement.key == keys.gpu_type and requirement.operator == "In"
        for value in requirement.values
    }
    gpu_type = named.pop() if len(named) == 1 else None
    amount = Amount(shape.requests.get("cpu", 0), shape.requests.get("memory", 0), devices)
    group = PodGroup("worker", 1, amount, (), gpu_type if devices else None)
    return tuple(
        PreferredNodes(preference.weight, (Requirement(keys.pool, "In", tuple(sorted(preference.pools))),))
        for preference in subject.plan.scheduler.preferences.of(group)
        if preference.weight
    )


def _holds(pool: Pool, shape: PodShape) -> bool:
    there = {"cpu": pool.allocatable.cpu, "memory": pool.allocatable.memory, **pool.allocatable.devices}
    return all(amount <= there.get(name, 0) for name, amount in shape.requests.items() if amount)


def _respelled(requirement: Requirement, key: str, types: Mapping[str, str]) -> Requirement:
    if requirement.key != MODEL:
        return requirement
    return Requirement(key, requirement.operator, tuple(types.get(v.lower(), v) for v in requirement.values))


_MIB = 1024 * 1024


def _look(subject: Subject, pool: Pool) -> tuple[object, ...]:
    devices = tuple(pool.allocatable.devices.get(name, 0) for name in subject.devices)
    model = pool.gpu_type.lower() if any(devices) else ""
    return pool.allocatable.cpu, pool.allocatable.memory // _MIB, devices, model


def _look_of(subject: Subject, node: Node) -> tuple[object, ...]:
    there = node.allocatable
    devices = tuple(there.get(name, 0) for name in subject.devices)
    return there.get("cpu", 0), there.get("memory", 0) // _MIB, devices, node.labels.get(MODEL, "").lower()
