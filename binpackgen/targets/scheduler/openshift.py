"""OpenShift: one of three fixed profiles on the cluster's Scheduler object.

HighNodeUtilization is NodeResourcesFit weight 5 with MostAllocated over cpu and memory, without
NodeResourcesBalancedAllocation. Source: openshift/cluster-kube-scheduler-operator bindata/assets/config,
equal in release-4.14 to 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...document import Because, Document, Output
from ...plan.model import Plan
from ..metadata import metadata
from .configuration import CONTROL_PLANE
from .losses import managed_losses


def compile(plan: Plan) -> Iterator[Output]:
    """The Scheduler object, and what it cannot express."""
    yield Document(
        path="scheduler/openshift.yaml",
        body={
            "apiVersion": "config.openshift.io/v1",
            "kind": "Scheduler",
            "metadata": metadata(plan, "cluster"),
            "spec": {"profile": "HighNodeUtilization"},
        },
        why=Because("the operator rolls the profile out to every control-plane node", (CONTROL_PLANE,)),
        trace={
            ("spec", "profile"): Because(
                "the nearest that OpenShift has: NodeResourcesFit 5, MostAllocated over cpu and memory",
                (CONTROL_PLANE, ("spec", "packing", "strategy")),
            )
        },
    )
    yield from managed_losses(plan, "OpenShift")
