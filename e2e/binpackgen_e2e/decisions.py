"""A real kube-scheduler alone with an API server: nodes and pods in, its decisions out, each in its turn.

    with scheduler_alone("1.37") as alone:
        run = alone.decide(configuration, nodes, pods)
        run.pods[7], run.chosen[7]              the pod of an attempt, and its node, None for nowhere

Nothing else runs that could change a node or a pod, so the decisions follow from what was asked, one attempt
after the other. Give a configuration `parallelism: 1`, or the order in which it finds nodes depends on timing.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from binpackgen.errors import BinpackgenError

from .api import NODE, POD, Api, Object, kind_of, wait_for
from .binaries import binary
from .processes.api_server import ApiServer
from .processes.attempts import FLAG, attempts
from .processes.supervisor import Supervisor, free_ports

#: Admission that needs a controller manager.
_SERVER_FLAGS = ("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",)
#: Requests under way at a time.
_REQUESTS = 4
#: Seconds until a scheduler is there, and until everything it should do is done.
_START, _REST = 60.0, 600.0
#: Seconds between two looks that must see the same: a binding comes back to the scheduler within a few ms.
_QUIET = 0.2

_METRIC = re.compile(
    r"^scheduler_(?:scheduler_)?(schedule_attempts_total|pending_pods|cache_size)\{.*"
    r'(?:result|queue|type)="(\w+)".*\} (\S+)$',
    re.MULTILINE,
)


class Decisions(NamedTuple):
    """What a scheduler was asked and what it decided.

    `nodes` are in the order in which it learned of them. `pods` has the pod of each attempt, in order: a pod
    that found no node may come again. Both are as the API server handed them out. `chosen` has the node of
    each attempt, None where there was none. `cpu_seconds` is the scheduler's own time, user and system, from
    before the first pod to after the last.
    """

    nodes: tuple[Object, ...]
    pods: tuple[Object, ...]
    chosen: tuple[str | None, ...]
    cpu_seconds: float
    seconds: float


class SchedulerAlone:
    """An API server, and one scheduler after the other."""

    def __init__(self, server: ApiServer, minor: str) -> None:
        self.minor = minor
        self._server = server
        self._program = binary("kube-scheduler", minor)
        self._numbers = count(1)

    def decide(
        self,
        configuration: Mapping[str, Any],
        nodes: Iterable[Object],
        pods: Sequence[Object],
        others: Iterable[Object] = (),
        *flags: str,
    ) -> Decisions:
        """Decide over all pods on an empty cluster of these nodes, beside `others` such as Services.

        Raises BinpackgenError where the scheduler says that an attempt failed for another reason than room.
        """
        name = f"kube-scheduler-{next(self._numbers)}"
        [port] = free_ports(1)
        supervisor, api = self._server.supervisor, self._server.api
        process = self._server.start_scheduler(name, self._program, configuration, port, FLAG, *flags)
        scheduler = self._server.client(f"https://127.0.0.1:{port}")
        beside: list[Object] = []
        try:
            wait_for(name, lambda: scheduler.raw("/readyz"), _START, alive=supervisor.check)
            beside = [api.create(item) for item in others]
            known = [api.create(node) for node in nodes]
            wait_for(
                f"{name} to know its nodes",
                lambda: metrics(scheduler).get("cache_size nodes") == len(known),
                _START,
                alive=supervisor.check,
            )
            start, cpu = time.monotonic(), cpu_seconds(process.pid)
            with ThreadPoolExecutor(_REQUESTS) as pool:
                created = list(pool.map(api.create, pods))
            _rest(name, scheduler, len(pods), supervisor)
            cpu, seconds = cpu_seconds(process.pid) - cpu, time.monotonic() - start
            if errors := metrics(scheduler).get("schedule_attempts_total error"):
                raise BinpackgenError(f"{name}: {errors:.0f} attempts failed:\n{process.last_lines()}")
            where = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in api.all(POD, "default")}
        finally:
            supervisor.kill(name)
            self._server.forget("pods", "minions", "events")
            wait_for("an empty cluster", lambda: not api.all(POD) and not api.all(NODE), _START)
            for item in beside:
                api.delete(kind_of(item), item["metadata"]["name"], "default")
        times = attempts(process.log).items()
        turns = [name for _, name in sorted((at, name) for (_, name), each in times for at in each)]
        last = {pod: turn for turn, pod in enumerate(turns)}
        objects = {pod["metadata"]["name"]: pod for pod in created}
        return Decisions(
            tuple(known),
            tuple(objects[pod] for pod in turns),
            tuple(where[pod] if last[pod] == turn else None for turn, pod in enumerate(turns)),
            cpu,
            seconds,
        )


@contextmanager
def scheduler_alone(minor: str) -> Iterator[SchedulerAlone]:
    """etcd and an API server of a minor, as "1.37"; gone at the end."""
    with Supervisor() as supervisor:
        server = ApiServer(supervisor, minor, _SERVER_FLAGS)
        alone = SchedulerAlone(server, minor)
        server.start()
        yield alone


def _rest(name: str, scheduler: Api, pods: int, supervisor: Supervisor) -> None:
    """Wait until every pod is bound or waits for a change that will not come, and nothing moves any more."""
    before: dict[str, float] = {}

    def at_rest() -> bool:
        nonlocal before
        counted = metrics(scheduler)
        settled = counted.get("schedule_attempts_total scheduled", 0) + counted.get(
            "pending_pods unschedulable", 0
        )
        still = counted == before
        before = counted
        return still and settled == pods

    wait_for(f"{name} to come to rest", at_rest, _REST, _QUIET, alive=supervisor.check)


def metrics(scheduler: Api) -> dict[str, float]:
    """What the scheduler counts, as "NAME LABEL": its cache, its queues, and the ends of its attempts."""
    found: dict[str, float] = {}
    for name, label, number in _METRIC.findall(scheduler.raw("/metrics").decode()):
        found[f"{name} {label}"] = found.get(f"{name} {label}", 0.0) + float(number)
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
