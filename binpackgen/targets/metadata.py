"""The labels that every emitted object carries, so that a tree can be selected and pruned."""

from __future__ import annotations

from typing import Any

from ..plan.model import Plan

MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"
PROFILE = "binpackgen.dev/profile"


def labels(plan: Plan) -> dict[str, str]:
    """Labels of every object of this profile; never part of a selector."""
    return {MANAGED_BY: "binpackgen", PART_OF: "binpackgen", PROFILE: plan.name}


def metadata(plan: Plan, name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    """Object metadata in the order that a person writes it; `more` adds annotations."""
    result: dict[str, Any] = {"name": name}
    if namespace is not None:
        result["namespace"] = namespace
    result["labels"] = labels(plan)
    return {**result, **more}
