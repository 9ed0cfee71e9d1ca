"""Cases of Kueue's own unit tests: whom it evicts, and which flavors it assigns in what mode.

`kueue_cases.json` holds the tables of TestPreemption, TestHierarchicalPreemptions and TestAssignFlavors of Kueue
v0.17.0 (Apache-2.0), as far as the model has what they use: not with fair sharing, several resource groups, workload
slices, groups of pod sets, and workloads that are evicted already.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from binpackgen.simulate.timeline.admission import Admission, Claim, Mode, PodSet
from binpackgen.simulate.timeline.queues import ClusterQueue, Cohort, Flavor, QueueModel
from binpackgen.simulate.timeline.quota import Quota
from binpackgen.simulate.timeline.reclaim import find_targets

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "kueue_cases.json").read_text())


def names(table: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in CASES[table]]


def admission(case: dict[str, Any]) -> Admission:
    queues = []
    for queue in case["queues"]:
        flavors = tuple(
            (flavor, {resource: Quota(*quota) for resource, *quota in quotas})
            for flavor, quotas in queue["flavors"]
        )
        queues.append(ClusterQueue(**{**queue, "flavors": flavors}))
    cohorts = tuple(
        Cohort(
            cohort["name"],
            cohort["parent"],
            {(flavor, resource): Quota(*quota) for flavor, resource, *quota in cohort["quotas"]},
        )
        for cohort in case.get("cohorts", ())
    )
    flavors_named = {flavor for queue in queues for flavor, _ in queue.flavors}
    return Admission(QueueModel({name: Flavor(name) for name in flavors_named}, tuple(queues), cohorts))


def test_there_are_as_many_cases_as_were_taken() -> None:
    """Nothing got lost: 48 of 51, and 41 of 56."""
    assert (48, 41) == (len(CASES["preemption"]), len(CASES["assignment"]))


@pytest.mark.parametrize("case", names("preemption"))
def test_the_same_workloads_are_evicted(case: dict[str, Any]) -> None:
    """The victims and the reason of each."""
    queues = admission(case)
    admitted = case["admitted"]
    # of those that were admitted at the same time upstream goes by UID, which here stands for the later admission
    ranks = sorted(range(len(admitted)), key=lambda index: (admitted[index]["reserved"], -index))
    for index, one in enumerate(admitted):
        usage = {queues.cells[flavor, resource]: amount for flavor, resource, amount in one["usage"]}
        queue = queues.index[one["queue"]]
        claim = Claim(
            index, queue, one["priority"], one["created"], index, (), (), usage, ranks.index(index) + 1
        )
        queues.admitted[queue][index] = claim
        for cell, amount in usage.items():
            queues.tree.add(queue, cell, amount)
    incoming = Claim(-1, queues.index[case["queue"]], case["priority"], case["created"], -1, ())

    targets = find_targets(
        queues,
        incoming,
        {queues.cells[flavor, resource]: amount for flavor, resource, amount in case["usage"] if amount},
        frozenset(queues.cells[flavor, resource] for flavor, resource in case["lacking"]),
    )

    assert case["evicted"] == sorted([admitted[one.claim.submission]["name"], one.reason] for one in targets)


@pytest.mark.parametrize("case", names("assignment"))
def test_the_same_flavors_are_assigned(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode, how far borrowing reaches, and what is charged; whether evictions are possible is given."""
    queues = admission(case)
    for queue, flavor, resource, amount in case["usage"]:
        queues.tree.add(queue, queues.cells[flavor, resource], amount)
    told = {
        queues.cells[flavor, resource]: (Mode[mode], borrow)
        for flavor, resource, mode, borrow in case["oracle"]
    }
    monkeypatch.setattr(queues, "_preemption_mode", lambda _, cell, __: told.get(cell, (Mode.PREEMPT, 0)))
    podsets = tuple(
        PodSet(pods, tuple(map(tuple, requests)), tuple(fits)) for pods, requests, fits in case["podsets"]
    )

    found = queues._assign(Claim(0, 0, 0, 0.0, 0, podsets))

    modes = {Mode.FIT: "Fit", Mode.NO_FIT: "NoFit"}
    assert case["mode"] == modes.get(found.mode, "Preempt")
    if case["mode"] != "NoFit":
        cells = {cell: key for key, cell in queues.cells.items()}
        assert case["borrowing"] == found.borrowing
        assert sorted(case["taken"]) == sorted([*cells[cell], amount] for cell, amount in found.usage.items())
