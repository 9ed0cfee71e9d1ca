"""Workloads drawn from a profile's jobs: a mix that arrives at random and runs for a stated time.

    reading = draw_workload(compilation.plan, compilation.outputs, load=0.9, submissions=10_000, seed=1)
    cluster = plan_cluster(compilation.plan)

Pods are those of the compiled manifests, with their node preferences, selectors and tolerations. An offered load of 1
asks for as much of the scarce resource as there is, over time; what is scarce is the devices (of all types together)
where the cluster has any and the mix asks for them, else cpu. Nothing but the seed decides what is drawn: the same seed gives the same
workload, and another load the same jobs at other times.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...document import Document, Output
from ...errors import BinpackgenError
from ...finding import Severity
from ...plan.model import Plan, Pool
from ...profile.codes import ASSUMED, FITS_NOWHERE
from ..cycle import scheduler_order
from ..matching import Taint, Toleration
from ..model import HOSTNAME, ZONE, ClusterState, Node, PodShape, requests_of
from .fitting import homeless
from .model import Submission, Workload
from .reading import Findings, Reading
from .templates import Template, claims, of_instance, templates

#: A pod that tolerates everything, as the pods of DaemonSets that run on every node do.
_EVERYWHERE = (Toleration(operator="Exists"),)


class Durations(NamedTuple):
    """How long jobs run: all `share` of their deadline, or exponentially with that mean and cut at the deadline."""

    share: float = 1.0
    is_random: bool = False

    def mean(self, deadline: float) -> float:
        """The mean in seconds."""
        whole = self.share * deadline
        # of an exponential time that is cut: the deadline ends jobs
        return whole * (1 - math.exp(-deadline / whole)) if self.is_random else min(whole, deadline)

    def draw(self, deadline: float, chance: random.Random) -> float:
        """One job's time in seconds."""
        whole = self.share * deadline
        return min(deadline, chance.expovariate(1 / whole) if self.is_random else whole)

    def __str__(self) -> str:
        if self.is_random:
            return f"running exponentially, {self.share:.0%} of the deadline in the mean"
        return "running to the deadline" if self.share >= 1 else f"running {self.share:.0%} of the deadline"


class _Source(NamedTuple):
    """A job of the profile with what its instances have in common."""

    name: str
    pods: tuple[PodShape, ...]
    deadline: float
    is_gang: bool
    priority: int
    preempts: bool
    queue: str | None

    def demand(self, resources: Sequence[str]) -> int:
        """What one instance holds of these resources together."""
        return sum(pod.requests.get(resource, 0) for pod in self.pods for resource in resources)


def draw_workload(
    plan: Plan,
    outputs: Iterable[Output],
    *,
    load: float,
    submissions: int,
    shares: Mapping[str, float] | None = None,
    durations: Durations = Durations(),  # noqa: B008  a named tuple does not change
    seed: int = 0,
) -> Reading:
    """`submissions` jobs in the order of their random (Poisson) arrivals, at an offered `load` of the plan's nodes.

    `shares` weighs how often each job of the profile comes, by name; jobs that it does not name do not come, and
    without it all come equally often. Raises BinpackgenError for a mix of nothing, UnmodeledError for manifests with
    something that the model does not have.
    """
    findings = Findings()
    sources = [source for source in _sources(plan, outputs, findings) if source.pods]
    weights = _weights(sources, shares)
    sources = [source for source in sources if weights[source.name] > 0]
    if not sources:
        raise BinpackgenError("there is no job to draw: the profile has none, or the shares leave none")
    if not (load > 0 and math.isfinite(load)) or submissions < 1 or not 0 < durations.share < math.inf:
        raise BinpackgenError("load, durations and the number of submissions must be greater than 0")
    nodes = plan_cluster(plan).nodes
    scarce = _scarce(nodes, sources)
    there = sum(node.allocatable.get(resource, 0) for node in nodes for resource in scarce)
    total = sum(weights[source.name] for source in sources)
    # the mean of what one arrival holds over time
    work = sum(
        weights[source.name] / total * source.demand(scarce) * durations.mean(source.deadline)
        for source in sources
    )
    if not there or not work:
        raise BinpackgenError(
            f"no load can be offered: the nodes have {there} of {', '.join(scarce)}, the jobs ask for {work:g}"
        )
    rate = load * there / work
    workload = _draw(
        sources, [weights[source.name] for source in sources], rate, submissions, durations, seed
    )
    for shape in homeless(workload.shapes, nodes):
        message = f"pods of job {workload.shapes[shape].name} fit on no node of the profile"
        findings.add(FITS_NOWHERE, plan.files[-1], 1, message, severity=Severity.WARNING)
    source = f"{submissions:,} jobs of profile {plan.name} at {load:.0%} of {' and '.join(scarce)}, {durations}, seed {seed}"
    return findings.result(workload._replace(source=source, nodes=nodes), plan_cluster(plan))


def _draw(
    sources: Sequence[_Source],
    weights: Sequence[float],
    rate: float,
    count: int,
    durations: Durations,
    seed: int,
) -> Workload:
    chance = random.Random(seed)  # noqa: S311  the same numbers every time are what is wanted
    shapes: list[PodShape] = []
    index: dict[int, int] = {}
    common: dict[str, tuple[int, ...]] = {}
    made: list[Submission] = []
    now = 0.0
    for number, source in enumerate(chance.choices(sources, weights, k=count)):
        now += chance.expovariate(1.0) / rate
        name = f"{source.name}-{number}"
        pods = common.get(source.name)
        if pods is None:
            renamed = {id(pod): of_instance(pod, name) for pod in source.pods}
            for pod in renamed.values():
                if id(pod) not in index:
                    index[id(pod)] = len(shapes)
                    shapes.append(pod)
            pods = tuple(index[id(renamed[id(pod)])] for pod in source.pods)
            if all(renamed[id(pod)] is pod for pod in source.pods):
                # instances that know nothing of each other share their shapes
                common[source.name] = pods
        runs = durations.draw(source.deadline, chance)
        made.append(
            Submission(
                name,
                source.name,
                pods,
                now,
                runs,
                source.is_gang,
                source.priority,
                source.preempts,
                source.queue,
            )
        )
    return Workload("", tuple(shapes), tuple(made))


def _sources(plan: Plan, outputs: Iterable[Output], findings: Findings) -> list[_Source]:
    tiers = {tier.name: tier.source for tier in plan.tiers}
    manifests = {
        output.body["metadata"]["name"]: output
        for output in outputs
        if isinstance(output, Document) and output.body.get("kind") in ("Job", "CronJob", "JobSet")
    }
    told: set[str] = set()
    found = []
    for job in plan.jobs:
        document = manifests.get(job.name)
        if document is None:
            continue
        made = list(templates(document.body))
        tier = tiers.get(job.tier or "")
        for claim in sorted(set(_claims(document.body)) - told):
            told.add(claim)
            message = f"claim {claim} is taken to be bound and to be reachable from every node"
            span = plan.span(job.at)
            findings.add(ASSUMED, span.file, span.line, message, severity=Severity.NOTE)
        found.append(
            _Source(
                name=job.name,
                pods=tuple(template.shape for template in made for _ in range(template.pods)),
                deadline=_deadline(made, job.source.deadline),
                is_gang=document.body["kind"] == "JobSet",
                priority=tier.value if tier else 0,
                preempts=tier.preempts if tier else True,
                queue=job.queue,
            )
        )
    return found


def _deadline(made: Iterable[Template], stated: float) -> float:
    return max((template.deadline for template in made if template.deadline is not None), default=stated)


def _claims(body: Any) -> Iterable[str]:
    """Claims of all pod specs below an object."""
    if isinstance(body, Mapping):
        if "containers" in body:
            yield from claims(body)
        for value in body.values():
            yield from _claims(value)
    elif isinstance(body, list):
        for value in body:
            yield from _claims(value)


def _weights(sources: Iterable[_Source], shares: Mapping[str, float] | None) -> dict[str, float]:
    names = [source.name for source in sources]
    if shares is None:
        return dict.fromkeys(names, 1.0)
    unknown = sorted(shares.keys() - set(names))
    if unknown:
        raise BinpackgenError(
            f"the profile has no job {', '.join(unknown)}; it has {', '.join(names) or 'none'}"
        )
    if any(not (share >= 0 and math.isfinite(share)) for share in shares.values()):
        raise BinpackgenError("the share of a job is a number that is not negative")
    return {name: shares.get(name, 0.0) for name in names}


def _scarce(nodes: Iterable[Node], sources: Iterable[_Source]) -> tuple[str, ...]:
    """The devices that nodes have and jobs ask for; cpu if there are none."""
    there = {name for node in nodes for name, amount in node.allocatable.items() if "/" in name and amount}
    asked = {name for source in sources for pod in source.pods for name in pod.requests}
    return tuple(sorted(there & asked)) or ("cpu",)


def plan_cluster(plan: Plan) -> ClusterState:
    """The nodes of a plan's pools, all that they may have, each with the pods of its DaemonSets as one."""
    nodes = [node for pool in plan.pools for node in _nodes(pool)]
    overhead = {pool.name: _overhead(pool) for pool in plan.pools}
    state = ClusterState(scheduler_order(nodes))
    of_node = {f"{pool.name}-{index}": pool.name for pool in plan.pools for index in range(pool.nodes_max)}
    for index, node in enumerate(state.nodes):
        shape = overhead[of_node[node.name]]
        if shape is not None:
            state.bind(shape, index)
    return state


def _nodes(pool: Pool) -> Iterable[Node]:
    allocatable = {
        "cpu": pool.allocatable.cpu,
        "memory": pool.allocatable.memory,
        **pool.allocatable.devices,
        "pods": pool.source.pods,
    }
    taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in pool.taints)
    zones = pool.source.zones
    for index in range(pool.nodes_max):
        name = f"{pool.name}-{index}"
        zone = {ZONE: zones[index % len(zones)]} if zones else {}
        yield Node(name, allocatable, {**pool.labels, **zone, HOSTNAME: name}, taints)


def _overhead(pool: Pool) -> PodShape | None:
    if not pool.overhead.cpu and not pool.overhead.memory:
        return None
    requests, scoring = requests_of([{"cpu": pool.overhead.cpu, "memory": pool.overhead.memory}])
    return PodShape(f"daemonsets-{pool.name}", requests, scoring, tolerations=_EVERYWHERE)
