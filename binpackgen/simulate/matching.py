"""Selectors, taints and tolerations, matched as Kubernetes matches them.

Sources: k8s.io/apimachinery v0.37.2, pkg/labels/selector.go (Requirement.Matches); k8s.io/api v0.37.2,
core/v1/toleration.go (ToleratesTaint; the operators Lt and Gt are an alpha feature, off, and match nothing).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]

_INTEGER = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on labels. `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether `labels` meet the condition."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        actual, bound = _int64(value), _int64(self.values[0])
        if actual is None or bound is None:
            return False
        return actual > bound if self.operator == "Gt" else actual < bound


#: Requirements that must all hold; an empty one matches everything. `None` stands for one that matches nothing.
Selector = tuple[Requirement, ...]


def equals(labels: Labels) -> Selector:
    """The selector of exactly these labels."""
    return tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items()))


def matches(selector: Selector | None, labels: Labels) -> bool:
    """Whether `labels` meet every requirement of `selector`."""
    return selector is not None and all(requirement.matches(labels) for requirement in selector)


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """An empty key or effect stands for any. `operator` is Equal or Exists."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether a pod with this toleration is indifferent to `taint`."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == taint.value)


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of `tolerations` covers `taint`."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def _int64(text: str | None) -> int | None:
    if text is None or not _INTEGER.match(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
