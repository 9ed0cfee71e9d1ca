"""Kueue objects."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from binpackgen.document import Document
from binpackgen.quantity import Quantity
from binpackgen.targets import kueue
from tests.targets.plan_factory import plan

LABELS = {
    "app.kubernetes.io/managed-by": "binpackgen",
    "app.kubernetes.io/part-of": "binpackgen",
    "binpackgen.dev/profile": "lab",
}
NO_EVICTION = "reserved: {evictionMemory: 0}"
POOLS = f"""
nodePools:
  - {{name: a100, count: 4, cpu: 32, memory: 128Gi, gpu: {{type: a100, count: 8}}, {NO_EVICTION}}}
  - {{name: cpu, count: 2, cpu: 16, memory: 64Gi, {NO_EVICTION}}}
"""


def documents(spec: str, kind: str | None = None) -> list[Document]:
    found = [one for one in kueue.compile(plan(spec)) if isinstance(one, Document)]
    return [one for one in found if kind in (None, one.body["kind"])]


def bodies(spec: str, kind: str) -> list[dict[str, Any]]:
    return [one.body for one in documents(spec, kind)]


def kueue_object(kind: str, name: str, spec: dict[str, Any], **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name, **metadata, "labels": LABELS},
        "spec": spec,
    }


def resources(cpu: str, memory: str, gpus: str, **limits: str) -> list[dict[str, str]]:
    amounts = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpus}
    return [{"name": name, "nominalQuota": amount, **limits} for name, amount in amounts.items()]


class TestResourceFlavor:
    """Flavors: kinds of nodes."""

    QUEUES = "queues: [{name: q, namespaces: [q], quota: {a100: 50%, cpu: 50%}}]\n"

    def test_gpu_flavors_declare_and_tolerate_their_taint(self) -> None:
        """A flavor with a taint brings the toleration, so that jobs without one are admitted; CPU flavors have none."""
        taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}

        assert [
            kueue_object("ResourceFlavor", "cpu", {"nodeLabels": {"binpackgen.dev/gpu-type": "none"}}),
            kueue_object(
                "ResourceFlavor",
                "a100",
                {
                    "nodeLabels": {"binpackgen.dev/gpu-type": "a100"},
                    "nodeTaints": [taint],
                    "tolerations": [
                        {
                            "key": "nvidia.com/gpu",
                            "operator": "Equal",
                            "value": "present",
                            "effect": "NoSchedule",
                        }
                    ],
                },
            ),
        ] == bodies(POOLS + self.QUEUES, "ResourceFlavor")

    def test_flavors_without_quota_are_left_out(self) -> None:
        """A kind of node that no queue has a quota of needs no flavor."""
        found = bodies(POOLS + "queues: [{name: q, namespaces: [q], quota: {cpu: 50%}}]", "ResourceFlavor")

        assert [one["metadata"]["name"] for one in found] == ["cpu"]

    def test_taints_of_single_pools_are_tolerated_but_not_declared(self) -> None:
        """A job of the flavor may run in each of its pools; a taint that only one pool has keeps no job out."""
        (flavor,) = bodies(
            """
            nodePools:
              - {name: old, count: 1, cpu: 8, memory: 32Gi, taints: [{key: a, value: x}, {key: b, effect: NoExecute}]}
              - {name: new, count: 1, cpu: 8, memory: 32Gi, taints: [{key: a, value: x}, {key: c, effect: PreferNoSchedule}]}
            queues: [{name: q, namespaces: [q], quota: {cpu: 50%}}]
            """,
            "ResourceFlavor",
        )

        assert flavor["spec"] == {
            "nodeLabels": {"binpackgen.dev/gpu-type": "none"},
            "nodeTaints": [{"key": "a", "value": "x", "effect": "NoSchedule"}],
            "tolerations": [
                {"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
                {"key": "b", "operator": "Equal", "effect": "NoExecute"},
            ],
        }

    def test_topology_levels_make_a_topology_that_flavors_name(self) -> None:
        """Levels are kept in the profile's order, and every flavor uses the one topology."""
        spec = (
            POOLS + self.QUEUES + "queueing: {topologyLevels: [example.com/rack, kubernetes.io/hostname]}\n"
        )

        assert [
            kueue_object(
                "Topology",
                "lab",
                {"levels": [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
            )
        ] == bodies(spec, "Topology")
        assert [one["spec"]["topologyName"] for one in bodies(spec, "ResourceFlavor")] == ["lab", "lab"]


class TestClusterQueue:
    """Quotas, borrowing, preemption."""

    def test_whole_document(self) -> None:
        """Half of 4 nodes of 32 cores, 128Gi and 8 GPUs is 64 cores, 256Gi and 16 GPUs."""
        spec = (
            POOLS
            + "queues: [{name: research, namespaces: [b, a], quota: {a100: 50%, cpu: 25%}, borrows: true}]"
        )

        assert [
            kueue_object(
                "ClusterQueue",
                "research",
                {
                    "cohortName": "lab",
                    "namespaceSelector": {
                        "matchExpressions": [
                            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}
                        ]
                    },
                    "resourceGroups": [
                        {
                            "coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
                            "flavors": [
                                {"name": "cpu", "resources": resources("8", "32Gi", "0")},
                                {"name": "a100", "resources": resources("64", "256Gi", "16")},
                            ],
                        }
                    ],
                    "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
                },
            )
        ] == bodies(spec, "ClusterQueue")

    def test_a_queue_that_neither_borrows_nor_lends_says_so(self) -> None:
        """In a cohort the limits default to no limit, so 0 is written for every resource."""
        (queue,) = bodies(
            POOLS + "queues: [{name: q, namespaces: [q], quota: {cpu: 100%}, lends: false, cohort: c}]",
            "ClusterQueue",
        )

        assert [
            {
                "name": "cpu",
                "resources": resources("32", "128Gi", "0", borrowingLimit="0", lendingLimit="0"),
            }
        ] == queue["spec"]["resourceGroups"][0]["flavors"]

    def test_a_queue_alone_has_no_cohort_and_no_limits(self) -> None:
        """Without a cohort Kueue refuses borrowing and lending limits, and there is nothing to reclaim."""
        (queue,) = bodies(
            POOLS + "queues: [{name: q, namespaces: [q], quota: {cpu: 100%}, lends: false}]", "ClusterQueue"
        )

        assert "cohortName" not in queue["spec"]
        assert queue["spec"]["preemption"] == {"withinClusterQueue": "LowerPriority"}
        assert [{"name": "cpu", "resources": resources("32", "128Gi", "0")}] == queue["spec"][
            "resourceGroups"
        ][0]["flavors"]

    def test_what_differs_from_kueues_defaults_is_written(self) -> None:
        """Strategy and weight appear when stated; preemption that never happens does not."""
        (queue,) = bodies(
            POOLS
            + """
queues:
  - name: q
    namespaces: [q]
    quota: {cpu: 100%}
    strategy: StrictFIFO
    weight: 3
    preemption: {withinClusterQueue: Never, reclaimWithinCohort: Never}
""",
            "ClusterQueue",
        )

        assert queue["spec"]["queueingStrategy"] == "StrictFIFO"
        assert queue["spec"]["fairSharing"] == {"weight": "3"}
        assert "preemption" not in queue["spec"]

    def test_fair_sharing_spells_the_weight_out(self) -> None:
        """Where the controller shares fairly, a weight of 1 is a statement and not an omission."""
        spec = (
            POOLS + "queueing: {fairSharing: true}\nqueues: [{name: q, namespaces: [q], quota: {cpu: 100%}}]"
        )

        assert bodies(spec, "ClusterQueue")[0]["spec"]["fairSharing"] == {"weight": "1"}

    def test_a_pool_of_64_nodes_is_not_counted_in_nodes(self) -> None:
        """The whole of 64 nodes with 32 cores, 128Gi and 8 GPUs is 2048 cores, 8192Gi and 512 GPUs (case kq08)."""
        (queue,) = bodies(
            f"""
            nodePools:
              - {{name: n32, count: 64, cpu: 32, memory: 128Gi, gpu: {{type: a100, count: 8}}, {NO_EVICTION}}}
            queues: [{{name: all, namespaces: [team-a], quota: {{n32: 100%}}, lends: false}}]
            """,
            "ClusterQueue",
        )

        assert [{"name": "a100", "resources": resources("2048", "8Ti", "512")}] == queue["spec"][
            "resourceGroups"
        ][0]["flavors"]

    def test_what_the_reason_says_adds_up(self) -> None:
        """The reason of a quota names the share, the whole and how it comes from the pools."""
        (queue,) = documents(
            POOLS + "queues: [{name: q, namespaces: [q], quota: {a100: 75%}}]", "ClusterQueue"
        )
        path = ("spec", "resourceGroups", 0, "flavors", 0, "resources", 2, "nominalQuota")
        because = queue.because(path)

        assert because.reason == "75% of nvidia.com/gpu: the nodes of flavor a100 hold 32 for jobs (4 x 8)"
        assert because.paths == (("spec", "queues", 0, "quota", "a100"), ("spec", "nodePools", 0))

    @given(
        shares=st.lists(st.integers(0, 100), min_size=1, max_size=5).filter(
            lambda shares: sum(shares) <= 100
        ),
        nodes=st.integers(1, 50),
        cpu=st.integers(1, 128),
        memory=st.integers(1, 2048),
        gpus=st.integers(1, 16),
    )
    def test_shares_of_at_most_100_percent_never_add_up_to_more_than_there_is(
        self, shares: list[int], nodes: int, cpu: int, memory: int, gpus: int
    ) -> None:
        """The nominal quotas of all queues together fit into the nodes, whatever the shares."""
        lines = "\n".join(
            f"  - {{name: q{n}, namespaces: [n{n}], quota: {{p: {share}%}}}}"
            for n, share in enumerate(shares)
        )
        found = bodies(
            f"nodePools:\n  - {{name: p, count: {nodes}, cpu: {cpu}, memory: {memory}Gi, "
            f"gpu: {{type: x, count: {gpus}}}, {NO_EVICTION}}}\nqueues:\n{lines}\n",
            "ClusterQueue",
        )
        quotas = [
            {one["name"]: Quantity(one["nominalQuota"]) for one in flavor["resources"]}
            for queue in found
            for flavor in queue["spec"]["resourceGroups"][0]["flavors"]
        ]

        assert sum(one["cpu"].milli_value() for one in quotas) <= nodes * cpu * 1000
        assert sum(one["memory"].value() for one in quotas) <= nodes * memory * 2**30
        assert sum(one["nvidia.com/gpu"].value() for one in quotas) <= nodes * gpus


class TestCohortsAndLocalQueues:
    """The objects around the queues."""

    def test_only_cohorts_with_a_parent_need_an_object(self) -> None:
        """Naming a cohort creates it; the object exists to say where it belongs."""
        spec = POOLS + (
            "queues: [{name: q, namespaces: [q], quota: {cpu: 100%}, cohort: research}]\n"
            "queueing: {cohorts: [{name: research, parent: company}, {name: company}]}\n"
        )

        assert [kueue_object("Cohort", "research", {"parentName": "company"})] == bodies(spec, "Cohort")

    def test_each_namespace_has_a_local_queue_of_the_queues_name(self) -> None:
        """Jobs of every namespace submit by the same name."""
        spec = POOLS + "queues: [{name: etl, namespaces: [etl-a, etl-b], quota: {cpu: 100%}}]"

        assert [
            kueue_object("LocalQueue", "etl", {"clusterQueue": "etl"}, namespace="etl-a"),
            kueue_object("LocalQueue", "etl", {"clusterQueue": "etl"}, namespace="etl-b"),
        ] == bodies(spec, "LocalQueue")

    def test_what_others_refer_to_comes_first(self) -> None:
        """Waves rise from topologies and flavors over cohorts and cluster queues to local queues."""
        spec = POOLS + (
            "queues: [{name: q, namespaces: [q], quota: {cpu: 100%}, cohort: research}]\n"
            "queueing: {cohorts: [{name: research, parent: company}], topologyLevels: [kubernetes.io/hostname]}\n"
        )

        assert [(one.path, one.wave) for one in documents(spec)] == [
            ("kueue/topologies.yaml", 1),
            ("kueue/resource-flavors.yaml", 1),
            ("kueue/cohorts.yaml", 2),
            ("kueue/cluster-queues.yaml", 2),
            ("kueue/local-queues.yaml", 3),
        ]

    def test_no_queues_no_documents(self) -> None:
        """A profile without queues does not need Kueue, even where cohorts or levels are stated."""
        assert documents(POOLS + "queueing: {topologyLevels: [kubernetes.io/hostname]}") == []
