"""What must hold at every instant: quotas, capacity and headroom, on changes counted by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pytest

from binpackgen.metrics.changes import Change
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import load_profile
from binpackgen_e2e.invariants import Breach, headroom_breaches, overcommitted, quota_breaches

Item = dict[str, Any]

GPU = "nvidia.com/gpu"
GI = 1 << 30

LAB = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: second-scheduler, schedulerImage: "registry.example.com/s:1"}
  nodePools:
    - name: v100
      count: 4
      cpu: 32
      memory: 128Gi
      gpu: {type: v100, count: 8}
      reserved: {evictionMemory: 0}
"""
QUEUES = """\
  queues:
    - {name: vision, namespaces: [ai], quota: {v100: {cpu: 64, memory: 256Gi, gpu: 16}}, borrows: true}
    - {name: research, namespaces: [lab], quota: {v100: {cpu: 32, memory: 128Gi, gpu: 8}}, borrows: true}
    - {name: etl, namespaces: [etl], quota: {v100: {cpu: 32, memory: 128Gi, gpu: 8}}, lends: false}
"""
CAP = "  caps: {headroom: {cpu: 2, memory: 8Gi}, FORM}\n"


def plan(more: str = "") -> Plan:
    return compile_plan(load_profile("-", (LAB + more).encode()))


def change(version: int, item: Item, kind: Literal["ADDED", "MODIFIED", "DELETED"] = "MODIFIED") -> Change:
    return Change(version, float(version), kind, item["kind"], item)


def workload(
    name: str,
    queue: str,
    gpus: int,
    *,
    pods: int = 1,
    conditions: Mapping[str, bool] | None = None,
    reclaimable: int = 0,
    flavor: str = "v100",
    counted: int | None = None,
) -> Item:
    """A workload whose pods together hold `gpus` and as much cpu; without conditions it has its quota."""
    conditions = {"QuotaReserved": True, "Admitted": True} if conditions is None else conditions
    usage = {"cpu": str(gpus), "memory": f"{gpus}Gi", GPU: str(gpus)}
    admission = {
        "clusterQueue": queue,
        "podSetAssignments": [
            {
                "name": "main",
                "count": counted or pods,
                "flavors": dict.fromkeys(usage, flavor),
                "resourceUsage": usage,
            }
        ],
    }
    status: Item = {"conditions": [{"type": n, "status": str(value)} for n, value in conditions.items()]}
    if conditions.get("QuotaReserved"):
        status["admission"] = admission
    if reclaimable:
        status["reclaimablePods"] = [{"name": "main", "count": reclaimable}]
    return {
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ai"},
        "spec": {"podSets": [{"name": "main", "count": pods}]},
        "status": status,
    }


def node(name: str = "v100-0", gpus: int = 8, **allocatable: str) -> Item:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"binpackgen.dev/pool": "v100"}},
        "status": {
            "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "3", GPU: str(gpus), **allocatable}
        },
    }


def pod(
    name: str, cpu: str, memory: str, gpus: int = 0, *, node: str | None = "v100-0", phase: str = "Running"
) -> Item:
    requests = {"cpu": cpu, "memory": memory} | ({GPU: str(gpus)} if gpus else {})
    spec: Item = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    if node is not None:
        spec["nodeName"] = node
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ai"},
        "spec": spec,
        "status": {"phase": phase},
    }


class TestQuota:
    def test_borrowing_up_to_what_others_lend_is_no_breach(self) -> None:
        """vision has 16 GPUs and may use research's 8, but not etl's, which lends nothing."""
        changes = [
            change(1, workload("a", "vision", 24)),
            change(2, workload("b", "etl", 8)),
        ]

        assert [] == quota_breaches(plan(QUEUES), changes)

    def test_more_than_the_others_lend(self) -> None:
        """The 25th GPU is one that only etl has; queue and cohort are both exceeded."""
        changes = [change(1, workload("a", "vision", 24)), change(2, workload("b", "vision", 1))]

        found = quota_breaches(plan(QUEUES), changes)

        expected = [
            Breach(2, 2.0, "cohort lab", f"{GPU} of flavor v100", 25, 24, "ai/b"),
            Breach(2, 2.0, "queue vision", f"{GPU} of flavor v100", 25, 24, "ai/b"),
        ]
        assert expected == sorted(found, key=lambda one: one.holder)

    def test_the_cohort_is_exceeded_before_any_queue_is(self) -> None:
        """vision borrows all that research has, and then research takes its own back too soon."""
        changes = [
            change(1, workload("a", "vision", 24)),
            change(7, workload("b", "research", 3)),
            change(8, workload("c", "research", 1)),
        ]

        found = quota_breaches(plan(QUEUES), changes)

        assert [Breach(7, 7.0, "cohort lab", f"{GPU} of flavor v100", 27, 24, "ai/b")] == found

    def test_a_queue_that_does_not_borrow_has_its_nominal_quota(self) -> None:
        """etl's ninth GPU is a breach though others leave theirs; it counts on the cohort as borrowed."""
        found = quota_breaches(plan(QUEUES), [change(1, workload("a", "etl", 9))])

        assert [Breach(1, 1.0, "queue etl", f"{GPU} of flavor v100", 9, 8, "ai/a")] == found

    def test_another_flavor_than_those_of_the_quota(self) -> None:
        """What the queue has no quota of, it may hold nothing of."""
        found = quota_breaches(plan(QUEUES), [change(1, workload("a", "research", 1, flavor="a100"))])

        assert {
            ("queue research", f"{resource} of flavor a100", 0) for resource in ("cpu", "memory", GPU)
        } | {("cohort lab", f"{resource} of flavor a100", 0) for resource in ("cpu", "memory", GPU)} == {
            (one.holder, one.resource, one.limit) for one in found
        }

    @pytest.mark.parametrize(
        "conditions",
        [
            {},
            {"QuotaReserved": False, "Evicted": True},
            {"QuotaReserved": True, "Finished": True},
        ],
        ids=["waits", "evicted", "finished"],
    )
    def test_workloads_that_hold_nothing(self, conditions: dict[str, bool]) -> None:
        """Waiting, evicted and finished workloads hold no quota."""
        changes = [
            change(1, workload("a", "vision", 24)),
            change(2, workload("a", "vision", 24, conditions=conditions)),
            change(3, workload("b", "vision", 24)),
        ]

        assert [] == quota_breaches(plan(QUEUES), changes)

    def test_an_evicted_workload_holds_its_quota_until_it_is_taken_back(self) -> None:
        """Kueue says Evicted first and takes the quota back once the pods are gone; nobody else may have it before."""
        evicted = {"QuotaReserved": True, "Evicted": True}
        changes = [
            change(1, workload("a", "vision", 24)),
            change(2, workload("a", "vision", 24, conditions=evicted)),
            change(3, workload("b", "research", 8)),
        ]

        assert [3] == [one.version for one in quota_breaches(plan(QUEUES), changes)]

    def test_a_deleted_workload_holds_nothing(self) -> None:
        """The change of a deletion carries the last object, with its admission."""
        changes = [
            change(1, workload("a", "vision", 24), "ADDED"),
            change(2, workload("a", "vision", 24), "DELETED"),
            change(3, workload("b", "vision", 24), "ADDED"),
        ]

        assert [] == quota_breaches(plan(QUEUES), changes)

    def test_pods_that_are_over_give_their_part_back(self) -> None:
        """Two of six pods with four GPUs each have ended: 16 of 24 are held, and 8 are free for another."""
        running = workload("a", "vision", 24, pods=6)
        later = workload("a", "vision", 24, pods=6, reclaimable=2)
        other = change(3, workload("b", "vision", 8))

        assert [] == quota_breaches(plan(QUEUES), [change(1, running), change(2, later), other])
        assert [3, 3] == [one.version for one in quota_breaches(plan(QUEUES), [change(1, running), other])]

    def test_each_time_is_one_breach(self) -> None:
        """A limit that is exceeded, kept and exceeded again is two breaches, not one per change."""
        changes = [
            change(1, workload("a", "etl", 9)),
            change(2, workload("b", "etl", 1)),
            change(3, workload("a", "etl", 9), "DELETED"),
            change(4, workload("c", "etl", 8)),
        ]

        assert [1, 4] == [one.version for one in quota_breaches(plan(QUEUES), changes)]

    def test_a_breach_reads_as_a_sentence(self) -> None:
        """It says who held how much of what against which limit, and which change did it."""
        [found] = quota_breaches(plan(QUEUES), [change(5, workload("a", "etl", 9))])

        assert (
            "queue etl held 9 of nvidia.com/gpu of flavor v100, 1 above its limit of 8, from version 5 on, by ai/a"
            == str(found)
        )


class TestCapacity:
    def test_a_full_node_is_no_breach(self) -> None:
        """All that is allocatable may be requested, over and over as pods end."""
        changes = [
            change(1, node(), "ADDED"),
            change(2, pod("a", "16", "64Gi", 4)),
            change(3, pod("b", "16", "64Gi", 4)),
            change(4, pod("a", "16", "64Gi", 4, phase="Succeeded")),
            change(5, pod("c", "16", "64Gi", 4)),
            change(6, pod("b", "16", "64Gi", 4), "DELETED"),
            change(7, pod("d", "16", "64Gi", 4)),
        ]

        assert [] == overcommitted(changes)

    def test_a_pod_too_soon(self) -> None:
        """The third pod takes the room of one that is being deleted and still there."""
        changes = [
            change(1, node(), "ADDED"),
            change(2, pod("a", "16", "16Gi", 4)),
            change(3, pod("b", "16", "16Gi", 4)),
            change(4, pod("c", "8", "16Gi", 4)),
            change(5, pod("a", "16", "16Gi", 4), "DELETED"),
        ]

        assert [
            Breach(4, 4.0, "node v100-0", "cpu", 40000, 32000, "ai/c"),
            Breach(4, 4.0, "node v100-0", GPU, 12, 8, "ai/c"),
        ] == overcommitted(changes)

    def test_too_many_pods(self) -> None:
        """Pods that request nothing are counted, too."""
        changes = [change(1, node()), *(change(n, pod(str(n), "0", "0")) for n in range(2, 6))]

        assert [Breach(5, 5.0, "node v100-0", "pods", 4, 3, "ai/5")] == overcommitted(changes)

    def test_pods_without_a_node_take_no_room(self) -> None:
        """A pod that waits holds nothing."""
        changes = [change(1, node()), change(2, pod("a", "64", "1Gi", node=None))]

        assert [] == overcommitted(changes)

    def test_a_node_that_loses_what_its_pods_hold(self) -> None:
        """The change may be the node's."""
        changes = [
            change(1, node()),
            change(2, pod("a", "16", "64Gi", 8)),
            change(3, node(gpus=7)),
        ]

        assert [Breach(3, 3.0, "node v100-0", GPU, 8, 7, "v100-0")] == overcommitted(changes)


class TestHeadroom:
    @pytest.mark.parametrize("form", ["form: reserve", "form: filter", "form: curve"])
    def test_what_is_left_is_counted_from_the_machine(self, form: str) -> None:
        """32 cores and 128Gi less 2 and 8Gi: 30 cores and 120Gi may be requested, in every form."""
        capped = plan(CAP.replace("FORM", form))
        full = [change(1, node()), change(2, pod("a", "30", "120Gi"))]

        assert [] == headroom_breaches(capped, full)
        assert [
            Breach(3, 3.0, "node v100-0", "cpu", 30500, 30000, "ai/b"),
            Breach(3, 3.0, "node v100-0", "memory", 121 * GI, 120 * GI, "ai/b"),
        ] == headroom_breaches(capped, [*full, change(3, pod("b", "500m", "1Gi"))])

    def test_without_a_cap(self) -> None:
        """No headroom, no breach."""
        assert [] == headroom_breaches(plan(), [change(1, node()), change(2, pod("a", "32", "128Gi"))])

    def test_a_whole_node_pod_may_use_the_headroom(self) -> None:
        """With the exemption a pod of all 8 GPUs may, one of 7 may not; after it nobody may add to it."""
        exempt = plan(CAP.replace("FORM", "form: filter, exemptWholeNode: true"))
        whole = [change(1, node()), change(2, pod("a", "32", "100Gi", 8))]

        assert [] == headroom_breaches(exempt, whole)
        assert [Breach(2, 2.0, "node v100-0", "cpu", 32000, 30000, "ai/a")] == headroom_breaches(
            exempt, [change(1, node()), change(2, pod("a", "32", "100Gi", 7))]
        )
        assert [Breach(3, 3.0, "node v100-0", "cpu", 32000, 30000, "ai/b")] == headroom_breaches(
            exempt, [*whole, change(3, pod("b", "0", "1Gi"))]
        )

    def test_without_the_exemption_a_whole_node_pod_is_like_any_other(self) -> None:
        """The exemption is the profile's to give."""
        capped = plan(CAP.replace("FORM", "form: filter"))

        assert [2] == [
            one.version
            for one in headroom_breaches(capped, [change(1, node()), change(2, pod("a", "32", "100Gi", 8))])
        ]
