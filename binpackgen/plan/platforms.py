"""How each control plane takes scheduler configuration, and what it cannot express.

Sources are named in the docs of the targets that emit the forms (targets/scheduler/).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..profile.models import Spec


@dataclass(frozen=True, slots=True)
class Platform:
    """One control plane form.

    `takes` is "file" (a whole KubeSchedulerConfiguration), "object" (an API with fewer words) or
    "deployment" (the scheduler is a Deployment of our own). `kubeconfig` is what the file must name so that
    the scheduler reaches its API server; None where the platform sets it or the pod's account is used.
    """

    name: str
    takes: str
    kubeconfig: str | None = None
    plugin_weights: bool = True
    spreading_defaults_off: bool = True
    own_scheduler_name: bool = True


PLATFORMS: dict[str, Platform] = {
    platform.name: platform
    for platform in (
        Platform("kubeadm", "file", "/etc/kubernetes/scheduler.conf"),
        Platform("kind", "file", "/etc/kubernetes/scheduler.conf"),
        Platform("k3s", "file", "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig"),
        Platform("rke2", "file", "/var/lib/rancher/rke2/server/cred/scheduler.kubeconfig"),
        Platform("talos", "file"),
        Platform("aks", "file"),
        Platform("second-scheduler", "deployment"),
        Platform("openshift", "object", None, False, False, False),
        Platform("eks", "object", None, False, False, False),
        Platform("gke", "object", None, False, False, False),
        Platform("gardener", "object", None, False, False, False),
    )
}


def scheduler_runs_in_cluster(spec: Spec) -> bool:
    """Whether the packing scheduler is a Deployment of our own."""
    return PLATFORMS[spec.kubernetes.control_plane].takes == "deployment"
