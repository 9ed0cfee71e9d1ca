"""Taints in the forms in which objects and tools take them."""

from __future__ import annotations

from ..plan.model import PlannedTaint


def taint_text(taint: PlannedTaint) -> str:
    """A taint as kubelet, k3s and kubectl take it: key=value:effect."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def taint_object(taint: PlannedTaint) -> dict[str, str]:
    """A taint as API objects hold it."""
    return {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
