"""What the preemption scenario makes of a profile, before any cluster runs."""

from __future__ import annotations

import pytest

from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import load_profile
from binpackgen_e2e.scenarios.preemption import _quota, _tiers, lacks

LAB = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm}
  nodePools:
    - {name: v100, count: 4, cpu: 32, memory: 128Gi, gpu: {type: v100, count: 8}}
    - {name: cpu, count: 2, cpu: 32, memory: 128Gi}
  queues:
    - {name: vision, namespaces: [ai], quota: {v100: 75%}, borrows: true}
    - {name: research, namespaces: [lab], quota: {v100: 25%}, PREEMPTION}
  jobs:
    - {name: eval, template: single-gpu, queue: vision, tier: middle, image: x,
       each: {cpu: 3, memory: 8Gi, gpu: {type: v100, count: 1}}}
  priorityTiers: TIERS
"""


def plan(tiers: str, preemption: str = "borrows: true") -> Plan:
    text = LAB.replace("TIERS", tiers).replace("PREEMPTION", preemption)
    return compile_plan(load_profile("-", text.encode()))


def tier(name: str, value: int, preempts: bool = True) -> str:
    return f"{{name: {name}, value: {value}, preempts: {str(preempts).lower()}}}"


FOUR = f"[{tier('top', 900)}, {tier('low', 10, False)}, {tier('middle', 50)}, {tier('calm', 70, False)}]"


@pytest.mark.parametrize(
    "tiers",
    ["[]", f"[{tier('middle', 1)}]", f"[{tier('low', 1)}, {tier('middle', 2, False)}]"],
    ids=["none", "one", "nobody preempts"],
)
def test_profiles_without_preemption(tiers: str) -> None:
    """Nobody to evict, or nobody who does: the scenario says what it needs."""
    assert "a priority tier that preempts a lower one" == lacks(plan(tiers))


def test_who_arrives_and_who_goes() -> None:
    """The lowest goes for the lowest and the highest that preempt it; queued jobs arrive in their own tier."""
    found = _tiers(plan(FOUR))

    assert found is not None
    assert ("low", "middle", "top", "top", ["middle", "calm"], "middle") == (
        found.low.name,
        found.first.name,
        found.high.name,
        found.top.name,
        [one.name for one in found.between],
        found.queued.name,
    )


def test_jobs_that_fill_a_flavor() -> None:
    """One device and its share of cpu and memory each: 24 jobs of vision and 8 of research fill four nodes."""
    found = _tiers(plan(FOUR))
    assert found is not None

    quota = _quota(plan(FOUR), found)

    assert quota is not None
    assert ("v100", 32, {"vision": 24, "research": 8}, {"nvidia.com/gpu": 1}) == (
        quota.flavor.name,
        quota.total,
        {queue.name: count for queue, count in quota.jobs},
        dict(quota.request.devices),
    )


def test_flavors_with_limits_per_tier_are_left_alone() -> None:
    """Pods of the tier might be refused by a ResourceQuota: the part is not run."""
    limited = plan(FOUR, "tierLimits: {low: 50%}")
    found = _tiers(limited)
    assert found is not None

    assert _quota(limited, found) is None
