"""From a planned job to its manifest, with the reason for every field that the profile decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...document import Because, Document, Output, Unsupported
from ...plan.model import Plan, PlannedJob
from ...source import Path, path_text
from ..metadata import labels
from .jobset import settle
from .names import name_problem
from .pod import (
    NAME,
    REPLICATED_JOBS,
    PodValues,
    environment_because,
    kueue_assigns_nodes,
    pod_values,
    shared_memory_because,
)
from .render import BAD_TEMPLATE, BadTemplateError, Templates

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MAX_TIME = "kueue.x-k8s.io/max-exec-time-seconds"

_CRON_JOB = "_cron-job"


def manifest(plan: Plan, job: PlannedJob, templates: Templates) -> Iterator[Output]:
    """The manifest of one job, and what of it cannot be expressed.

    Raises BadTemplateError.
    """
    pods = {group.role: pod_values(plan, job, group) for group in job.pod_groups}
    values = {
        "job": _job_values(plan, job),
        "worker": pods["worker"].values,
        "master": pods["master"].values if "master" in pods else None,
    }
    template = job.source.template
    body = templates.render(template, values)
    _check_shape(template, body, templates)
    if job.source.schedule is not None and body["kind"] == "Job":
        cron = {"cron_labels": _own_labels(plan, job), "job_spec": body["spec"]}
        body = templates.render(_CRON_JOB, values | cron)
        _check_shape(_CRON_JOB, body, templates)
    elif job.source.schedule is not None and body["kind"] == "JobSet":
        yield Unsupported(
            f'a schedule for job "{job.name}"',
            f"template {template} makes a JobSet, which has no schedule, and a CronJob creates Jobs only",
            "use one worker or a template that makes a Job, or create the JobSet from a CronJob of your own",
            (*job.at, "schedule"),
        )
    problem = name_problem(body)
    if problem is not None:
        finding = BAD_TEMPLATE.finding(plan.span((*job.at, "name")), problem, "give the job another name")
        raise BadTemplateError(finding)
    settled: dict[Path, Because] = {}
    if body["kind"] == "JobSet":
        if job.queue is not None:
            settled |= _bound_restarts(job, body)
        settled |= settle(plan, job, body)
        if "master" in pods and kueue_assigns_nodes(plan, job):
            yield Unsupported(
                f'a node of its own for the master of job "{job.name}"',
                "Kueue's topology-aware scheduling assigns nodes and knows no anti-affinity between pods; with both, "
                "the master could wait for ever",
                "leave kubernetes.io/hostname out of queueing.topologyLevels",
                job.at,
            )
    reasons = _reasons(plan, job, pods, body) | settled
    yield Document(
        path=f"jobs/{job.name}.yaml",
        body=body,
        why=Because(f"job {job.name}, made by template {template}", (job.at,)),
        trace={path: because for path, because in reasons.items() if _at(body, path) is not None},
        sync=False,
    )


def _job_values(plan: Plan, job: PlannedJob) -> dict[str, Any]:
    """What templates know as `job`; what is absent is None."""
    source = job.source
    queued = {}
    if job.queue is not None:
        queued = {QUEUE: job.queue, **({PRIORITY_CLASS: job.tier} if job.tier is not None else {})}
    return {
        "name": job.name,
        "namespace": job.namespace,
        "labels": dict(sorted((_own_labels(plan, job) | queued).items())),
        "suspend": True if job.queue is not None else None,
        "workers": source.workers,
        "completions": source.completions or source.workers,
        "retries": source.retries,
        "deadline": source.deadline,
        "keep_finished": source.keep_finished,
        "schedule": source.schedule,
        "image": source.image,
        "command": list(source.command) or None,
        "args": list(source.args) or None,
        "env": dict(source.env),
        "data": source.volumes.data,
        "output": source.volumes.output,
    }


def _own_labels(plan: Plan, job: PlannedJob) -> dict[str, str]:
    return dict(sorted({**labels(plan), NAME: job.name}.items()))


def _bound_restarts(job: PlannedJob, body: dict[str, Any]) -> dict[Path, Because]:
    """Let Kueue bound all restarts of a JobSet together; the Jobs' own deadline starts anew with each."""
    kept = body["metadata"].setdefault("labels", {})
    kept.setdefault(MAX_TIME, str(job.source.deadline))
    body["metadata"]["labels"] = dict(sorted(kept.items()))
    return {
        ("metadata", "labels", MAX_TIME): Because(
            f"Kueue ends the JobSet after {job.source.deadline} s, restarts included",
            ((*job.at, "deadline"),),
        )
    }


def _job_specs(body: dict[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    """The Job specs of a manifest: path, role of the pods, spec."""
    if body["kind"] == "JobSet":
        roles = {name: role for role, name in REPLICATED_JOBS.items()}
        for index, replicated in enumerate(_items(_at(body, ("spec", "replicatedJobs")))):
            role = roles.get(str(_at(replicated, ("name",))), "worker")
            path: Path = ("spec", "replicatedJobs", index, "template", "spec")
            yield path, role, _at(body, path)
    else:
        path = ("spec",) if body["kind"] == "Job" else ("spec", "jobTemplate", "spec")
        yield path, "worker", _at(body, path)


def _check_shape(template: str, body: dict[str, Any], templates: Templates) -> None:
    """Refuse a manifest without what the rest of this module works on; schemas are the API server's business."""
    mappings: list[tuple[Path, bool]] = [(("metadata", "labels"), False)]
    texts: list[Path] = [("metadata", "name")]
    lists: list[Path] = []
    if body["kind"] == "JobSet":
        lists.append(("spec", "replicatedJobs"))
        texts += [(*path[:3], "name") for path, _, _ in _job_specs(body)]
    for path, _, _ in _job_specs(body):
        mappings += [
            ((*path, "template", "metadata"), True),
            ((*path, "template", "metadata", "annotations"), False),
            ((*path, "template", "spec"), True),
            ((*path, "template", "spec", "affinity"), False),
        ]
        lists.append((*path, "template", "spec", "containers"))
    for where in texts:
        if not isinstance(_at(body, where), str):
            raise templates.refuse(template, f"{path_text(where)} of the {body['kind']} is no text")
    for where, required in mappings:
        value = _at(body, where)
        if not isinstance(value, dict) and (required or value is not None):
            what = "is no mapping" if value is not None else "is missing"
            raise templates.refuse(template, f"{path_text(where)} of the {body['kind']} {what}")
    for where in lists:
        value = _at(body, where)
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            raise templates.refuse(
                template, f"{path_text(where)} of the {body['kind']} is no list of mappings"
            )


def _at(body: Any, path: Path) -> Any:
    """The value at `path`, None where the path does not lead anywhere."""
    for step in path:
        if isinstance(body, dict):
            body = body.get(step)
        elif isinstance(body, list) and isinstance(step, int) and step < len(body):
            body = body[step]
        else:
            return None
    return body


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _reasons(
    plan: Plan, job: PlannedJob, pods: dict[str, PodValues], body: dict[str, Any]
) -> dict[Path, Because]:
    """The reasons for the fields that follow from the profile, and for some that the template may not have."""
    reasons = dict(_job_reasons(plan, job, body))
    for path, role, spec in _job_specs(body):
        for inside, because in _spec_reasons(job, body["kind"], role):
            reasons[*path, *inside] = because
        pod = pods[role if role in pods else "worker"]
        for inside, because in pod.reasons.items():
            reasons[*path, "template", *inside] = because
        for inside, because in _content_reasons(job, pod, spec["template"]["spec"]):
            reasons[*path, "template", "spec", *inside] = because
    return reasons


def _job_reasons(plan: Plan, job: PlannedJob, body: dict[str, Any]) -> Iterator[tuple[Path, Because]]:
    """Reasons for what stands around the Job specs."""
    at = job.at
    inner: Path = ("spec", "jobTemplate") if body["kind"] == "CronJob" else ()
    yield ("metadata", "namespace"), _namespace_because(plan, job)
    if job.queue is not None:
        queue = Because(
            f"the job waits in queue {job.queue}; Kueue looks for this label on the Job or JobSet, not on its pods",
            ((*at, "queue"),),
        )
        yield (*inner, "metadata", "labels", QUEUE), queue
        yield (
            (*inner, "spec", "suspend"),
            Because(f"Kueue lifts this when queue {job.queue} admits the job", ((*at, "queue"),)),
        )
        yield (
            (*inner, "metadata", "labels", PRIORITY_CLASS),
            Because(
                f"the queue orders its jobs by the tiers that pods have too: {job.tier}", ((*at, "tier"),)
            ),
        )
    yield ("spec", "schedule"), Because("the profile's schedule", ((*at, "schedule"),))
    retries = Because(
        f"the JobSet starts again up to {job.source.retries} times; restarts after evictions do not count",
        ((*at, "retries"),),
    )
    yield ("spec", "failurePolicy", "maxRestarts"), retries
    yield ("spec", "ttlSecondsAfterFinished"), _kept_because(job)


def _spec_reasons(job: PlannedJob, kind: str, role: str) -> Iterator[tuple[Path, Because]]:
    """Reasons inside a Job spec."""
    at, source = job.at, job.source
    anew = ", and anew after each restart of the JobSet" if kind == "JobSet" else ""
    yield (
        ("activeDeadlineSeconds",),
        Because(
            f"the Job ends {source.deadline} s after its start{anew}; on the pod a deadline would only replace pods",
            ((*at, "deadline"),),
        ),
    )
    if kind == "JobSet":
        yield (
            ("backoffLimit",),
            Because(
                "the first failed pod restarts the whole JobSet, which counts the retries",
                ((*at, "retries"),),
            ),
        )
    else:
        yield (
            ("backoffLimit",),
            Because(
                f"{source.retries} failed pods are replaced; evictions do not count", ((*at, "retries"),)
            ),
        )
    yield (
        ("backoffLimitPerIndex",),
        Because(
            f"{source.retries} failed pods of an index are replaced; evictions do not count",
            ((*at, "retries"),),
        ),
    )
    yield (
        ("maxFailedIndexes",),
        Because("the most that the API takes beyond 100000 indexes", ((*at, "completions"),)),
    )
    yield ("ttlSecondsAfterFinished",), _kept_because(job)
    if role == "master":
        for key in ("parallelism", "completions"):
            yield (key,), Because("there is one master", ((*at, "template"),))
        return
    yield ("parallelism",), Because(f"{source.workers} pods side by side", ((*at, "workers"),))
    if source.completions is not None and kind != "JobSet":
        yield ("completions",), Because(f"{source.completions} pods in all", ((*at, "completions"),))
    else:
        yield ("completions",), Because(f"{source.workers} pods in all", ((*at, "workers"),))


def _content_reasons(job: PlannedJob, pod: PodValues, spec: dict[str, Any]) -> Iterator[tuple[Path, Because]]:
    """Reasons for the contents of a pod: container, environment, volumes."""
    at, source = job.at, job.source
    group = next(group for group in job.pod_groups if group.role == pod.role)
    container: Path = ("containers", 0)
    yield (*container, "image"), Because("the profile's image", ((*at, "image"),))
    for key in ("command", "args"):
        if getattr(source, key):
            yield (*container, key), Because(f"the profile's {key}", ((*at, key),))
        else:
            yield (*container, key), Because(f"what template {source.template} runs", ((*at, "template"),))
    for index, variable in enumerate(_items(_at(spec, (*container, "env")))):
        name = _at(variable, ("name",))
        if not isinstance(name, str):
            continue
        if name in source.env:
            yield (*container, "env", index), Because("the profile's variable", ((*at, "env", name),))
        elif name in pod.values["env"]:
            yield (*container, "env", index), environment_because(job, group, name)
    for index, volume in enumerate(_items(_at(spec, ("volumes",)))):
        claim = _at(volume, ("persistentVolumeClaim", "claimName"))
        if _at(volume, ("emptyDir", "medium")) == "Memory":
            yield ("volumes", index), shared_memory_because(job, group)
        elif claim is not None and claim == source.volumes.data:
            yield ("volumes", index), Because("input data, read-only", ((*at, "volumes", "data"),))
        elif claim is not None and claim == source.volumes.output:
            yield ("volumes", index), Because("output", ((*at, "volumes", "output"),))


def _kept_because(job: PlannedJob) -> Because:
    return Because(
        f"removed {job.source.keep_finished} s after it finished; its resources are free at once",
        ((*job.at, "keepFinished"),),
    )


def _namespace_because(plan: Plan, job: PlannedJob) -> Because:
    if job.source.namespace is not None:
        return Because("the profile's namespace", ((*job.at, "namespace"),))
    for queue in plan.queues:
        if queue.name == job.queue:
            return Because(f"the first namespace of queue {queue.name}", ((*queue.at, "namespaces", 0),))
    return Because("the job states neither namespace nor queue", (job.at,))
