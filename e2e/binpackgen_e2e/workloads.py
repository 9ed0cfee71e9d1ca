"""The profile's job manifests, as many times as a scenario wants them, each under a name of its own."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from binpackgen.compilation import Compilation
from binpackgen.document import Document
from binpackgen.plan.model import PlannedJob

from .api import Object
from .processes.simulated_nodes import RUN_FOR

#: Label of every object that a scenario submits, with the name of its submission.
SUBMISSION = "binpackgen.dev/e2e"

_JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"


class Manifest(NamedTuple):
    """One job of the profile, as the tree has it; a CronJob counts as the Job that it makes."""

    job: PlannedJob
    body: Object

    @property
    def name(self) -> str:
        """The job's name in the profile."""
        return self.job.name

    @property
    def namespace(self) -> str:
        """Where it is submitted."""
        return self.job.namespace

    @property
    def pods(self) -> int:
        """Pods that run at a time."""
        return sum(group.count for group in self.job.pod_groups)

    @property
    def claims(self) -> tuple[str, ...]:
        """Volume claims that its pods mount."""
        volumes = [v for template in pod_templates(self.body) for v in template["spec"].get("volumes") or ()]
        claims = (v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v)
        return tuple(dict.fromkeys(claims))

    def instance(
        self,
        name: str,
        *,
        scheduler: str | None = None,
        run_for: str = "",
        labels: dict[str, str] | None = None,
    ) -> Object:
        """A submission under `name`: by another scheduler, ending after `run_for`, where these are given.

        An array runs as one wave: its completions are its pods at a time.
        """
        body: Object = copy.deepcopy(self.body)
        old = body["metadata"]["name"]
        body["metadata"]["name"] = name
        body["metadata"].setdefault("labels", {}).update({SUBMISSION: name, **(labels or {})})
        for template in pod_templates(body):
            metadata = template.setdefault("metadata", {})
            metadata.setdefault("labels", {})[SUBMISSION] = name
            if run_for:
                metadata.setdefault("annotations", {})[RUN_FOR] = run_for
            if scheduler is not None:
                template["spec"]["schedulerName"] = scheduler
            _rename(template, old, name)
        if body["kind"] == "Job" and "completions" in body["spec"]:
            body["spec"]["completions"] = body["spec"].get("parallelism", 1)
        return body


def manifests(compilation: Compilation) -> tuple[Manifest, ...]:
    """All jobs of the profile, in its order."""
    jobs = {job.name: job for job in compilation.plan.jobs}
    found = []
    for output in compilation.outputs:
        if not isinstance(output, Document) or not output.path.startswith("jobs/"):
            continue
        body = copy.deepcopy(output.body)
        job = jobs[body["metadata"]["name"]]
        if body["kind"] == "CronJob":
            template = body["spec"]["jobTemplate"]
            metadata = {**body["metadata"], "labels": dict(template["metadata"]["labels"])}
            body = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": metadata,
                "spec": template["spec"],
            }
        found.append(Manifest(job, body))
    return tuple(found)


def pod_templates(body: Object) -> Iterator[dict[str, Any]]:
    """The pod templates of a Job or JobSet."""
    if body["kind"] == "JobSet":
        for replicated in body["spec"]["replicatedJobs"]:
            yield replicated["template"]["spec"]["template"]
    else:
        yield body["spec"]["template"]


def _rename(template: dict[str, Any], old: str, new: str) -> None:
    """What in a pod template names its own JobSet: affinity terms, and host names in the environment."""
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = (template["spec"].get("affinity") or {}).get(kind) or {}
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            labels = (term.get("labelSelector") or {}).get("matchLabels") or {}
            if labels.get(_JOBSET_NAME) == old:
                labels[_JOBSET_NAME] = new
    for container in template["spec"]["containers"]:
        for variable in container.get("env") or ():
            value = variable.get("value", "")
            if value.startswith(f"{old}-") and value.endswith(f".{old}"):
                stem = value[len(old) : -len(old)]
                variable["value"] = f"{new}{stem}{new}"
