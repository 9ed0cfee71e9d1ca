"""How often each job of a profile comes, so that every kind of node is offered the same load.

Every class of nodes (the pools of a GPU type; the CPU pools) is offered `load` times what it has room for, in the
resource that its jobs need most of, and the jobs of a class bring equal shares of that demand. Jobs run for an
exponentially distributed time with a mean of a quarter of their deadline, cut off at the deadline. A profile says
nothing better; a trace does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import BinpackgenError
from ..plan.model import Plan, PlannedJob, Pool
from ..simulate.workload.synthetic import Durations

DURATIONS = Durations(0.25, is_random=True)


class Rate(NamedTuple):
    """A job: how often it comes (a second) and how many run at a time on average."""

    job: str
    rate: float
    running: float


def rates(plan: Plan, load: float) -> tuple[Rate, ...]:
    """Arrival rates that offer `load` to every class. Raises BinpackgenError for a profile without jobs."""
    if not plan.jobs:
        raise BinpackgenError(
            "the profile has no jobs, so there is no mix of them; give a trace with --workload FILE"
        )
    classes: dict[tuple[str, ...], list[PlannedJob]] = {}
    for job in plan.jobs:
        classes.setdefault(_class(plan, job), []).append(job)
    sharing = {pool.name: sum(pool.name in members for members in classes) or 1 for pool in plan.pools}
    found: dict[str, Rate] = {}
    for members, jobs in classes.items():
        room = _room([plan.pool(name) for name in members], sharing)
        resource = _scarcest(jobs, room)
        each = load * room[resource] / len(jobs)
        for job in jobs:
            running = each / demand(job)[resource]
            found[job.name] = Rate(job.name, running / DURATIONS.mean(job.source.deadline), running)
    return tuple(found[job.name] for job in plan.jobs)


def demand(job: PlannedJob) -> dict[str, int]:
    """What all pods of one run request."""
    total: dict[str, int] = {}
    for group in job.pod_groups:
        amounts = {"cpu": group.request.cpu, "memory": group.request.memory, **group.request.devices}
        for resource, amount in amounts.items():
            total[resource] = total.get(resource, 0) + group.count * amount
    return total


def _class(plan: Plan, job: PlannedJob) -> tuple[str, ...]:
    """The pools that the job is meant for: those that hold all its pods with devices; CPU pools, if any."""
    asking = [group for group in job.pod_groups if not group.cpu_only] or list(job.pod_groups)
    names = [name for name in asking[0].pools if all(name in group.pools for group in asking)]
    if asking[0].cpu_only:
        names = [name for name in names if not plan.pool(name).has_gpus] or names
    if not names:
        raise BinpackgenError(f"job {job.name}: no pool holds its pods")
    return tuple(names)


def _room(pools: Sequence[Pool], sharing: Mapping[str, int]) -> dict[str, float]:
    room: dict[str, float] = {}
    for pool in pools:
        part = pool.nodes_max / sharing[pool.name]
        amounts = {"cpu": pool.room.cpu, "memory": pool.room.memory, **pool.room.devices}
        for name, amount in amounts.items():
            room[name] = room.get(name, 0.0) + part * amount
    return room


def _scarcest(jobs: Sequence[PlannedJob], room: Mapping[str, float]) -> str:
    """The device that all ask for, else the one of cpu and memory of which they ask most."""
    devices = [name for name in room if name not in ("cpu", "memory")]
    asked = [name for name in devices if room[name] and all(demand(job).get(name) for job in jobs)]
    if asked:
        return asked[0]

    def use(resource: str) -> float:
        return math.fsum(demand(job).get(resource, 0) / room[resource] for job in jobs)

    there = [name for name in ("cpu", "memory") if room.get(name)]
    if not there:
        raise BinpackgenError(f"no node has room for job {jobs[0].name}")
    return max(there, key=use)
