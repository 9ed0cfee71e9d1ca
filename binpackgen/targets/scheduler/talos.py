"""Talos: the configuration stands in the machine configuration of the control-plane nodes.

Talos writes the file itself and sets apiVersion, kind and the kubeconfig, so only the profiles are given.
`cluster.scheduler.config` exists since Talos 1.6 and is deprecated in 1.14, which has a document of its own,
KubeSchedulerConfig; giving both is an error. Talos 1.13 runs Kubernetes up to 1.36, Talos 1.14 from 1.32 to
1.37. Source: siderolabs/talos pkg/machinery/config/types/{v1alpha1,k8s}, release-1.13 and release-1.14.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...document import Because, Document, Output
from ...plan.model import Plan
from ...source import Path
from .configuration import (
    CONTROL_PLANE,
    SCHEDULER_IMAGE,
    below,
    scheduler_profiles,
    stock_image_losses,
)

#: First Kubernetes minor that only Talos with the document form runs.
DOCUMENT_MINOR = 37


def compile(plan: Plan) -> Iterator[Output]:
    """A patch of the machine configuration."""
    profiles, reasons = scheduler_profiles(plan, only_scheduler=True)
    settings: dict[str, Any] = {"config": {"profiles": profiles}}
    image = plan.spec.kubernetes.scheduler_image
    if image is not None:
        settings = {"image": image, **settings}
    if plan.minor >= DOCUMENT_MINOR:
        at: Path = ()
        body = {"apiVersion": "v1alpha1", "kind": "KubeSchedulerConfig", **settings}
        form = (
            "Kubernetes 1.37 needs Talos 1.14, whose machine configuration has a document for the scheduler"
        )
    else:
        at = ("cluster", "scheduler")
        body = {"cluster": {"scheduler": settings}}
        form = (
            f"Talos up to 1.13, which runs Kubernetes 1.{plan.minor}, takes the configuration under "
            "cluster.scheduler; a machine configuration that Talos 1.14 generated refuses it beside its own "
            "KubeSchedulerConfig document"
        )
    trace = below((*at, "config", "profiles"), reasons)
    if image is not None:
        trace[(*at, "image")] = Because("stated in the profile", (SCHEDULER_IMAGE,))
    yield Document(
        path="scheduler/talos.yaml",
        body=body,
        why=Because(
            f"{form}; patch each control-plane machine once, since Talos appends lists", (CONTROL_PLANE,)
        ),
        trace=trace,
        sync=False,
    )
    yield from stock_image_losses(plan)
