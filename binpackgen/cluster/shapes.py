"""Job shapes from a table of pods: what was asked for most often."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..errors import FindingsError
from ..plan.pools import memory_text
from .gpus import MOST_DEVICES
from .pools import cpu_value
from .table import Table

_MIB = 1024**2
_LEAST_MIB = 4
_WHOLE = 1000
_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")

#: No registry holds it: a list of pods does not say what they ran.
IMAGE = "registry.example.com/team/{name}:1.0"


@dataclass(frozen=True, slots=True)
class Shapes:
    """Jobs as a profile states them, and what they leave out."""

    jobs: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]


def read_shapes(text: str, file: str) -> Shapes:
    """One job per number of GPUs: the shape that most pods have, the larger of equally frequent ones.

    The table has the form of the pod lists of the Alibaba GPU trace of 2023 (`gpu_milli` in thousandths of
    each device); further columns are not used. Raises FindingsError for every bad cell.
    """
    table = Table(text, file)
    shapes: dict[int, Counter[tuple[int, int]]] = {}
    parts = typed = empty = found = 0
    for row in table.rows(_COLUMNS):
        found += 1
        cpu = table.number(row, "cpu_milli", 10**8)
        memory = table.number(row, "memory_mib", 2**40)
        gpus = table.number(row, "num_gpu", MOST_DEVICES)
        share = table.number(row, "gpu_milli", _WHOLE)
        if gpus and share < _WHOLE:
            parts += 1
        elif not cpu or memory < _LEAST_MIB:
            empty += 1
        else:
            typed += bool(gpus and row.cells.get("gpu_spec"))
            shapes.setdefault(gpus, Counter())[cpu, memory] += 1
    if table.findings:
        raise FindingsError(table.findings)
    jobs, notes = [], []
    for gpus, shape in sorted(shapes.items()):
        (cpu, memory), times = max(shape.items(), key=lambda entry: (entry[1], entry[0]))
        name = f"gpu{gpus}" if gpus else "cpu-only"
        each: dict[str, Any] = {"cpu": cpu_value(cpu), "memory": memory_text(memory * _MIB)}
        if gpus:
            each["gpu"] = {"count": gpus}
        template = "single-gpu" if gpus else "etl"
        jobs.append({"name": name, "template": template, "each": each, "image": IMAGE.format(name=name)})
        kind = f"with {gpus} GPU{'s' if gpus > 1 else ''}" if gpus else "without GPUs"
        rest = len(shape) - 1
        notes.append(
            f"job {name}: {times} of {shape.total()} pods {kind} have its shape, "
            f"{rest} other shape{' is' if rest == 1 else 's are'} left out"
        )
    if parts:
        notes.append(
            f"{_pods(parts, found, 'ask')} for a part of a GPU and {_are(parts)} left out; devices are requested whole"
        )
    if typed:
        notes.append(f"{_pods(typed, found, 'name')} GPU models; the jobs take any type")
    if empty:
        notes.append(f"{_pods(empty, found, 'ask')} for no cpu or no memory and {_are(empty)} left out")
    return Shapes(tuple(jobs), tuple(notes))


def _pods(some: int, found: int, verb: str) -> str:
    return f"{some} of {found} pods {verb}{'s' if some == 1 else ''}"


def _are(some: int) -> str:
    return "is" if some == 1 else "are"
