"""Lists in the form of the Alibaba GPU trace of 2023 ("openb"): one of pods, one of nodes, as CSV or gzip.

    reading = read_openb("openb_pod_list_default.csv.gz", "openb_node_list_gpu_node.csv", fractions="drop")

Pods: name, cpu_milli, memory_mib, num_gpu, gpu_milli, and optionally gpu_spec (models joined by |), creation_time,
deletion_time, scheduled_time in seconds. Nodes: sn, cpu_milli, memory_mib, gpu, model. Columns may stand in any order
and others beside them. Source: github.com/hkust-adsl/kubernetes-scheduler-simulator, data/csv.

A stock scheduler hands out whole devices. Pods that ask for a share of one are left out or get a whole one; sharing a
device is beyond it and not in this reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ...finding import Severity
from ...profile.codes import BAD_ROW, DUPLICATE_NAME, FITS_NOWHERE, NO_NODES, NO_PODS, UNKNOWN_GPU_TYPE
from ..cycle import scheduler_order
from ..matching import Requirement
from ..model import HOSTNAME, Node, PodShape, requests_of
from .fitting import homeless
from .model import Submission, Workload
from .reading import Findings, Reading
from .rows import Rows, without_collection

#: The resource that stands for whole devices, and the label that holds a node's model.
GPU = "nvidia.com/gpu"
MODEL = "binpackgen.dev/gpu-type"

#: Pods that a node takes; the lists do not say. As in the recorded runs of a real scheduler on them.
PODS_PER_NODE = 250

MIB = 1024 * 1024

#: Thousandths of a device that are all of it.
WHOLE = 1000

_MOST_SECONDS = 1e11
#: Beyond these no machine and no trace is: ten thousand cores, a PiB, a thousand devices, three thousand years.
_MOST: Mapping[str, float] = {
    "cpu_milli": 10_000_000,
    "memory_mib": 2**30,
    "num_gpu": 1024,
    "gpu": 1024,
    "gpu_milli": WHOLE,
    "creation_time": _MOST_SECONDS,
    "deletion_time": _MOST_SECONDS,
    "scheduled_time": _MOST_SECONDS,
}
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_TIMES = ("creation_time", "deletion_time", "scheduled_time")
_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")

#: Rows without a shape: of another view, and wrong ones.
_LEFT_OUT, _WRONG = -1, -2

#: Whether pods that ask for a share of a device are left out or get a whole one.
Fractions = Literal["drop", "round-up"]


def read_openb(
    pods: str,
    nodes: str | None = None,
    *,
    fractions: Fractions = "drop",
    stdin: bytes | None = None,
) -> Reading:
    """A workload from a list of pods and one of nodes; `-` is `stdin`.

    Pods arrive at their creation, counted from the first one, and run from when they were scheduled to their deletion;
    in lists without times all arrive at once and stay. Raises FindingsError with everything that is wrong in both.
    """
    findings = Findings()
    there = _read_nodes(nodes, stdin, findings) if nodes is not None else []
    models = {node.labels[MODEL] for node in there if MODEL in node.labels} if there else None
    with Rows(pods, stdin, findings, _POD_COLUMNS, _TIMES) as rows:
        reader = _Pods(rows, findings, fractions, models)
        if rows.is_good:
            with without_collection():
                reader.read()
            if not reader.submissions and not findings.all():
                findings.add(NO_PODS, pods, 1, f"the list has no pods in this view ({_VIEWS[fractions]})")
    findings.raise_blocking()
    for shape in homeless(reader.shapes, there) if there else ():
        count, line = reader.counts[shape], reader.first_lines[shape]
        size = _size(reader.shapes[shape])
        message = f"a pod of {size} fits on no node"
        if count > 1:
            message = f"{count:,} pods of {size} fit on no node; this is the first"
        findings.add(FITS_NOWHERE, pods, line, message, severity=Severity.WARNING)
    return findings.result(
        Workload(
            source=f"{Path(pods).name}, {_VIEWS[fractions]}",
            shapes=tuple(reader.shapes),
            submissions=tuple(reader.submissions),
            nodes=tuple(scheduler_order(there)),
        )
    )


_VIEWS = {
    "drop": "CPU and whole-GPU pods",
    "round-up": "shares of a GPU rounded up to a whole one",
}


def _size(shape: PodShape) -> str:
    requests = shape.requests
    gpus = requests.get(GPU, 0)
    devices = f", {gpus} GPU{'s' if gpus > 1 else ''}" if gpus else ""
    models = {value for term in shape.required_nodes or () for one in term for value in one.values}
    kind = f" of {' or '.join(sorted(models))}" if models else ""
    return f"{requests['cpu'] / 1000:g} cores, {requests['memory'] // MIB} MiB{devices}{kind}"


class _Pods:
    """Builds shapes and submissions; `models` are those of the nodes, None if there is no list of nodes."""

    def __init__(self, rows: Rows, findings: Findings, fractions: Fractions, models: set[str] | None) -> None:
        self._rows = rows
        self._findings = findings
        self._fractions = fractions
        self._models = models
        self.shapes: list[PodShape] = []
        self.submissions: list[Submission] = []
        #: By shape: the line of its first pod, and how many there are.
        self.first_lines: list[int] = []
        self.counts: list[int] = []
        self._index: dict[PodKey, int] = {}
        self._kinds: list[str] = []

    def read(self) -> None:
        """All rows; submissions are in the order of their arrival, which is counted from the first one."""
        rows, counts = self._rows, self.counts
        name_at, a, b, c, d = (rows.columns[key] for key in _POD_COLUMNS)
        models_at = rows.columns.get("gpu_spec", len(rows.columns))
        times_at = [rows.columns[key] for key in _TIMES if key in rows.columns]
        lines: dict[str, int] = {}
        known: dict[tuple[str, ...], int] = {}
        names: list[str] = []
        shapes: list[int] = []
        created: list[float] = []
        runs: list[float | None] = []
        for line, row in rows:
            name = row[name_at]
            if lines.setdefault(name, line) != line:
                self._twice(name, line, lines[name])
            key = (row[a], row[b], row[c], row[d], *row[models_at : models_at + 1])
            shape = known.get(key, _WRONG)
            if shape == _WRONG:
                # what is wrong is told of every row
                shape = known[key] = self._shape(key, line)
            span = self._span([row[at] for at in times_at], line) if times_at else (0.0, None)
            if shape < 0 or span is None:
                continue
            counts[shape] += 1
            names.append(name)
            shapes.append(shape)
            created.append(span[0])
            runs.append(span[1])
        zero = min(created, default=0.0)
        alone = [(index,) for index in range(len(self.shapes))]
        kinds = self._kinds
        order = sorted(range(len(created)), key=created.__getitem__)
        self.submissions = [
            Submission(names[i], kinds[shapes[i]], alone[shapes[i]], created[i] - zero, runs[i])
            for i in order
        ]

    def _twice(self, name: str, line: int, first: int) -> None:
        self._findings.add(
            DUPLICATE_NAME,
            self._rows.file,
            line,
            f'pod "{name}" stands in line {first} already',
            "rename one of them",
        )

    def _span(self, texts: list[str], line: int) -> tuple[float, float | None] | None:
        """When a pod was created, and how long it ran."""
        try:
            created, deleted = float(texts[0]), float(texts[1])
            scheduled = float(texts[2]) if texts[2] else created
        except ValueError:
            created = deleted = scheduled = -1.0
        if 0.0 <= created <= scheduled <= deleted <= _MOST_SECONDS:
            return created, deleted - scheduled
        if self._rows.complain(
            line, dict(zip(_TIMES, texts, strict=True)), _MOST, may_lack={"scheduled_time"}
        ):
            return None
        message = (
            f"created at {texts[0]}, scheduled at {texts[2] or texts[0]}, deleted at {texts[1]}: out of order"
        )
        self._findings.add(BAD_ROW, self._rows.file, line, message)
        return None

    def _shape(self, key: tuple[str, ...], line: int) -> int:
        """The index of a row's shape; _LEFT_OUT or _WRONG."""
        texts = dict(zip(_POD_COLUMNS[1:], key, strict=False))
        if self._rows.complain(line, texts, _MOST):
            return _WRONG
        cpu, memory, gpus, milli = (int(text) for text in texts.values())
        models = tuple(sorted(set(filter(None, key[4].split("|"))))) if len(key) > 4 else ()
        problem = None
        if gpus > 1 and milli != WHOLE:
            problem = f"{gpus} devices of {milli} thousandths each: only a single device can be shared"
        elif gpus and not milli:
            problem = "a device of which 0 thousandths are asked for"
        if problem:
            self._findings.add(BAD_ROW, self._rows.file, line, problem)
            return _WRONG
        if self._models is not None and gpus and models and not self._models.intersection(models):
            offered = ", ".join(sorted(self._models)) or "no GPU"
            message = f"no node has a GPU of model {' or '.join(models)}; the nodes have {offered}"
            self._findings.add(UNKNOWN_GPU_TYPE, self._rows.file, line, message)
            return _WRONG
        if gpus == 1 and milli < WHOLE and self._fractions == "drop":
            return _LEFT_OUT
        return self._add((cpu, memory, gpus, models if gpus else ()), line)

    def _add(self, key: PodKey, line: int) -> int:
        index = self._index.setdefault(key, len(self.shapes))
        if index == len(self.shapes):
            cpu, memory, gpus, models = key
            container = {"cpu": cpu, "memory": memory * MIB} | ({GPU: gpus} if gpus else {})
            requests, scoring = requests_of([container])
            allowed = ((Requirement(MODEL, "In", models),),) if models else None
            name = "-".join([f"{cpu}m", f"{memory}Mi", f"{gpus}gpu", *models])
            self.shapes.append(PodShape(name, requests, scoring, required_nodes=allowed))
            self.first_lines.append(line)
            self.counts.append(0)
            self._kinds.append(_kind(gpus))
        return index


#: Cores in thousandths, MiB, devices, and the models that will do (none: all).
PodKey = tuple[int, int, int, tuple[str, ...]]


def _kind(gpus: int) -> str:
    if not gpus:
        return "CPU"
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


def _read_nodes(file: str, stdin: bytes | None, findings: Findings) -> list[Node]:
    nodes: list[Node] = []
    with Rows(file, stdin, findings, _NODE_COLUMNS) as rows:
        lines: dict[str, int] = {}
        at = [rows.columns[key] for key in _NODE_COLUMNS] if rows.is_good else []
        for line, row in rows:
            name, cpu, memory, gpus, model = (row[column] for column in at)
            if lines.setdefault(name, line) != line:
                message = f'node "{name}" stands in line {lines[name]} already'
                findings.add(DUPLICATE_NAME, file, line, message, "rename one of them")
            texts = {"cpu_milli": cpu, "memory_mib": memory, "gpu": gpus}
            if rows.complain(line, texts, _MOST):
                continue
            allocatable = {"cpu": int(cpu), "memory": int(memory) * MIB, "pods": PODS_PER_NODE}
            labels = {HOSTNAME: name}
            if int(gpus):
                allocatable[GPU] = int(gpus)
                if model:
                    labels[MODEL] = model
            nodes.append(Node(name, allocatable, labels))
        is_good = rows.is_good
    if is_good and not lines:
        findings.add(NO_NODES, file, 1, "the list has no nodes, so nothing can be placed")
    return nodes
