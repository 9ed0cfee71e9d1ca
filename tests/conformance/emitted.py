"""Everything that the example profiles and some dense specs compile to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from binpackgen.document import Document
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import load_profile
from binpackgen.targets.catalogue import compile_outputs
from tests.targets.plan_factory import plan

PROFILES = sorted((Path(__file__).resolve().parents[2] / "profiles").glob("*.yaml"))

#: Specs that use what the example profiles do not.
SPECS = {
    "sharing": """
        nodePools:
          - {name: sliced, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a30, count: 4, mig: {strategy: mixed, slices: [{profile: 1g.6gb+me, count: 4}, {profile: 2g.12gb, count: 8}]}}}
          - {name: single, count: 2, cpu: 32, memory: 128Gi, gpu: {type: h100, count: 4, mig: {strategy: single, slices: [{profile: 3g.40gb, count: 8}]}}}
          - {name: timed, count: 2, cpu: 32, memory: 128Gi, gpu: {type: t4, count: 4, sharing: {strategy: time-slicing, replicas: 4, rename: true}}, taints: [{key: dedicated, value: ml, effect: NoExecute}]}
          - {name: mps, count: 2, cpu: 32, memory: 128Gi, gpu: {type: l4, count: 4, sharing: {strategy: mps, replicas: 2}}, taints: [{key: nvidia.com/gpu, value: "true"}]}
        queues:
          - {name: q, namespaces: [q-a, q-b], quota: {a30: 50%, h100: 50%, t4: 50%, l4: {gpu: 3, cpu: 10%}}, borrows: true, weight: 3, strategy: StrictFIFO}
          - {name: best-effort, namespaces: [q-c], quota: {t4: 0%}, lends: false, cohort: low, preemption: {withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: Never}}
          - {name: alone, namespaces: [q-d], quota: {t4: 10%}, lends: false}
        queueing:
          fairSharing: true
          cohorts: [{name: low, parent: company}, {name: company}]
          topologyLevels: [example.com/block, example.com/rack, kubernetes.io/hostname]
        priorityTiers:
          - {name: filler, value: -2147483648, preempts: false, description: "fills gaps: yes"}
          - {name: top.tier, value: 1000000000, default: true}
        """,
    "nodes": """
        caps: {headroom: {cpu: 2, memory: 8Gi}}
        nodePools:
          - {name: own, count: 2, cpu: 32, memory: 128Gi, pods: 64, gpu: {type: v100, count: 4}, labels: {node-role.kubernetes.io/gpu: ""}, reserved: {kube: {cpu: 100m, memory: 1Gi}, system: {memory: 512Mi}, evictionMemory: 200Mi}}
          - {name: bought, max: 8, cpu: 96, memory: 1152Gi, gpu: {type: a100, count: 8}, provisioning: karpenter, zones: [eu-1a, eu-1b], pods: 64}
          - {name: bought-cpu, max: 8, cpu: 16, memory: 64Gi, provisioning: karpenter}
          - {name: found, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a30, count: 4}, provisioning: nfd}
          - {name: named, count: 2, cpu: 16, memory: 64Gi, provisioning: patch, nodes: [n-1, n-2.example.com], taints: [{key: example.com/spot}]}
        priorityTiers: [{name: low, value: 1}]
        queues: [{name: q, namespaces: [q], quota: {v100: 50%, cpu: 50%}, tierLimits: {low: 50%}}]
        """,
}


def plans() -> Iterator[Plan]:
    """Plans of the example profiles and of SPECS."""
    for path in PROFILES:
        yield compile_plan(load_profile(str(path)))
    for name, spec in SPECS.items():
        yield plan(spec, name)


@lru_cache
def emitted() -> tuple[tuple[str, Document], ...]:
    """All objects (documents that have a kind) as (profile, document)."""
    return tuple(
        (one.name, output)
        for one in plans()
        for output in compile_outputs(one)
        if isinstance(output, Document) and isinstance(output.body, dict) and "kind" in output.body
    )
