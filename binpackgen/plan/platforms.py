"""How each control plane takes scheduler configuration, and what it cannot express.

Sources are named in the docs of the targets that emit the forms (targets/scheduler/).
"""

from __future__ import annotations

from typing import NamedTuple

from ..profile.models import Spec


class FixedScoring(NamedTuple):
    """What a managed scheduler scores with, whatever the profile says.

    `fit_weight` is the weight of NodeResourcesFit, None where it is not published; `balanced_off` says
    whether NodeResourcesBalancedAllocation is off; `scores_devices` whether resource weights can be given.
    All other scorers keep their upstream weights.
    """

    fit_weight: int | None
    balanced_off: bool
    scores_devices: bool


class Platform(NamedTuple):
    """One control plane form.

    `takes` is "file" (a whole KubeSchedulerConfiguration), "object" (an API with fewer words) or
    "deployment" (the scheduler is a Deployment of our own). `kubeconfig` is what the file must name so that
    the scheduler reaches its API server; None where the platform sets it or the pod's account is used.
    `fixed` says what the scheduler does where only an object can be given.
    """

    name: str
    takes: str
    kubeconfig: str | None = None
    fixed: FixedScoring | None = None

    @property
    def spreading_defaults_off(self) -> bool:
        """Whether PodTopologySpread's default constraints can be switched off."""
        return self.fixed is None

    @property
    def own_scheduler_name(self) -> bool:
        """Whether pods can choose the packing profile by a schedulerName of ours."""
        return self.fixed is None


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
        Platform("openshift", "object", None, FixedScoring(5, True, False)),
        Platform("eks", "object", None, FixedScoring(1, False, True)),
        Platform("gke", "object", None, FixedScoring(None, False, False)),
        Platform("gardener", "object", None, FixedScoring(1, True, False)),
    )
}


def scheduler_runs_in_cluster(spec: Spec) -> bool:
    """Whether the packing scheduler is a Deployment of our own."""
    return PLATFORMS[spec.kubernetes.control_plane].takes == "deployment"
