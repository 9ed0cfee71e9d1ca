"""GKE: the autoscaling profile optimize-utilization, which also makes the scheduler prefer full nodes.

GKE then writes gke.io/optimize-utilization-scheduler into pods that name no scheduler; the weights of that
scheduler are not published. Source: cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...document import Because, Output, TextFile
from ...plan.model import Plan
from .configuration import CONTROL_PLANE
from .losses import managed_losses

SCRIPT = """\
#!/bin/sh
# Usage: gke.sh CLUSTER [--location=LOCATION] [--project=PROJECT]
# Prefers full nodes for new pods, and removes empty nodes sooner.
exec gcloud container clusters update "$@" --autoscaling-profile=optimize-utilization
"""


def compile(plan: Plan) -> Iterator[Output]:
    """The command, and what it cannot express."""
    yield TextFile(
        path="scheduler/gke.sh",
        text=SCRIPT,
        why=Because("the nearest that GKE has; it takes no scheduler configuration", (CONTROL_PLANE,)),
    )
    yield from managed_losses(
        plan,
        "GKE",
        "gke.io/optimize-utilization-scheduler",
        " (GKE warns that its autoscaler does not foresee what a custom scheduler does)",
    )
