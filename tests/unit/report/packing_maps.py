"""Maps of clusters that were filled by best fit or by worst fit, with jobs as a profile would state them."""

from __future__ import annotations

import random
from collections.abc import Callable

from binpackgen.report.packing_map import NodeRow, PackingMap

HOSTILE = '</text><script src="https://evil.example/x.js">alert(1)</script>&\x00\x1b[31m\u202e"\''


def node(
    name: str = "a100-1",
    pool: str = "gpu-a100",
    slots: tuple[str | None, ...] = (None,) * 8,
    cpu: float = 0.0,
    memory: float = 0.0,
) -> NodeRow:
    return NodeRow(name, pool, slots, cpu, memory)


def cluster(gpu_nodes: int, gpus: int = 8, cpu_nodes: int = 0) -> list[NodeRow]:
    """Empty nodes of two GPU pools, 2 to 1, and of a pool without devices."""
    first = gpu_nodes * 2 // 3
    return [
        *(node(f"a100-{i + 1:03}", "gpu-a100", (None,) * gpus) for i in range(first)),
        *(node(f"l40s-{i + 1:03}", "gpu-l40s", (None,) * (gpus // 2)) for i in range(gpu_nodes - first)),
        *(node(f"cpu-{i + 1:03}", "cpu", ()) for i in range(cpu_nodes)),
    ]


def _place(nodes: list[NodeRow], jobs: int, best: Callable[[list[tuple[int, int]]], tuple[int, int]]) -> None:
    rng = random.Random(jobs)
    for number in range(jobs):
        size, name = rng.choice(
            [
                (1, "notebook"),
                (1, "inference"),
                (2, "finetune"),
                (4, "train-small"),
                (4, "train-wide"),
                (8, "pretrain"),
            ]
        )
        name = f"{name}-{number}" if jobs > 60 else name
        free = [(row.slots.count(None), index) for index, row in enumerate(nodes)]
        fits = [choice for choice in free if choice[0] >= size]
        if fits:
            row = nodes[best(fits)[1]]
            at = row.slots.index(None)
            slots = (*row.slots[:at], *[name] * size, *row.slots[at + size :])
            used = len(slots) - slots.count(None)
            nodes[nodes.index(row)] = row._replace(
                slots=slots, cpu=0.9 * used / len(slots), memory=0.8 * used / len(slots)
            )


def filled(
    title: str, gpu_nodes: int = 20, jobs: int = 30, cpu_nodes: int = 0, *, packed: bool = True, gpus: int = 8
) -> PackingMap:
    """`jobs` jobs placed on the fullest node that can hold them, or on the emptiest."""
    nodes = cluster(gpu_nodes, gpus)
    _place(nodes, jobs, min if packed else max)
    busy = cpu_nodes // 3 if packed else cpu_nodes
    for index in range(cpu_nodes):
        shares = ((0.93, 0.71) if packed else (0.31, 0.237)) if index < busy else (0.0, 0.0)
        nodes.append(node(f"cpu-{index + 1:03}", "cpu", (), *shares))
    return PackingMap(title, tuple(nodes))


def three(gpu_nodes: int = 20, jobs: int = 30, cpu_nodes: int = 6, gpus: int = 8) -> list[PackingMap]:
    """Before, after, and the same work without packing."""
    return [
        PackingMap("before", tuple(cluster(gpu_nodes, gpus, cpu_nodes))),
        filled("after", gpu_nodes, jobs, cpu_nodes, gpus=gpus),
        filled("negative control: default scheduler", gpu_nodes, jobs, cpu_nodes, packed=False, gpus=gpus),
    ]
