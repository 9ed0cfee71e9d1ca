"""k3s and RKE2: a file on every server, and a drop-in of their configuration that names it.

Both read /etc/rancher/<name>/config.yaml.d/*.yaml in alphabetic order; `key+` appends to a list instead of
replacing it, and arguments carry no leading dashes. RKE2 mounts the file into its static pod and puts a hash
of it into the manifest by itself (rancher/rke2 pkg/podtemplate/podtemplate.go, pkg/executor/staticpod); k3s
runs the scheduler in its own process (k3s-io/k3s pkg/daemons/control/server.go). Both read the file when the
service starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...document import Because, Document, Output
from ...plan.model import Plan
from ...plan.platforms import PLATFORMS
from .configuration import (
    CONTROL_PLANE,
    FILE,
    SCHEDULER_IMAGE,
    Trace,
    own_image_losses,
    scheduler_configuration,
    stock_image_losses,
)
from .kubeadm import configuration_file

DROP_IN = "config.yaml.d/50-binpackgen.yaml"


def compile_k3s(plan: Plan) -> Iterator[Output]:
    """The configuration file and the k3s drop-in."""
    yield from _files(plan, "/etc/rancher/k3s")
    yield from own_image_losses(plan, "k3s runs the scheduler inside its own process, not from an image")


def compile_rke2(plan: Plan) -> Iterator[Output]:
    """The configuration file and the RKE2 drop-in."""
    yield from _files(plan, "/etc/rancher/rke2", plan.spec.kubernetes.scheduler_image)
    yield from stock_image_losses(plan)


def _files(plan: Plan, folder: str, image: str | None = None) -> Iterator[Output]:
    target = f"{folder}/binpackgen/{FILE}"
    kubeconfig = PLATFORMS[plan.control_plane].kubeconfig
    yield configuration_file(
        scheduler_configuration(plan, kubeconfig=kubeconfig), f"copied to {target} on every server"
    )
    body: dict[str, Any] = {"kube-scheduler-arg+": [f"config={target}"]}
    trace: Trace = {}
    if image is not None:
        body["kube-scheduler-image"] = image
        trace[("kube-scheduler-image",)] = Because("stated in the profile", (SCHEDULER_IMAGE,))
    yield Document(
        path=f"scheduler/{DROP_IN}",
        body=body,
        why=Because(
            f"copied to {folder}/{DROP_IN} on every server; the + adds to arguments that earlier files set",
            (CONTROL_PLANE,),
        ),
        trace=trace,
        sync=False,
    )
