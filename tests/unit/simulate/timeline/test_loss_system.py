"""The loss system on the openb trace: what users of a busy cluster feel.

Shapes from the 5,074 CPU and whole-GPU pods of the default list on its 1,213 GPU nodes, Poisson arrivals, exponential
durations of equal mean; a pod that fits nowhere is turned away. At 90 % offered load the default scheduler turns away
every 8-GPU job, packing by the book about a quarter, and packing with a preference of CPU pods for nodes with many
cores per GPU none. Figures made by hand beforehand: 77.5, 83.4 and 84.5 % of the GPUs in use.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from binpackgen.simulate.matching import Requirement
from binpackgen.simulate.model import Node, PreferredNodes, SchedulerProfile
from binpackgen.simulate.timeline.result import State, Timeline
from binpackgen.simulate.timeline.run import run
from binpackgen.simulate.workload.model import Workload
from binpackgen.simulate.workload.openb import GPU, read_openb
from tests.conformance.tiers import trace

SOURCE = "github.com/hkust-adsl/kubernetes-scheduler-simulator, data/csv"
ARRIVALS = 30_000
#: Not counted: the cluster fills.
FIRST = 10_000

DEFAULT = SchedulerProfile(37, percentage=100)
PACK = SchedulerProfile(
    37,
    strategy="MostAllocated",
    resources=(("cpu", 1), ("memory", 1), (GPU, 5)),
    weights={"TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1},
    percentage=100,
)


@lru_cache
def openb() -> Workload:
    folder = trace("openb", SOURCE)
    files = (folder / "openb_pod_list_default.csv.gz", folder / "openb_node_list_gpu_node.csv")
    return read_openb(*map(str, files)).workload


def with_the_rule(workload: Workload) -> Workload:
    """CPU-only pods prefer nodes by their cores per GPU, scaled to 1..100; nothing is fitted."""
    ratios = [node.allocatable["cpu"] / node.allocatable[GPU] for node in workload.nodes]
    most = max(ratios)

    def weight(ratio: float) -> int:
        return max(1, round(100 * ratio / most))

    nodes = tuple(
        Node(node.name, node.allocatable, {**node.labels, "ratio": str(weight(ratio))})
        for node, ratio in zip(workload.nodes, ratios, strict=True)
    )
    terms = tuple(
        PreferredNodes(one, (Requirement("ratio", "In", (str(one),)),))
        for one in sorted({weight(r) for r in ratios})
    )
    shapes = tuple(
        shape if GPU in shape.requests else replace(shape, preferred_nodes=terms) for shape in workload.shapes
    )
    return workload._replace(nodes=nodes, shapes=shapes)


def at_load(workload: Workload, load: float, seed: int) -> Workload:
    """Random picks that arrive so that they ask for `load` of the GPUs over time."""
    chance = random.Random(seed)
    asked = [workload.shapes[one.shapes[0]].requests.get(GPU, 0) for one in workload.submissions]
    there = sum(node.allocatable[GPU] for node in workload.nodes)
    rate = load * there / (sum(asked) / len(asked))
    now = 0.0
    drawn = []
    for number in range(ARRIVALS):
        now += chance.expovariate(rate)
        pick = chance.choice(workload.submissions)
        drawn.append(pick._replace(name=f"{number}", arrives=now, runs=chance.expovariate(1.0)))
    return workload._replace(submissions=tuple(drawn))


def rejected(timeline: Timeline) -> dict[str, float]:
    """Shares by size of those that arrived once the cluster was full."""
    return {
        str(kind): float(np.mean(timeline.states[members[members >= FIRST]] == State.REJECTED))
        for kind, members in timeline.groups("kind").items()
    }


def in_use(timeline: Timeline) -> float:
    submissions = timeline.workload.submissions
    there = sum(node.allocatable[GPU] for node in timeline.cluster.nodes)
    return timeline.usage(GPU).mean(submissions[FIRST].arrives, submissions[-1].arrives) / there


@pytest.mark.parametrize(
    ("name", "use", "eight"),
    [
        ("default", (0.75, 0.80), (1.0, 1.0)),
        ("packing", (0.80, 0.87), (0.1, 0.45)),
        ("rule", (0.81, 0.88), (0.0, 0.0)),
    ],
)
def test_who_is_turned_away_at_ninety_percent(
    name: str, use: tuple[float, float], eight: tuple[float, float]
) -> None:
    """Use of the GPUs and rejected 8-GPU jobs are in the ranges of the figures made by hand (four seeds, mean)."""
    workload = with_the_rule(openb()) if name == "rule" else openb()

    timeline = run(
        at_load(workload, 0.9, seed=1), workload.nodes, DEFAULT if name == "default" else PACK, retry="loss"
    )

    shares = rejected(timeline)
    assert use[0] <= in_use(timeline) <= use[1]
    assert eight[0] <= shares["8 GPUs"] <= eight[1]
    assert 0.0 == shares["CPU"]
    if name == "rule":
        assert {0.0} == set(shares.values())
