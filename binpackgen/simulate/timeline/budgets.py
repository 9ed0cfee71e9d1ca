"""Pod disruption budgets, as far as they mean anything to the pods of jobs.

The disruption controller reads the number of pods that there should be from a scale subresource, which Jobs do not
have; so a budget of maxUnavailable or of a share has no numbers for them (`UnmodeledError`), and minAvailable as a
number is what works.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..matching import Selector, matches
from ..model import PodShape, UnmodeledError
from ..objects import label_selector

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """At least `min_available` of the selected pods should run; an empty selector counts none for preemption."""

    name: str
    min_available: int
    selector: Selector
    namespace: str = "default"

    def selects(self, pod: PodShape) -> bool:
        """Whether the budget counts the pod. Source: framework/preemption/util.go in kubernetes v1.37.2."""
        return (
            bool(self.selector)
            and bool(pod.labels)
            and pod.namespace == self.namespace
            and matches(self.selector, pod.labels)
        )


def read_budgets(objects: Iterable[Object]) -> tuple[DisruptionBudget, ...]:
    """The PodDisruptionBudgets (policy/v1) among `objects`. Raises UnmodeledError."""
    refused: list[str] = []
    found: list[DisruptionBudget] = []
    for item in objects:
        if item.get("kind") != "PodDisruptionBudget":
            continue
        name, spec = item["metadata"]["name"], item["spec"]
        least = spec.get("minAvailable")
        if not isinstance(least, int):
            refused.append(f"PodDisruptionBudget {name} without minAvailable as a number")
            continue
        selector = label_selector(spec.get("selector")) or ()
        found.append(DisruptionBudget(name, least, selector, item["metadata"].get("namespace") or "default"))
    if refused:
        raise UnmodeledError("disruption budgets", refused)
    return tuple(found)


class Allowances:
    """How many more evictions each budget allows, while pods come and go. Pods are counted by their shape."""

    def __init__(self, budgets: Iterable[DisruptionBudget], shapes: Iterable[PodShape]) -> None:
        self._budgets = tuple(budgets)
        self._running = [0] * len(self._budgets)
        #: The budgets that count pods of each shape.
        self.of_shape = [
            tuple(index for index, budget in enumerate(self._budgets) if budget.selects(shape))
            for shape in shapes
        ]

    def count(self, shape: int, change: int) -> None:
        """A pod has started (1) or is gone (-1)."""
        for index in self.of_shape[shape]:
            self._running[index] += change

    def left(self) -> list[int]:
        """status.disruptionsAllowed of every budget."""
        return [
            max(0, running - budget.min_available)
            for running, budget in zip(self._running, self._budgets, strict=True)
        ]
