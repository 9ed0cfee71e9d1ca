"""The packing profile of kube-scheduler, in the form that the profile's control plane takes.

A control plane takes a whole KubeSchedulerConfiguration as a file (kubeadm, kind, k3s, RKE2, Talos) or inside
an API object (AKS), has an API with fewer words (OpenShift, EKS, GKE, Gardener), or stays closed while a
scheduler of our own runs as a Deployment beside it (second-scheduler).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...document import Output
from ...plan.model import Plan
from . import aks, deployment, eks, gardener, gke, kind, kubeadm, openshift, rancher, talos

_FORMS: dict[str, Callable[[Plan], Iterator[Output]]] = {
    "kubeadm": kubeadm.compile,
    "kind": kind.compile,
    "k3s": rancher.compile_k3s,
    "rke2": rancher.compile_rke2,
    "talos": talos.compile,
    "aks": aks.compile,
    "openshift": openshift.compile,
    "eks": eks.compile,
    "gke": gke.compile,
    "gardener": gardener.compile,
    "second-scheduler": deployment.compile,
}


def compile(plan: Plan) -> Iterator[Output]:
    """The scheduler configuration, and what the control plane cannot express of it."""
    return _FORMS[plan.control_plane](plan)
