"""Workloads from Kubernetes objects: what `kubectl get pods,jobs,nodes -o json` prints, or manifests.

    reading = read_objects(["cluster.json", "jobs/eval.yaml"])

- A pod is a submission of its own; the pods of a JobSet are one, a gang. Pods arrive when they were created; how long
  those ran that have ended is known, the others stay. Bound ones are placed anew.
- Pods that belong to their node (of a DaemonSet, or static) stay there: `Reading.cluster` has them.
- A Job, CronJob or JobSet counts where none of its pods is among the objects, with the pods that it runs side by side;
  a CronJob once. It runs as long as its status says, else to its deadline.
- Jobs wait in the cluster queue of the local queue that their label names, or in the queue of that name where no
  local queue is among the objects.
- Volume claims are taken to be bound and to be reachable from every node, which a note says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from ...errors import BinpackgenError
from ...finding import Severity
from ...profile.codes import (
    ASSUMED,
    BAD_ROW,
    DUPLICATE_NAME,
    FITS_NOWHERE,
    NO_NODES,
    NO_PODS,
    UNKNOWN_REFERENCE,
    UNMODELED,
)
from ..cycle import scheduler_order
from ..model import ClusterState, Node, PodShape, UnmodeledError
from ..objects import label_selector, read_node, read_pod
from .documents import Placed, read_documents
from .fitting import homeless
from .model import Submission, Workload
from .reading import Findings, Reading
from .templates import JOBSET_NAME, claims, selectors, settled, templates, without_claims

Object = Mapping[str, Any]

APP = "app.kubernetes.io/name"
QUEUE = "kueue.x-k8s.io/queue-name"
WORKLOAD_PRIORITY = "kueue.x-k8s.io/priority-class"

_JOBS = ("Job", "CronJob", "JobSet")
_OWNERS = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
_OF_NODE = ("DaemonSet", "Node")

#: Pods of one job: kubernetes' limit on the parallelism of indexed jobs.
MOST_PODS = 100_000

T = TypeVar("T")
N = TypeVar("N", PodShape, Node)


class _Class(NamedTuple):
    """A PriorityClass."""

    priority: int
    preempts: bool


#: Classes that every cluster has: k8s.io/kubernetes v1.37.2, pkg/apis/scheduling/types.go and helpers.go.
_SYSTEM = {
    "system-cluster-critical": _Class(2_000_000_000, True),
    "system-node-critical": _Class(2_000_001_000, True),
}


def read_objects(files: Sequence[str], *, stdin: bytes | None = None, needs_nodes: bool = False) -> Reading:
    """A workload from all objects of all files together; `-` is `stdin`.

    Raises FindingsError with everything that is wrong in them; `needs_nodes` makes it wrong to have no node.
    """
    findings = Findings()
    objects = [placed for file in files for placed in read_documents(file, stdin, findings)]
    reader = _Reader(objects, findings)
    nodes = reader.nodes()
    if needs_nodes and not nodes:
        findings.add(NO_NODES, files[0], 1, "there is no node among the objects, so nothing can be placed")
    jobs = reader.jobs()
    findings.raise_blocking()
    if not jobs:
        findings.add(NO_PODS, files[0], 1, "there is no pod and no job among the objects")
    shapes, first, of_pod = _interned(
        reader.pods, _selected_keys(reader), has_images=any(n.images for n in nodes)
    )
    for shape in homeless(shapes, nodes) if nodes else ():
        placed = first[shape]
        message = f"pods as those of {placed.name} fit on no node"
        findings.add(FITS_NOWHERE, placed.file, placed.line, message, severity=Severity.WARNING)
    zero = min((job.created for job in jobs if job.created is not None), default=0.0)
    submissions = [job.submission(of_pod, zero) for job in jobs]
    workload = Workload(
        source=", ".join(files),
        shapes=tuple(shapes),
        submissions=tuple(sorted(submissions, key=lambda submission: submission.arrives)),
        nodes=tuple(nodes),
    )
    return findings.result(workload, reader.cluster(nodes))


class _Job(NamedTuple):
    """A submission to be: pods are indexes of what has been read, `created` is in seconds since 1970 where known."""

    name: str
    kind: str
    pods: tuple[int, ...]
    created: float | None
    runs: float | None
    gang: bool
    rank: _Class
    queue: str | None

    def submission(self, shapes: Sequence[int], zero: float) -> Submission:
        arrives = 0.0 if self.created is None else self.created - zero
        of_pods = tuple(shapes[pod] for pod in self.pods)
        return Submission(
            self.name,
            self.kind,
            of_pods,
            arrives,
            self.runs,
            self.gang,
            self.rank.priority,
            self.rank.preempts,
            self.queue,
        )


class _Reader:
    """All objects of all files. `pods` are the shapes read, each with the object that it is from."""

    def __init__(self, objects: Iterable[Placed], findings: Findings) -> None:
        self._findings = findings
        self._by_kind: dict[str, list[Placed]] = {}
        for placed in objects:
            self._by_kind.setdefault(placed.item["kind"], []).append(placed)
        self.owners = [placed.item for kind in _OWNERS for placed in self.of_kind(kind)]
        self._classes = dict(_SYSTEM)
        self._default = _Class(0, True)
        self._queue_ranks: dict[str, int] = {}
        for placed in (*self.of_kind("PriorityClass"), *self.of_kind("WorkloadPriorityClass")):
            self._read(placed, self._rank)
        self._local: dict[tuple[str, str], str] = {}
        for placed in self.of_kind("LocalQueue"):
            self._read(placed, self._local_queue)
        self.pods: list[tuple[PodShape, Placed]] = []
        self._fixed: list[tuple[PodShape, str]] = []
        self._told_claims: set[str] = set()
        self._seen: dict[tuple[str, str, str], Placed] = {}
        self._labels: dict[tuple[str, str, str], Mapping[str, str]] = {}

    def of_kind(self, kind: str) -> Sequence[Placed]:
        """The objects of one kind."""
        return self._by_kind.get(kind, ())

    def nodes(self) -> list[Node]:
        """The nodes in the scheduler's order."""
        read = (
            self._read(placed, lambda placed: self._once(placed) and _lawful(read_node(placed.item)))
            for placed in self.of_kind("Node")
        )
        return scheduler_order(node for node in read if node)

    def cluster(self, nodes: Sequence[Node]) -> ClusterState | None:
        """The nodes with the pods that belong to them; None without such pods."""
        state = ClusterState(nodes)
        fixed = [(shape, state.index[node]) for shape, node in self._fixed if node in state.index]
        for shape, index in fixed:
            state.bind(shape, index)
        return state if fixed else None

    def jobs(self) -> list[_Job]:
        """Pods and what makes pods."""
        for kind in _JOBS:
            for placed in self.of_kind(kind):
                self._read(placed, self._remember_labels)
        owned: set[tuple[str, str, str]] = set()
        members: dict[tuple[str, str], list[_Job]] = {}
        found: list[_Job] = []
        for placed in self.of_kind("Pod"):
            job = self._read(placed, self._pod)
            if job is None:
                continue
            namespace, labels = _namespace(placed.item), placed.item["metadata"].get("labels") or {}
            owned.update(_controllers(placed.item))
            if JOBSET_NAME in labels:
                members.setdefault((namespace, labels[JOBSET_NAME]), []).append(job)
            else:
                found.append(job)
        found += [_gang(namespace, name, jobs) for (namespace, name), jobs in members.items()]
        owned.update(("JobSet", *key) for key in members)
        jobsets = {
            ("JobSet", _namespace(placed.item), _name(placed.item)) for placed in self.of_kind("JobSet")
        }
        for placed in self.of_kind("Job"):
            parents = set(self._read(placed, lambda placed: _controllers(placed.item)) or ())
            own = ("Job", _namespace(placed.item), _name(placed.item))
            if own not in owned and not parents & jobsets:
                found += filter(None, [self._read(placed, self._job)])
            owned |= parents - jobsets
        for kind in ("CronJob", "JobSet"):
            for placed in self.of_kind(kind):
                if (kind, _namespace(placed.item), _name(placed.item)) not in owned:
                    found += filter(None, [self._read(placed, self._job)])
        return found

    # ---- single objects

    def _read(self, placed: Placed, read: Callable[[Placed], T]) -> T | None:
        """What `read` makes of an object; None, with a finding, if it cannot."""
        try:
            return read(placed)
        except UnmodeledError as error:
            message = f"{placed.name}: the simulation does not model {', '.join(error.features)}"
            self._findings.add(UNMODELED, placed.file, placed.line, message)
        except KeyError as error:
            self._findings.add(BAD_ROW, placed.file, placed.line, f"{placed.name} has no {error.args[0]}")
        except (BinpackgenError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
            message = f"{placed.name} is not in the form of its kind: {error}"
            self._findings.add(BAD_ROW, placed.file, placed.line, message)
        return None

    def _once(self, placed: Placed) -> bool:
        key = (placed.item["kind"], _namespace(placed.item), _name(placed.item))
        first = self._seen.setdefault(key, placed)
        if first is not placed and key[2]:
            message = f"{placed.name} stands in {first.file}:{first.line} already"
            self._findings.add(DUPLICATE_NAME, placed.file, placed.line, message)
            return False
        return True

    def _rank(self, placed: Placed) -> None:
        item = placed.item
        value = int(item["value"])
        if item["kind"] == "WorkloadPriorityClass":
            self._queue_ranks[_name(item)] = value
            return
        rank = _Class(value, item.get("preemptionPolicy") != "Never")
        self._classes[_name(item)] = rank
        if item.get("globalDefault"):
            self._default = rank

    def _local_queue(self, placed: Placed) -> None:
        self._local[_namespace(placed.item), _name(placed.item)] = placed.item["spec"]["clusterQueue"]

    def _remember_labels(self, placed: Placed) -> None:
        key = (placed.item["kind"], _namespace(placed.item), _name(placed.item))
        self._labels[key] = placed.item["metadata"].get("labels") or {}

    def _pod(self, placed: Placed) -> _Job | None:
        item = placed.item
        metadata, spec, status = item["metadata"], item["spec"], item.get("status") or {}
        if not self._once(placed) or metadata.get("deletionTimestamp"):
            return None
        start, end = _span(status)
        if end is None and status.get("phase") in ("Succeeded", "Failed"):
            return None
        owners = tuple(_controllers(item))
        if any(kind in _OF_NODE for kind, _, _ in owners):
            if end is None:
                self._stay(item)
            return None
        self._tell_claims(placed, spec)
        free = {key: value for key, value in spec.items() if key != "nodeName"}
        shape = settled(
            read_pod({"kind": "Pod", "metadata": metadata, "spec": without_claims(free)}, self.owners)
        )
        self.pods.append((_lawful(shape), placed))
        labels = metadata.get("labels") or {}
        queue_labels = [labels, *(self._labels.get(owner, {}) for owner in owners)]
        queue_labels.append(self._labels.get(("JobSet", _namespace(item), labels.get(JOBSET_NAME, "")), {}))
        created = _seconds(metadata.get("creationTimestamp"))
        return _Job(
            name=f"{_namespace(item)}/{_name(item)}",
            kind=labels.get(APP) or _size(shape),
            pods=(len(self.pods) - 1,),
            created=created,
            runs=None if start is None or end is None else max(end - start, 0.0),
            gang=False,
            rank=self._rank_of(placed, spec),
            queue=next(filter(None, (self._queue(item, one) for one in queue_labels)), None),
        )

    def _stay(self, item: Object) -> None:
        """A pod that belongs to its node."""
        spec = item["spec"]
        node = spec.get("nodeName") or _meant_node(spec)
        if node:
            self._fixed.append((read_pod({**item, "spec": {**spec, "nodeName": node}}), node))

    def _job(self, placed: Placed) -> _Job | None:
        item = placed.item
        metadata = item["metadata"]
        if not self._once(placed) or metadata.get("deletionTimestamp"):
            return None
        made = list(templates(item))
        count = sum(template.pods for template in made)
        if not 0 <= count <= MOST_PODS or any(template.pods < 0 for template in made):
            raise ValueError(f"{count:,} pods side by side, where a job may have {MOST_PODS:,}")
        if not count:
            return None
        first = len(self.pods)
        for template, spec in zip(made, _pod_specs(item), strict=True):
            self._tell_claims(placed, spec)
            self.pods += [(_lawful(template.shape), placed)] * template.pods
        labels = metadata.get("labels") or {}
        if item["kind"] == "CronJob":
            labels = {**labels, **((item["spec"]["jobTemplate"].get("metadata") or {}).get("labels") or {})}
        start, end = _span(item.get("status") or {})
        deadlines = [template.deadline for template in made if template.deadline is not None]
        runs = max(deadlines, default=None) if start is None or end is None else max(end - start, 0.0)
        ranks = [self._rank_of(placed, spec) for spec in _pod_specs(item)]
        rank = max(ranks, key=lambda one: one.priority)
        queue = self._queue(item, labels)
        stated = labels.get(WORKLOAD_PRIORITY)
        if queue is not None and stated in self._queue_ranks and self._queue_ranks[stated] != rank.priority:
            raise UnmodeledError(placed.name, ["another priority in the queue than on the nodes"])
        return _Job(
            name=f"{_namespace(item)}/{_name(item)}",
            kind=labels.get(APP) or _name(item),
            pods=tuple(range(first, len(self.pods))),
            created=_seconds(metadata.get("creationTimestamp")),
            runs=None if runs is None else float(runs),
            gang=item["kind"] == "JobSet",
            rank=rank,
            queue=queue,
        )

    def _rank_of(self, placed: Placed, spec: Object) -> _Class:
        """The priority of a pod, and whether it evicts others for it."""
        name = spec.get("priorityClassName")
        if spec.get("priority") is not None:
            return _Class(int(spec["priority"]), spec.get("preemptionPolicy") != "Never")
        if not name:
            return self._default
        if name not in self._classes:
            message = f"{placed.name} has priority class {name}, which is not among the objects"
            self._findings.add(
                UNKNOWN_REFERENCE, placed.file, placed.line, message, "give the PriorityClass objects as well"
            )
        return self._classes.get(name, self._default)

    def _queue(self, item: Object, labels: Mapping[str, str]) -> str | None:
        """The cluster queue of a job's label."""
        name = labels.get(QUEUE)
        if not name or not self._local:
            return name or None
        found = self._local.get((_namespace(item), name))
        if found is None:
            raise ValueError(f"namespace {_namespace(item)} has no local queue {name}")
        return found

    def _tell_claims(self, placed: Placed, spec: Object) -> None:
        for claim in claims(spec):
            if claim not in self._told_claims:
                self._told_claims.add(claim)
                message = f"claim {claim} is taken to be bound and to be reachable from every node"
                self._findings.add(ASSUMED, placed.file, placed.line, message, severity=Severity.NOTE)


def _gang(namespace: str, name: str, pods: Sequence[_Job]) -> _Job:
    """The pods of a JobSet: together from the first creation, as long as the longest of them."""
    first = pods[0]
    created = [pod.created for pod in pods if pod.created is not None]
    runs = [pod.runs for pod in pods if pod.runs is not None]
    return first._replace(
        name=f"{namespace}/{name}",
        pods=tuple(one for pod in pods for one in pod.pods),
        created=min(created, default=None),
        runs=max(runs) if len(runs) == len(pods) else None,
        gang=True,
    )


def _namespace(item: Object) -> str:
    return str((item.get("metadata") or {}).get("namespace") or "default")


def _name(item: Object) -> str:
    return str((item.get("metadata") or {}).get("name") or "")


def _lawful(item: N) -> N:
    """A pod or a node as it is. Raises ValueError for an amount below zero."""
    amounts = item.requests if isinstance(item, PodShape) else item.allocatable
    negative = [f"{name} {amount}" for name, amount in amounts.items() if amount < 0]
    if negative:
        raise ValueError(f"{', '.join(negative)}: an amount is not negative")
    return item


def _controllers(item: Object) -> Iterator[tuple[str, str, str]]:
    for reference in item["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            yield reference["kind"], _namespace(item), reference["name"]


def _pod_specs(item: Object) -> Iterator[Object]:
    """The pod specs of a job, in the order of `templates`."""
    spec = item["spec"]
    if item["kind"] == "JobSet":
        for replicated in spec["replicatedJobs"]:
            yield replicated["template"]["spec"]["template"]["spec"]
    elif item["kind"] == "CronJob":
        yield spec["jobTemplate"]["spec"]["template"]["spec"]
    else:
        yield spec["template"]["spec"]


def _meant_node(spec: Object) -> str | None:
    """The node that a DaemonSet's pod is made for."""
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return None


def _span(status: Object) -> tuple[float | None, float | None]:
    """When a pod or job started, and when it ended."""
    start = _seconds(status.get("startTime"))
    ends = [_seconds(status.get("completionTime"))]
    if status.get("phase") in ("Succeeded", "Failed"):
        states = (one.get("state") or {} for one in status.get("containerStatuses") or ())
        ends += [_seconds((state.get("terminated") or {}).get("finishedAt")) for state in states]
    return start, max((end for end in ends if end is not None), default=None)


def _seconds(value: Any) -> float | None:
    """A time of an object in seconds since 1970. Raises ValueError."""
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _size(shape: PodShape) -> str:
    gpus = sum(amount for name, amount in shape.requests.items() if "gpu" in name)
    if not gpus:
        return "CPU"
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


def _selected_keys(reader: _Reader) -> set[str]:
    """The keys of pod labels that anything selects by."""
    keys = {one.key for shape, _ in reader.pods for selector in selectors(shape) for one in selector or ()}
    for placed in reader.of_kind("PodDisruptionBudget"):
        selector = label_selector((placed.item.get("spec") or {}).get("selector"))
        keys |= {one.key for one in selector or ()}
    return keys


def _interned(
    pods: Sequence[tuple[PodShape, Placed]], keys: set[str], *, has_images: bool
) -> tuple[list[PodShape], list[Placed], list[int]]:
    """Equal pods share a shape: the shapes, where each was met first, and the shape of each pod.

    Labels that nothing selects, namespaces that no label counts in, and images that no node has are no difference.
    """
    shapes: list[PodShape] = []
    first: list[Placed] = []
    index: dict[object, int] = {}
    of_object: dict[int, int] = {}
    of_pod: list[int] = []
    for shape, placed in pods:
        found = of_object.get(id(shape))
        if found is None:
            labels = {key: value for key, value in shape.labels.items() if key in keys}
            reduced = replace(
                shape,
                labels=labels,
                namespace=shape.namespace if labels or keys else "default",
                images=shape.images if has_images else (),
            )
            found = index.setdefault(_identity(reduced), len(shapes))
            of_object[id(shape)] = found
            if found == len(shapes):
                shapes.append(reduced)
                first.append(placed)
        of_pod.append(found)
    return shapes, first, of_pod


def _identity(shape: PodShape) -> object:
    """What makes shapes equal to the scheduler: everything but the name."""
    values = (getattr(shape, name) for name in shape.__dataclass_fields__ if name != "name")
    return tuple(frozenset(value.items()) if isinstance(value, Mapping) else value for value in values)
