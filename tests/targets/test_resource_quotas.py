"""ResourceQuotas scoped by PriorityClass."""

from __future__ import annotations

from binpackgen.document import Document
from binpackgen.targets import resource_quotas
from tests.targets.plan_factory import plan

SPEC = """
nodePools:
  - {name: a100, count: 4, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 8}, reserved: {evictionMemory: 0}}
  - {name: cpu, count: 2, cpu: 16, memory: 64Gi, reserved: {evictionMemory: 0}}
priorityTiers: [{name: batch-low, value: 10}, {name: batch.high, value: 20}]
queues:
  - {name: research, namespaces: [r-a, r-b], quota: {a100: 50%}, tierLimits: {batch-low: 25%}}
  - {name: etl, namespaces: [etl], quota: {cpu: 100%}, tierLimits: {batch.high: {cpu: 5, memory: 10Gi}}}
"""


def documents(spec: str) -> list[Document]:
    return [one for one in resource_quotas.compile(plan(spec)) if isinstance(one, Document)]


def test_a_tier_limit_is_a_quota_in_each_namespace_of_the_queue() -> None:
    """Half of 4 nodes is 64 cores, 256Gi and 16 GPUs; a quarter of that is 16 cores, 64Gi and 4 GPUs."""
    first, second, _ = documents(SPEC)

    assert first.body == {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {
            "name": "research.batch-low",
            "namespace": "r-a",
            "labels": {
                "app.kubernetes.io/managed-by": "binpackgen",
                "app.kubernetes.io/part-of": "binpackgen",
                "binpackgen.dev/profile": "lab",
            },
        },
        "spec": {
            "hard": {"requests.cpu": "16", "requests.memory": "64Gi", "requests.nvidia.com/gpu": "4"},
            "scopeSelector": {
                "matchExpressions": [
                    {"scopeName": "PriorityClass", "operator": "In", "values": ["batch-low"]}
                ]
            },
        },
    }
    assert {**first.body, "metadata": {**first.body["metadata"], "namespace": "r-b"}} == second.body


def test_devices_outside_the_queue_are_limited_to_none() -> None:
    """A tier of a queue without GPU quota may hold no GPU: a key that is missing would not be limited."""
    quota = documents(SPEC)[2]

    assert quota.body["spec"]["hard"] == {
        "requests.cpu": "5",
        "requests.memory": "10Gi",
        "requests.nvidia.com/gpu": "0",
    }


def test_only_keys_that_are_counted_are_used() -> None:
    """GPUs are limited by requests.<device>; the bare name and limits.<device> are legal and never counted."""
    keys = {key for one in documents(SPEC) for key in one.body["spec"]["hard"]}

    assert {"requests.cpu", "requests.memory", "requests.nvidia.com/gpu"} == keys


def test_renamed_and_sliced_devices_have_keys_of_their_own() -> None:
    """What nodes offer under another name is limited under that name."""
    found = documents(
        """
        nodePools:
          - name: shared
            count: 1
            cpu: 8
            memory: 32Gi
            gpu: {type: t4, count: 2, sharing: {strategy: time-slicing, replicas: 4, rename: true}}
          - name: sliced
            count: 1
            cpu: 8
            memory: 32Gi
            gpu: {type: a30, count: 1, mig: {strategy: mixed, slices: [{profile: 1g.6gb+me, count: 4}]}}
        priorityTiers: [{name: low, value: 1}]
        queues: [{name: q, namespaces: [q], quota: {t4: 100%, a30: 100%}, tierLimits: {low: 50%}}]
        """
    )

    assert {key: value for key, value in found[0].body["spec"]["hard"].items() if "nvidia" in key} == {
        "requests.nvidia.com/gpu.shared": "4",
        "requests.nvidia.com/mig-1g.6gb.me": "2",
    }


def test_names_of_different_queues_and_tiers_never_meet() -> None:
    """Queue a with tier b-c and queue a-b with tier c make different names."""
    found = documents(
        """
        priorityTiers: [{name: b-c, value: 1}, {name: c, value: 2}]
        queues:
          - {name: a, namespaces: [shared], quota: {cpu: 50%}, tierLimits: {b-c: 50%}}
          - {name: a-b, namespaces: [shared], quota: {cpu: 50%}, tierLimits: {c: 50%}}
        """
    )

    assert [one.body["metadata"]["name"] for one in found] == ["a.b-c", "a-b.c"]


def test_no_limits_no_documents() -> None:
    """Queues without tierLimits make no quota."""
    assert documents("queues: [{name: q, namespaces: [q], quota: {cpu: 100%}}]") == []
