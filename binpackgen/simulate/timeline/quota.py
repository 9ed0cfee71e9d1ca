"""Quotas in a tree of queues and cohorts: what is there, what is used, what may be borrowed.

Source: pkg/cache/scheduler/resource_node.go and pkg/scheduler/preemption/classical/hierarchical_preemption.go in
Kueue v0.17.0. A cell is one resource of one flavor, an index; a member is a queue or a cohort, an index too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Quota(NamedTuple):
    """Of one resource in one flavor; a limit of None is none."""

    nominal: int
    borrowing: int | None = None
    lending: int | None = None


_NOTHING = Quota(0)


class QuotaTree:
    """`parents[m]` is the cohort of member m, None at a root; `quotas[m]` what m has of its own, by cell."""

    def __init__(
        self, parents: Sequence[int | None], quotas: Sequence[Mapping[int, Quota]], cells: int
    ) -> None:
        self.parents = tuple(parents)
        self.children: list[list[int]] = [[] for _ in parents]
        for member, parent in enumerate(parents):
            if parent is not None:
                self.children[parent].append(member)
        self.quotas = [[own.get(cell, _NOTHING) for cell in range(cells)] for own in quotas]
        self.usage = [[0] * cells for _ in parents]
        self._subtree = [[quota.nominal for quota in row] for row in self.quotas]
        self._local = [[0] * cells for _ in parents]
        for member in _leaves_first(self.children, [m for m, p in enumerate(parents) if p is None]):
            self._settle(member)
        self.heights = [self._height(member) for member in range(len(self.parents))]

    def _settle(self, member: int) -> None:
        """What the children lend comes on top of a cohort's own; the lending limit keeps the rest at home."""
        subtree, local = self._subtree[member], self._local[member]
        for child in self.children[member]:
            for cell, amount in enumerate(self._subtree[child]):
                subtree[cell] += amount - self._local[child][cell]
        for cell, quota in enumerate(self.quotas[member]):
            if quota.lending is not None:
                local[cell] = max(0, subtree[cell] - quota.lending)

    def path(self, member: int) -> tuple[int, ...]:
        """The cohorts of a member, nearest first."""
        found: list[int] = []
        parent = self.parents[member]
        while parent is not None:
            found.append(parent)
            parent = self.parents[parent]
        return tuple(found)

    def local_available(self, member: int, cell: int) -> int:
        """What is left of the part that is never lent."""
        return max(0, self._local[member][cell] - self.usage[member][cell])

    def available(self, member: int, cell: int) -> int:
        """What the member may still use, its cohort's part included; never below 0."""
        return max(0, self._available(member, cell))

    def _available(self, member: int, cell: int) -> int:
        parent = self.parents[member]
        if parent is None:
            return self._subtree[member][cell] - self.usage[member][cell]
        from_parent = self._available(parent, cell)
        borrowing = self.quotas[member][cell].borrowing
        if borrowing is not None:
            local = self._local[member][cell]
            stored = self._subtree[member][cell] - local
            used = max(0, self.usage[member][cell] - local)
            from_parent = min(stored - used + borrowing, from_parent)
        return self.local_available(member, cell) + from_parent

    def potential(self, member: int, cell: int) -> int:
        """What the member may use when nobody uses anything."""
        parent = self.parents[member]
        if parent is None:
            return self._subtree[member][cell]
        most = self._local[member][cell] + self.potential(parent, cell)
        borrowing = self.quotas[member][cell].borrowing
        return most if borrowing is None else min(self._subtree[member][cell] + borrowing, most)

    def add(self, member: int, cell: int, amount: int) -> None:
        """Count usage in; what does not stay at home counts in the cohort."""
        beyond = amount - self.local_available(member, cell)
        self.usage[member][cell] += amount
        parent = self.parents[member]
        if parent is not None and beyond > 0:
            self.add(parent, cell, beyond)

    def remove(self, member: int, cell: int, amount: int) -> None:
        """Count usage out."""
        in_parent = self.usage[member][cell] - self._local[member][cell]
        self.usage[member][cell] -= amount
        parent = self.parents[member]
        if parent is not None and in_parent > 0:
            self.remove(parent, cell, min(amount, in_parent))

    def is_borrowing(self, member: int, cell: int, more: int = 0) -> bool:
        """Whether a queue with `more` usage is beyond its own nominal quota."""
        return self.usage[member][cell] + more > self.quotas[member][cell].nominal

    def is_within(self, member: int, cell: int, more: int = 0) -> bool:
        """Whether a member with `more` usage is within what it and those below it have."""
        return self.usage[member][cell] + more <= self._subtree[member][cell]

    def level(self, queue: int, cell: int, amount: int) -> tuple[int, bool]:
        """From how far a queue's `amount` comes: 0 its own quota, else the height of the lowest cohort that has it.

        The second is whether that is less than the whole tree. FindHeightOfLowestSubtreeThatFits.
        """
        path = self.path(queue)
        if not self.is_borrowing(queue, cell, amount) or not path:
            return 0, bool(path)
        rest = amount - self.local_available(queue, cell)
        for cohort in path:
            # a cohort's nominal quota in BorrowingWith is that of its subtree
            if self.is_within(cohort, cell, rest):
                return self.heights[cohort], self.parents[cohort] is not None
            rest -= self.local_available(cohort, cell)
        return self.heights[path[-1]], False

    def _height(self, member: int) -> int:
        cohorts = [child for child in self.children[member] if self.children[child]]
        lowest = 1 if self.children[member] else 0
        return max([lowest, *(self._height(child) + 1 for child in cohorts)])


def _leaves_first(children: Sequence[Sequence[int]], roots: Sequence[int]) -> list[int]:
    order: list[int] = []
    pending = list(roots)
    while pending:
        member = pending.pop()
        order.append(member)
        pending += children[member]
    return order[::-1]
