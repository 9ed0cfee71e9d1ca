"""kubectl commands for what neither a kubelet nor a patch can state; labels and taints need no shell quoting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...plan.model import Plan, PlannedTaint, Pool


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


def taint_text(taint: PlannedTaint) -> str:
    """A taint as kubelet, k3s and kubectl take it: key=value:effect."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def taint_object(taint: PlannedTaint) -> dict[str, str]:
    """A taint as API objects hold it."""
    return {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
