"""kubectl commands for what neither a kubelet nor a patch can state; labels and taints need no shell quoting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...plan.model import Plan, PlannedTaint, Pool
from ..taints import taint_text


def selector(plan: Plan, pool: Pool) -> str:
    """The label selector of the pool's nodes."""
    return f"{plan.spec.node_labels.pool}={pool.name}"


def label_command(selected: str, labels: Mapping[str, str]) -> str:
    """The command that labels nodes."""
    texts = " ".join(f"{key}={value}" for key, value in labels.items())
    return f"kubectl label nodes --overwrite --selector {selected} {texts}"


def taint_command(selected: str, taints: Iterable[PlannedTaint]) -> str:
    """The command that taints nodes and leaves their other taints alone."""
    return f"kubectl taint nodes --overwrite --selector {selected} {' '.join(map(taint_text, taints))}"
