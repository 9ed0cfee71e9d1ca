"""The work of the queueing scenario, and how its changes are read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest

from binpackgen.compilation import compile_profile
from binpackgen.metrics.changes import Change
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Amount, Plan
from binpackgen.profile.load import load_profile
from binpackgen_e2e.invariants import quota_breaches
from binpackgen_e2e.queued_work import (
    FLAVOR_LABEL,
    QUEUE_LABEL,
    Piece,
    as_workloads,
    job,
    loan,
    rivals,
    small_pieces,
    times_in,
    uses,
)
from binpackgen_e2e.scenarios import queueing
from binpackgen_e2e.workloads import SUBMISSION

ROOT = Path(__file__).resolve().parents[3]
PROFILES = [
    *(ROOT / "profiles" / f"{name}.yaml" for name in ("article", "berlin-kubeadm", "berlin-eks")),
    *(ROOT / "tests" / "e2e" / "profiles" / f"{name}.yaml" for name in ("queueing", "queueing-fair")),
]

GPU = "nvidia.com/gpu"

LAB = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm}
  nodePools:
    - {name: large, count: 4, cpu: 64, memory: 256Gi, gpu: {type: a100, count: 8}}
    - {name: small, count: 4, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
"""


def lab(queues: str, more: str = "") -> Plan:
    return compile_plan(load_profile("-", (LAB + "  queues:\n" + queues + more).encode()))


def plan_of(path: Path) -> Plan:
    return compile_profile(str(path)).plan


def change(
    version: int, item: dict[str, Any], kind: Literal["ADDED", "MODIFIED", "DELETED"] = "MODIFIED"
) -> Change:
    return Change(version, float(version), kind, item["kind"], item)


def pod(name: str, submission: str, queue: str, gpus: int = 0, node: str = "", **metadata: Any) -> Any:
    labels = {SUBMISSION: submission, QUEUE_LABEL: queue, FLAVOR_LABEL: "a100"}
    requests = {"cpu": "100m", "memory": "128Mi", GPU: str(gpus)}
    return {
        "kind": "Pod",
        "metadata": {"namespace": "team", "name": name, "labels": labels, **metadata},
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": requests}}],
            **({"nodeName": node} if node else {}),
        },
    }


def workload(name: str, conditions: dict[str, bool]) -> Any:
    owners = [{"kind": "Job", "name": name}]
    return {
        "kind": "Workload",
        "metadata": {"namespace": "team", "name": f"job-{name}-1a2b3", "ownerReferences": owners},
        "status": {"conditions": [{"type": t, "status": str(s)} for t, s in conditions.items()]},
    }


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_small_jobs_fit_at_once(path: Path) -> None:
    """Added up by queue and flavor they stay within every quota, and by flavor within what its nodes hold."""
    plan = plan_of(path)
    pieces = small_pieces(plan, 1000)
    assert len(pieces) == 1000
    of_quotas: Counter[tuple[str, str, str]] = Counter()
    of_flavors: Counter[tuple[str, str]] = Counter()
    for piece in pieces:
        for resource, amount in _figures(piece.amount).items():
            of_quotas[piece.queue.name, piece.flavor.name, resource] += amount
            of_flavors[piece.flavor.name, resource] += amount
    nominal = {
        (queue.name, quota.flavor, resource): amount
        for queue in plan.queues
        for quota in queue.quotas
        for resource, amount in _figures(quota.nominal).items()
    }
    rooms = {
        (flavor.name, resource): amount
        for flavor in plan.flavors
        for resource, amount in _figures(flavor.room).items()
    }
    assert [key for key, amount in of_quotas.items() if amount > nominal[key]] == []
    assert [key for key, amount in of_flavors.items() if amount > rooms[key]] == []


def test_small_jobs_come_from_all_queues_in_turn_and_take_devices_first() -> None:
    plan = lab("    - {name: one, namespaces: [one], quota: {a100: 25%}}\n"
               "    - {name: two, namespaces: [two], quota: {a100: 75%}}\n")  # fmt: skip
    pieces = small_pieces(plan, 60)
    assert [piece.queue.name for piece in pieces[:4]] == ["one", "two", "one", "two"]
    assert Counter((piece.queue.name, bool(piece.request.devices)) for piece in pieces) == {
        ("one", True): 12,
        ("one", False): 18,
        ("two", True): 30,
    }


def test_a_cluster_that_holds_fewer_small_jobs_gets_fewer() -> None:
    """Eight nodes take a hundred pods each beside those of the cluster."""
    plan = lab("    - {name: one, namespaces: [one], quota: {a100: 100%}}\n")
    assert len(small_pieces(plan, 1000)) == 800


def test_a_use_counts_jobs_of_the_largest_size_that_fills_every_node() -> None:
    """48 GPUs on nodes of 8 and of 4 are 12 jobs of 4; a quarter of them is 3."""
    plan = lab("    - {name: one, namespaces: [one], quota: {a100: 25%}, borrows: true}\n"
               "    - {name: two, namespaces: [two], quota: {a100: 75%}}\n")  # fmt: skip
    [borrower, owner] = uses(plan, 60)
    assert borrower.piece.request.devices == {GPU: 4}
    assert (borrower.own, borrower.most, borrower.reach) == (3, 12, 12)
    assert (owner.own, owner.most, owner.reach) == (9, 9, 9)


def test_a_use_of_more_jobs_than_wanted_has_several_pods_in_each() -> None:
    plan = lab("    - {name: one, namespaces: [one], quota: {a100: 100%}}\n")
    [use] = uses(plan, 5)
    assert (use.piece.pods, use.most) == (3, 4)


def test_a_queue_with_more_quota_than_there_are_nodes_is_bounded_by_the_nodes() -> None:
    plan = lab("    - {name: one, namespaces: [one], quota: {a100: {cpu: 100, memory: 1Ti, gpu: 64}}}\n")
    [use] = uses(plan, 60)
    assert (use.most, use.reach) == (12, 16)


@pytest.mark.parametrize(
    ("borrower", "owner", "lent"),
    [
        ("borrows: true", "", True),
        ("", "", False),
        ("borrows: true", "lends: false", False),
        ("borrows: true", "preemption: {reclaimWithinCohort: Never}", False),
        ("borrows: true", "cohort: other", False),
    ],
)
def test_a_loan_needs_a_borrower_and_an_owner_who_lends_and_takes_back(
    borrower: str, owner: str, lent: bool
) -> None:
    def entry(name: str, more: str) -> str:
        return f"    - {{name: {name}, namespaces: [{name}], quota: {{a100: 50%}}{', ' if more else ''}{more}}}\n"

    found = loan(lab(entry("one", borrower) + entry("two", owner)), 60)
    assert (found is not None) == lent
    if found:
        assert (found.borrower.piece.queue.name, found.owner.queue.name, found.back) == ("one", "two", 6)


def test_rivals_are_the_pair_with_the_most_different_weights() -> None:
    plan = lab("    - {name: a, namespaces: [a], quota: {a100: 25%}, borrows: true, weight: 1}\n"
               "    - {name: b, namespaces: [b], quota: {a100: 25%}, borrows: true, weight: 2}\n"
               "    - {name: c, namespaces: [c], quota: {a100: 25%}, borrows: true, weight: 3}\n"
               "    - {name: d, namespaces: [d], quota: {a100: 25%}}\n")  # fmt: skip
    found = rivals(plan, 60)
    assert found is not None
    assert (found.light.piece.queue.name, found.heavy.piece.queue.name) == ("a", "c")
    assert (found.share, found.idle) == (0.75, 6)


def test_two_queues_that_own_everything_are_no_rivals() -> None:
    plan = lab("    - {name: a, namespaces: [a], quota: {a100: 50%}, borrows: true}\n"
               "    - {name: b, namespaces: [b], quota: {a100: 50%}, borrows: true}\n")  # fmt: skip
    assert rivals(plan, 60) is None


def test_a_job_without_a_queue_differs_in_its_label_and_in_not_being_suspended() -> None:
    """The control does the same work."""
    plan = plan_of(ROOT / "profiles" / "article.yaml")
    piece = Piece(plan.queues[0], plan.flavors[-1], Amount(100, 1 << 20, {GPU: 1}))
    queued, free = job(plan, piece, "x"), job(plan, piece, "x", queued=False)
    assert queued["spec"].pop("suspend") is True
    assert queued["metadata"]["labels"].pop("kueue.x-k8s.io/queue-name") == piece.queue.name
    assert queued == free


def test_a_job_avoids_a_tier_that_its_queue_limits() -> None:
    tiers = ("  priorityTiers:\n"
             "    - {name: low, value: 1, default: true}\n"
             "    - {name: high, value: 2}\n")  # fmt: skip
    limited = lab(
        "    - {name: one, namespaces: [one], quota: {a100: 100%}, tierLimits: {low: 10%}}\n", tiers
    )
    free = lab("    - {name: one, namespaces: [one], quota: {a100: 100%}}\n", tiers)
    names = [
        job(plan, small_pieces(plan, 1)[0], "x")["spec"]["template"]["spec"]["priorityClassName"]
        for plan in (limited, free)
    ]
    assert names == ["high", "low"]


def test_pods_are_held_against_quotas_like_workloads() -> None:
    """A queue of 12 GPUs: the second pod of 8 is one too many, unless the first has ended or was told to stop."""
    plan = lab("    - {name: one, namespaces: [one], quota: {a100: 25%}}\n")
    first, second = pod("a", "a", "one", 8), pod("b", "b", "one", 8)
    ended = {**first, "status": {"phase": "Succeeded"}}
    told = pod("a", "a", "one", 8, deletionTimestamp="2026-01-01T00:00:00Z")

    def breaches(*middle: Change, stopping: bool = False) -> list[tuple[int, int]]:
        changes = [change(1, first), *middle, change(3, second)]
        found = quota_breaches(plan, as_workloads(plan, changes, stopping=stopping))
        return [(one.version, one.held) for one in found if one.holder == "queue one"]

    assert breaches() == [(3, 16)]
    assert breaches(change(2, ended)) == []
    assert breaches(change(2, first, "DELETED")) == []
    assert breaches(change(2, told)) == []
    assert breaches(change(2, told), stopping=True) == [(3, 16)]


def test_stages_are_the_first_times_of_a_job_and_the_last_pods() -> None:
    suspended = {
        "kind": "Job",
        "metadata": {"namespace": "team", "name": "a", "labels": {SUBMISSION: "a"}},
        "spec": {"suspend": True},
    }
    changes = [
        change(1, suspended),
        change(2, workload("a", {"QuotaReserved": True})),
        change(3, workload("a", {"QuotaReserved": True, "Admitted": True})),
        change(4, {**suspended, "spec": {"suspend": False}}),
        change(5, pod("a-1", "a", "one")),
        change(6, pod("a-1", "a", "one", node="n")),
        change(7, pod("a-2", "a", "one")),
        change(8, pod("a-2", "a", "one", node="n")),
        change(9, pod("a-2", "a", "one", node="n")),
    ]
    seen = queueing.stages(changes)
    assert seen == {
        "created": {"a": 1.0},
        "admitted": {"a": 3.0},
        "unsuspended": {"a": 4.0},
        "pod created": {"a": 7.0},
        "bound": {"a": 8.0},
    }
    assert queueing.stage_text(seen, 1.0) == (
        "created 0.0 / 0.0, admitted 2.0 / 2.0, unsuspended 3.0 / 3.0, pod created 6.0 / 6.0, bound 7.0 / 7.0"
    )


def test_evicted_jobs_are_those_that_ever_were() -> None:
    changes = [
        change(1, workload("a", {"Admitted": True})),
        change(2, workload("a", {"Admitted": False, "Evicted": True})),
        change(3, workload("a", {"Admitted": True, "Evicted": False})),
        change(4, workload("b", {"Admitted": True})),
    ]
    assert queueing.evicted(changes) == {"a"}


def test_borrowing_is_switched_off_for_every_resource_and_nothing_else_changes() -> None:
    spec = {
        "cohortName": "lab",
        "resourceGroups": [
            {
                "coveredResources": ["cpu", GPU],
                "flavors": [
                    {
                        "name": "a100",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "8"},
                            {"name": GPU, "nominalQuota": "4", "lendingLimit": "0"},
                        ],
                    }
                ],
            }
        ],
    }
    assert queueing.no_borrowing({"spec": spec}) == {
        "resourceGroups": [
            {
                "coveredResources": ["cpu", GPU],
                "flavors": [
                    {
                        "name": "a100",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "8", "borrowingLimit": "0"},
                            {"name": GPU, "nominalQuota": "4", "lendingLimit": "0", "borrowingLimit": "0"},
                        ],
                    }
                ],
            }
        ]
    }


def test_times_in_is_the_scarcest_resource() -> None:
    assert times_in(Amount(1000, 100, {GPU: 8}), Amount(100, 30, {GPU: 4})) == 2
    assert times_in(Amount(1000, 100), Amount(100, 30, {GPU: 4})) == 0


def test_a_profile_without_queues_lacks_them() -> None:
    assert queueing.lacks(plan_of(ROOT / "profiles" / "minimal.yaml")) == "queues"


def _figures(amount: Amount) -> dict[str, int]:
    return {"cpu": amount.cpu, "memory": amount.memory, **amount.devices}
