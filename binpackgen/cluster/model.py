"""Nodes as they were found, before anything is decided about pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..profile.models import Gpu, Taint


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One node: cpu in millicores, memory in bytes.

    `allocatable_*` is what the scheduler may give to pods. `taints` is None where the source says nothing
    about taints. `pool` is the pool that the node's own label names.
    """

    name: str
    cpu: int
    memory: int
    allocatable_cpu: int
    allocatable_memory: int
    gpu: Gpu | None = None
    pods: int | None = None
    pool: str | None = None
    zone: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] | None = None


@dataclass(frozen=True, slots=True)
class NodeList:
    """The nodes of a cluster that can take batch work.

    `found` counts all nodes that were read; those that `nodes` lacks are named in `notes`, whose sentences
    say everything that a profile made of the list does not show. `kubernetes` is the newest minor version of
    a kubelet, such as 1.37, where it is known.
    """

    nodes: tuple[ClusterNode, ...]
    found: int
    notes: tuple[str, ...] = ()
    kubernetes: str | None = None


def some(names: list[str]) -> str:
    """The first three of `names`, and how many more there are."""
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
