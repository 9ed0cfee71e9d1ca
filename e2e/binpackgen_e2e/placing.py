"""Placements: single pods of a job's template, waiting until pods have their nodes, and reading where they went."""

from __future__ import annotations

import copy
import time
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from binpackgen.errors import BinpackgenError
from binpackgen.metrics.changes import Change
from binpackgen.plan.model import PodGroup
from binpackgen.targets.jobs.pod import REPLICATED_JOB, REPLICATED_JOBS

from .api import Object
from .context import Context, is_bound
from .workloads import SUBMISSION, Manifest


class Binding(NamedTuple):
    """A pod that got a node, at the change with which it got it."""

    version: int
    pod: Object
    node: str

    @property
    def name(self) -> str:
        """NAMESPACE/NAME of the pod."""
        return qualified(self.pod)

    @property
    def submission(self) -> str:
        """Name of the submission that the pod belongs to."""
        return submission_of(self.pod)


def qualified(item: Object) -> str:
    """NAMESPACE/NAME of an object."""
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def submission_of(pod: Object) -> str:
    """Name of the submission that a pod belongs to, "" for a pod of no scenario."""
    return str((pod["metadata"].get("labels") or {}).get(SUBMISSION, ""))


def bindings(changes: Iterable[Change]) -> Iterator[Binding]:
    """Pods of submissions as they get their nodes, each once."""
    seen: set[str] = set()
    for change in changes:
        if change.kind != "Pod" or change.type == "DELETED":
            continue
        pod = dict(change.object)
        uid = pod["metadata"]["uid"]
        if is_bound(pod) and submission_of(pod) and uid not in seen:
            seen.add(uid)
            yield Binding(change.version, pod, pod["spec"]["nodeName"])


def group_of(pod: Object, manifest: Manifest) -> PodGroup:
    """The group of its job that a pod belongs to."""
    replicated = (pod["metadata"].get("labels") or {}).get(REPLICATED_JOB)
    groups = manifest.job.pod_groups
    return next((group for group in groups if REPLICATED_JOBS.get(group.role) == replicated), groups[-1])


def single_pod(manifest: Manifest, group: PodGroup, name: str, *, scheduler: str | None = None) -> Object:
    """One pod of a group of a job, without Job and queue."""
    body = manifest.instance(name, scheduler=scheduler)
    spec = body["spec"]
    if body["kind"] == "JobSet":
        wanted = REPLICATED_JOBS[group.role]
        jobs = spec["replicatedJobs"]
        spec = next((job for job in jobs if job["name"] == wanted), jobs[-1])["template"]["spec"]
    template = copy.deepcopy(spec["template"])
    metadata = {**template["metadata"], "name": name, "namespace": manifest.namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def until_bound(context: Context, what: str, names: Collection[str], pods: int, seconds: float) -> float:
    """Wait until as many pods of the submissions have nodes; the seconds that it took. Raises BinpackgenError."""

    def bound() -> int:
        return sum(1 for pod in context.pods(names) if is_bound(pod))

    return context.recorder.until(
        f"{what}: {pods} pods bound",
        lambda: bound() >= pods,
        seconds,
        lambda: context.progress.count(bound(), pods, "pods bound"),
    )


def until_quiet(context: Context, names: Collection[str], pods: int, quiet: float, seconds: float) -> int:
    """Wait until as many pods have nodes, or for `quiet` seconds no further one got any; how many have.

    For work of which some may find no room. Raises BinpackgenError when it has not come to rest in time.
    """
    most, since = -1, time.monotonic()

    def at_rest() -> bool:
        nonlocal most, since
        bound = sum(1 for pod in context.pods(names) if is_bound(pod))
        if bound != most:
            most, since = bound, time.monotonic()
        return most >= pods or time.monotonic() - since > quiet

    try:
        context.recorder.until(
            "placements at rest",
            at_rest,
            seconds,
            lambda: context.progress.count(max(most, 0), pods, "pods bound"),
        )
    except BinpackgenError as error:
        raise BinpackgenError(f"{error}: {most} of {pods} pods bound") from error
    return most
