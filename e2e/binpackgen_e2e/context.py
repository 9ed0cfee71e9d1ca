"""What a scenario works with: the profile, a running cluster with the tree on it, and every change there."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from binpackgen.compilation import Compilation
from binpackgen.errors import BinpackgenError
from binpackgen.metrics.changes import Change
from binpackgen.metrics.golden import Ledger
from binpackgen.plan.model import Plan
from binpackgen.report.progress import Progress
from binpackgen.simulate.configuration import read_profiles
from binpackgen.simulate.model import SchedulerProfile
from binpackgen.targets.scheduler.configuration import CAP_PLUGIN, scheduler_configuration

from .api import EVENT, JOB, JOB_SET, POD, WORKLOAD, Api, Object
from .processes.attempts import last_before
from .recorder import Recorder
from .workloads import Manifest, manifests

#: Seconds that a cluster may take to lose its jobs.
_CLEAN = 180.0


class Cluster(Protocol):
    """A running cluster, whatever it is made of."""

    api: Api
    #: schedulerName of the negative control: a scheduler or profile with all defaults.
    control_scheduler: str

    def effective_configuration(self) -> Mapping[str, Any]:
        """The KubeSchedulerConfiguration of the running scheduler, as it answers itself."""

    def metrics(self) -> str:
        """The running scheduler's metrics."""

    def attempts(self) -> Mapping[tuple[str, str], Sequence[float]]:
        """When the schedulers took up each pod, by namespace and name; those that are not there are not known."""

    def check(self) -> None:
        """Raises BinpackgenError where a part of the cluster has ended by itself."""


class Faults(Protocol):
    """A cluster whose programs can be killed; names are kube-scheduler, kube-apiserver, kueue, …"""

    def kill(self, name: str) -> None:
        """Kill a program without warning."""

    def restart(self, name: str) -> None:
        """Start a killed program again."""


class ClusterLedger(Ledger):
    """The golden metrics of the pods that a scenario submits, read from a recorder from now on.

    Placements are judged in the order in which the scheduler chose the nodes, where its attempts are known.
    """

    def __init__(self, plan: Plan, recorder: Recorder, cluster: Cluster) -> None:
        super().__init__(
            plan, packing_profile(plan), counts=lambda pod: pod["metadata"]["namespace"] != "kube-system"
        )
        self._recorder = recorder
        self._cluster = cluster
        changes, self._read = recorder.now()
        for change in changes:
            self.feed(change)

    def read(self) -> None:
        """Take in what has happened since."""
        changes, self._read = self._recorder.since(self._read)
        for change in in_order_of_decision(changes, self._cluster.attempts()):
            self.feed(change)


def in_order_of_decision(
    changes: Sequence[Change], attempts: Mapping[tuple[str, str], Sequence[float]]
) -> list[Change]:
    """The changes, each pod's binding moved to when the scheduler took the pod up for the last time before it.

    All others stay at the time at which they were seen, but those of a pod never come after its binding.
    """
    decided: dict[str, float] = {}
    bound: dict[str, int] = {}
    for change in changes:
        if change.kind == "Pod" and change.object["spec"].get("nodeName"):
            metadata = change.object["metadata"]
            if metadata["uid"] in bound:
                continue
            bound[metadata["uid"]] = change.version
            at = last_before(attempts.get((metadata.get("namespace", ""), metadata["name"]), ()), change.at)
            if at is not None:
                decided[metadata["uid"]] = at

    def when(change: Change) -> tuple[float, int]:
        uid = change.object["metadata"]["uid"]
        if uid in decided and change.version <= bound[uid]:
            return min(change.at, decided[uid]), change.version
        return change.at, change.version

    return sorted(changes, key=when)


def packing_profile(plan: Plan) -> SchedulerProfile:
    """The compiled scheduler profile, as the simulation reads it; a cap plugin is left to the ledger."""
    body = copy.deepcopy(scheduler_configuration(plan).body)
    for profile in body["profiles"]:
        profile["pluginConfig"] = [
            one for one in profile.get("pluginConfig") or () if one["name"] != CAP_PLUGIN
        ]
        for point in (profile.get("plugins") or {}).values():
            point["enabled"] = [one for one in point.get("enabled") or () if one["name"] != CAP_PLUGIN]
    return read_profiles(body, plan.minor)[plan.scheduler.name]


@dataclass(frozen=True)
class Context:
    """One run; `seed` makes shuffles repeatable."""

    compilation: Compilation
    cluster: Cluster
    recorder: Recorder
    progress: Progress
    faults: Faults | None = None
    seed: int = 0
    manifests: tuple[Manifest, ...] = field(default=())

    @property
    def plan(self) -> Plan:
        """The plan of the profile."""
        return self.compilation.plan

    @property
    def api(self) -> Api:
        """The cluster's API server."""
        return self.cluster.api

    def ledger(self) -> ClusterLedger:
        """The golden metrics from now on."""
        return ClusterLedger(self.plan, self.recorder, self.cluster)

    def random(self) -> random.Random:
        """A source of repeatable shuffles, the same for every caller."""
        return random.Random(self.seed)  # noqa: S311

    def submit(self, items: Iterable[Object]) -> None:
        """Create jobs and pods, with eight requests under way at a time."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.api.create, items))

    def pods(self, submissions: Iterable[str] | None = None) -> list[Object]:
        """Pods outside kube-system as they are now; only those of some submissions, where given."""
        from .workloads import SUBMISSION

        wanted = None if submissions is None else set(submissions)
        return [
            pod
            for pod in self.recorder.objects(POD)
            if pod["metadata"]["namespace"] != "kube-system"
            and (wanted is None or (pod["metadata"].get("labels") or {}).get(SUBMISSION) in wanted)
        ]

    def events(self) -> list[Object]:
        """Events as they are now: no change that a scenario judges, and too many to watch."""
        return self.api.all(EVENT)

    def clean(self) -> None:
        """Delete all jobs and pods outside kube-system, and wait until they are gone; asked again where it takes long."""
        end = time.monotonic() + _CLEAN
        while True:
            try:
                self._delete_all()
                self.recorder.until("all jobs and pods gone", self._is_clean, _CLEAN / 4)
            except BinpackgenError:
                if time.monotonic() > end:
                    raise
            else:
                return

    def _delete_all(self) -> None:
        for kind in (JOB_SET, JOB, POD):
            namespaces = {item["metadata"]["namespace"] for item in self.api.all(kind)} - {"kube-system"}
            for namespace in sorted(namespaces):
                self.api.delete_all(kind, namespace)
        # the garbage collector hears of custom resources only half a minute after its start
        for namespace in sorted({item["metadata"]["namespace"] for item in self.recorder.objects(WORKLOAD)}):
            self.api.delete_all(WORKLOAD, namespace)

    def _is_clean(self) -> bool:
        return not self.pods() and not self.recorder.objects(WORKLOAD) and not self.recorder.objects(JOB)

    @contextmanager
    def clean_slate(self) -> Iterator[None]:
        """Whatever happens inside, no job is left behind."""
        try:
            yield
        finally:
            try:
                self.clean()
            except BinpackgenError as error:
                self.progress.line(f"could not clean up: {error}")


def context(
    compilation: Compilation,
    cluster: Cluster,
    recorder: Recorder,
    progress: Progress,
    faults: Faults | None = None,
    seed: int = 0,
) -> Context:
    """A context with the profile's manifests."""
    return Context(compilation, cluster, recorder, progress, faults, seed, manifests(compilation))


def is_bound(pod: Object) -> bool:
    """Whether a pod has a node."""
    return bool(pod["spec"].get("nodeName"))


def has_ended(pod: Object) -> bool:
    """Whether a pod has run to its end and holds nothing any more."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
