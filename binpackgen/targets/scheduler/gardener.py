"""Gardener: one of two fixed profiles in the Shoot.

bin-packing is MostAllocated over cpu and memory with NodeResourcesFit weight 1, without
NodeResourcesBalancedAllocation; a webhook writes bin-packing-scheduler into pods that name no scheduler.
Source: gardener/gardener v1.150, pkg/component/kubernetes/scheduler/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...document import Because, Document, Output
from ...plan.model import Plan
from .configuration import CONTROL_PLANE
from .losses import managed_losses


def compile(plan: Plan) -> Iterator[Output]:
    """A merge patch of the Shoot, and what it cannot express."""
    yield Document(
        path="scheduler/gardener.yaml",
        body={
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "Shoot",
            "spec": {"kubernetes": {"kubeScheduler": {"profile": "bin-packing"}}},
        },
        why=Because(
            "a merge patch of the cluster's Shoot, for the garden cluster: `kubectl patch shoot NAME --type merge "
            "--patch-file scheduler/gardener.yaml`",
            (CONTROL_PLANE,),
        ),
        trace={
            ("spec", "kubernetes", "kubeScheduler", "profile"): Because(
                "the nearest that Gardener has: NodeResourcesFit 1, MostAllocated over cpu and memory",
                (CONTROL_PLANE, ("spec", "packing", "strategy")),
            )
        },
        sync=False,
    )
    yield from managed_losses(plan, "Gardener", "bin-packing-scheduler")
