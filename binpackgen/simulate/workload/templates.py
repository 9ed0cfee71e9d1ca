"""The pods that Job, CronJob and JobSet manifests make, as the scheduler sees them.

Sources: JobSet v0.11.1, pkg/controllers (labels of pods, the Service in front of them); kubernetes v1.37.2,
pkg/controller/job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..matching import Requirement, Selector
from ..model import PodShape, PodTerm, PreferredPods, UnmodeledError
from ..objects import read_pod

Object = Mapping[str, Any]

JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_NAME = "batch.kubernetes.io/job-name"
#: Labels by which the pods of one template differ; a shape has none of them.
_OF_ONE_POD = frozenset(
    {
        "batch.kubernetes.io/job-completion-index",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-global-index",
        "jobset.sigs.k8s.io/job-group-index",
        "jobset.sigs.k8s.io/job-key",
        "apps.kubernetes.io/pod-index",
    }
)

#: A spread that no cluster can exceed: kubernetes' maxSkew is an int32.
_ENDLESS_SKEW = 2**31 - 1

_CLAIM = "persistentVolumeClaim"


class Template(NamedTuple):
    """`pods` equal pods: what the scheduler sees of each, and the deadline in seconds of the Job that makes them."""

    shape: PodShape
    pods: int
    priority_class: str | None
    deadline: float | None


def templates(manifest: Object) -> Iterator[Template]:
    """The pods of a Job, a CronJob's Job or a JobSet, in the order in which they are made.

    Raises UnmodeledError; KeyError, TypeError and ValueError for what the API server would reject.
    """
    metadata = manifest["metadata"]
    name, namespace = str(metadata.get("name", "")), metadata.get("namespace") or "default"
    spec = manifest["spec"]
    if manifest["kind"] == "JobSet":
        for replicated in spec["replicatedJobs"]:
            own = {JOBSET_NAME: name, REPLICATED_JOB: str(replicated["name"])}
            owners = [_service(name, namespace)] if _has_service(spec) else []
            job = replicated["template"]["spec"]
            yield _template(
                f"{name}-{replicated['name']}", namespace, job, own, owners, replicated.get("replicas", 1)
            )
    elif manifest["kind"] == "CronJob":
        yield _template(name, namespace, spec["jobTemplate"]["spec"], {JOB_NAME: name}, (), 1)
    else:
        yield _template(name, namespace, spec, {JOB_NAME: name}, (), 1)


def _template(
    name: str, namespace: str, job: Object, own: Mapping[str, str], owners: Iterable[Object], replicas: int
) -> Template:
    pod = job["template"]
    labels = {**((pod.get("metadata") or {}).get("labels") or {}), **own}
    item = {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": without_claims(pod["spec"]),
    }
    side_by_side = job.get("parallelism", 1)
    completions = job.get("completions")
    count = side_by_side if completions is None else min(side_by_side, completions)
    return Template(
        settled(read_pod(item, owners)),
        int(count) * int(replicas),
        pod["spec"].get("priorityClassName"),
        job.get("activeDeadlineSeconds"),
    )


def _has_service(spec: Object) -> bool:
    return (spec.get("network") or {}).get("enableDNSHostnames") is not False


def _service(jobset: str, namespace: str) -> Object:
    return {
        "kind": "Service",
        "metadata": {"name": jobset, "namespace": namespace},
        "spec": {"selector": {JOBSET_NAME: jobset}},
    }


def claims(spec: Object) -> list[str]:
    """The volume claims of a pod."""
    return [volume[_CLAIM]["claimName"] for volume in spec.get("volumes") or () if volume.get(_CLAIM)]


def without_claims(spec: Object) -> Object:
    """A pod spec whose claims are bound and can be reached from every node: they decide nothing."""
    if not claims(spec):
        return spec
    return {**spec, "volumes": [volume for volume in spec["volumes"] if not volume.get(_CLAIM)]}


def settled(shape: PodShape) -> PodShape:
    """The same to the scheduler, without constraints that can never be violated, so that they cost nothing.

    A pod with a constraint of its own gets no default ones. What is left of an endless maxSkew is that nodes have
    the topology key. Raises UnmodeledError for terms on labels by which the pods of one template differ.
    """
    keys = {r.key for selector in selectors(shape) for r in selector or ()}
    refused = sorted(keys & _OF_ONE_POD)
    if refused:
        raise UnmodeledError(shape.name, [f"terms on label {key}" for key in refused])
    idle = [c for c in shape.spread if c.hard and c.max_skew >= _ENDLESS_SKEW]
    if not idle:
        return shape
    rest = tuple(constraint for constraint in shape.spread if constraint not in idle)
    needed = tuple(Requirement(constraint.topology_key, "Exists") for constraint in idle)
    return replace(
        shape,
        spread=rest,
        node_selector=tuple(dict.fromkeys((*shape.node_selector, *needed))),
        owner_selector=shape.owner_selector if rest else None,
    )


def of_instance(shape: PodShape, instance: str) -> PodShape:
    """The shape in another JobSet of the same manifest, whose name its pods and their terms have in place of the old one."""
    old = shape.labels.get(JOBSET_NAME)
    is_alone = not shape.has_pod_terms and not shape.spread and shape.owner_selector is None
    if old is None or is_alone:
        return shape

    def renamed(selector: Selector | None) -> Selector | None:
        if selector is None:
            return None
        return tuple(
            replace(one, values=tuple(instance if value == old else value for value in one.values))
            if one.key == JOBSET_NAME
            else one
            for one in selector
        )

    def term(one: PodTerm) -> PodTerm:
        return replace(one, selector=renamed(one.selector))

    return replace(
        shape,
        labels={**shape.labels, JOBSET_NAME: instance},
        spread=tuple(replace(one, selector=renamed(one.selector)) for one in shape.spread),
        owner_selector=renamed(shape.owner_selector),
        required_pods=tuple(map(term, shape.required_pods)),
        required_anti=tuple(map(term, shape.required_anti)),
        preferred_pods=tuple(PreferredPods(one.weight, term(one.term)) for one in shape.preferred_pods),
    )


def selectors(shape: PodShape) -> Iterator[Selector | None]:
    """Everything by which a pod looks at the labels of pods."""
    yield from (constraint.selector for constraint in shape.spread)
    yield from (term.selector for term in (*shape.required_pods, *shape.required_anti))
    yield from (preferred.term.selector for preferred in shape.preferred_pods)
    yield shape.owner_selector
