"""The openb lists: nodes, pods, arrivals, and the paper's own results.

The files are those of github.com/hkust-adsl/kubernetes-scheduler-simulator, data/csv (pod lists packed with gzip),
and experiments/analysis/expected_results/analysis_allo_discrete.csv.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

#: Environment variable with the folder of the lists.
FOLDER = "BINPACKGEN_OPENB"
SOURCE = "openb is public at github.com/hkust-adsl/kubernetes-scheduler-simulator, data/csv"
#: Thousandths of a device.
WHOLE = 1000
#: Arrivals of the protocol, in percent of the cluster's GPUs.
FULL, MOST = 100, 130


def folder() -> Path:
    """Where the lists are."""
    return Path(os.environ.get(FOLDER, "openb"))


class Machine(NamedTuple):
    """A node: millicores, MiB, devices, and their model (empty without devices)."""

    name: str
    cpu: int
    memory: int
    gpus: int
    model: str


class Request(NamedTuple):
    """What a pod asks for: millicores, MiB, devices, thousandths of each of them, and models (none: any)."""

    cpu: int
    memory: int
    gpus: int
    milli: int
    models: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the pod shares no device."""
        return self.gpus == 0 or self.milli == WHOLE

    @property
    def demand(self) -> int:
        """Thousandths of devices in all."""
        return self.gpus * self.milli


class Run(NamedTuple):
    """A pod of the trace that ran: its request, when it came and how long it stayed (seconds)."""

    request: Request
    arrives: float
    lasts: float


def machines(*, with_cpu_nodes: bool = False) -> list[Machine]:
    """The 1,213 nodes with GPUs, or all 1,523."""
    name = "openb_node_list_all_node.csv" if with_cpu_nodes else "openb_node_list_gpu_node.csv"
    rows = csv.DictReader(io.StringIO((folder() / name).read_text()))
    return [
        Machine(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])
        for row in rows
    ]


def lists() -> list[str]:
    """Names of the pod lists, default first."""
    found = sorted(path.name for path in folder().glob("openb_pod_list_*.csv.gz"))
    names = [name.removeprefix("openb_pod_list_").removesuffix(".csv.gz") for name in found]
    return sorted(names, key=lambda name: name != "default")


def requests(name: str, *, whole: bool = True) -> list[Request]:
    """The pods of a list; `whole` leaves out those that share a device."""
    found = [_request(row) for row in _rows(name)]
    return [request for request in found if request.is_whole or not whole]


def runs(name: str) -> list[Run]:
    """The pods of a list that share no device and ran, in order of arrival."""
    found = []
    for row in _rows(name):
        request = _request(row)
        if request.is_whole and row["scheduled_time"]:
            arrives = float(row["creation_time"])
            lasts = float(row["deletion_time"]) - float(row["scheduled_time"])
            if lasts > 0:
                found.append(Run(request, arrives, lasts))
    return sorted(found, key=lambda run: run.arrives)


def inflated(pods: Sequence[Request], gpus: int, seed: int) -> list[Request]:
    """The paper's arrivals: shuffled, then random picks, until the demand is 130 % of `gpus` devices."""
    rng = random.Random(seed)  # noqa: S311  the same arrivals every time are what is wanted
    order = list(pods)
    rng.shuffle(order)
    arrivals = []
    demand = 0
    for request in _endless(order, rng):
        if demand * 100 >= MOST * gpus * WHOLE:
            break
        arrivals.append(request)
        demand += request.demand
    return arrivals


def published() -> dict[tuple[str, str], tuple[float, float]]:
    """GPU allocation in % at 100 and 130 % of arrivals by list and policy, mean of the paper's ten seeds."""
    text = gzip.decompress((folder() / "fgd_expected_analysis_allo_discrete.csv.gz").read_bytes()).decode()
    sums: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        key = (row["workload"].removeprefix("openb_pod_list_"), row["sc_policy"][3:])
        sums.setdefault(key, []).append((float(row[str(FULL)]), float(row[str(MOST)])))
    return {
        key: (sum(a for a, _ in seeds) / len(seeds), sum(b for _, b in seeds) / len(seeds))
        for key, seeds in sums.items()
    }


def _endless(order: Sequence[Request], rng: random.Random) -> Iterator[Request]:
    yield from order
    while True:
        yield rng.choice(order)


def _rows(name: str) -> list[dict[str, str]]:
    packed = (folder() / f"openb_pod_list_{name}.csv.gz").read_bytes()
    return list(csv.DictReader(io.StringIO(gzip.decompress(packed).decode())))


def _request(row: dict[str, str]) -> Request:
    models = tuple(sorted(set((row.get("gpu_spec") or "").split("|")) - {""}))
    gpus = int(row["num_gpu"])
    milli = int(row["gpu_milli"]) if gpus else 0
    return Request(int(row["cpu_milli"]), int(row["memory_mib"]), gpus, milli, models)
