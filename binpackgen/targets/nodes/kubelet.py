"""Nodes that label and taint themselves when their kubelet registers them.

Sources: kubelet v1.37.2 (cmd/kubelet/app/options), RKE2 and k3s documentation of node-label and node-taint,
Talos 1.14 pkg/machinery/config/types/v1alpha1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...document import Because, Document, Output, TextFile, Unsupported
from ...plan.model import Plan, PlannedTaint, Pool
from ...plan.node_labels import may_label_itself
from ...source import Path
from ..taints import taint_object, taint_text
from .commands import label_command, selector
from .reserved import allocatable_reason, kubelet_settings

#: Folder for files that are merged into the kubelet's configuration.
_DROP_INS = {
    "k3s": "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
    "rke2": "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d",
}


def compile_pool(plan: Plan, pool: Pool) -> Iterator[Output]:
    """Kubelet settings in the form of the control plane, and commands for labels that no kubelet may set."""
    own = {key: value for key, value in pool.labels.items() if may_label_itself(key)}
    if plan.control_plane == "talos":
        yield from _machine(plan, pool, own, pool.taints)
    elif plan.control_plane in _DROP_INS:
        yield _rancher(plan, pool, own)
        yield from _configuration(plan, pool, ())
    else:
        yield _environment(pool, own)
        yield from _configuration(plan, pool, pool.taints)
    yield from _unset_reserve(plan, pool)
    yield from _other_labels(plan, pool, own)


def compile_reserved(plan: Plan, pool: Pool) -> Iterator[Output]:
    """Kubelet settings alone, for pools whose labels and taints come another way."""
    if plan.control_plane == "talos":
        yield from _machine(plan, pool, {}, ())
    else:
        yield from _configuration(plan, pool, ())
    yield from _unset_reserve(plan, pool)


def _configuration(plan: Plan, pool: Pool, taints: Sequence[PlannedTaint]) -> Iterator[Document]:
    settings, trace = kubelet_settings(plan, pool)
    if taints:
        settings["registerWithTaints"] = [taint_object(taint) for taint in taints]
        trace["registerWithTaints",] = _taints_reason(pool)
    if not settings:
        return
    body = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **settings}
    folder = _DROP_INS.get(plan.control_plane)
    delivery = (
        f"as a drop-in below {folder}"
        if folder
        else "as a kubeadm patch kubeletconfiguration+merge.yaml, a drop-in of the kubelet's --config-dir, or the "
        "node pool's settings of the platform"
    )
    why = Because(
        f"kubelet settings of pool {pool.name}, merged into the node's own configuration {delivery}; "
        f"{allocatable_reason(pool)}",
        (pool.at,),
    )
    yield Document(f"nodes/{pool.name}/kubelet-configuration.yaml", body, why, trace, sync=False)


def _unset_reserve(plan: Plan, pool: Pool) -> Iterator[Unsupported]:
    if plan.control_plane == "gke" and plan.cap is not None and plan.cap.form == "reserve":
        yield Unsupported(
            f"the cap in reserve form on pool {pool.name}",
            "GKE sets what the kubelet reserves itself",
            "caps.form: curve",
            (*plan.cap.at, "form"),
        )


def _environment(pool: Pool, own: dict[str, str]) -> TextFile:
    """The environment file that kubeadm's systemd unit reads; there is no configuration field for labels."""
    labels = ",".join(f"{key}={value}" for key, value in own.items())
    text = (
        "# kubeadm: /etc/default/kubelet (Debian, Ubuntu) or /etc/sysconfig/kubelet on the nodes of this pool.\n"
        "# Elsewhere: the labels of the platform's node pool.\n"
        "# A node takes the labels when it first registers; one that has joined is labelled with kubectl.\n"
        f"KUBELET_EXTRA_ARGS=--node-labels={labels}\n"
    )
    return TextFile(f"nodes/{pool.name}/kubelet.env", text, _labels_reason(pool))


def _rancher(plan: Plan, pool: Pool, own: Mapping[str, str]) -> Document:
    """Settings of k3s and RKE2; a key with + adds to what other files state."""
    body: dict[str, Any] = {"node-label+": [f"{key}={value}" for key, value in own.items()]}
    trace: dict[Path, Because] = {("node-label+",): _labels_reason(pool)}
    if pool.taints:
        body["node-taint+"] = [taint_text(taint) for taint in pool.taints]
        trace["node-taint+",] = _taints_reason(pool)
    why = Because(
        f"/etc/rancher/{plan.control_plane}/config.yaml.d/60-binpackgen.yaml of the nodes of pool {pool.name}",
        (pool.at,),
    )
    return Document(f"nodes/{pool.name}/config.yaml", body, why, trace, sync=False)


def _machine(
    plan: Plan, pool: Pool, own: Mapping[str, str], taints: Sequence[PlannedTaint]
) -> Iterator[Output]:
    """A Talos machine configuration patch."""
    settings, settings_trace = kubelet_settings(plan, pool)
    machine: dict[str, Any] = {}
    trace: dict[Path, Because] = {}
    if settings:
        machine["kubelet"] = {"extraConfig": settings}
        trace |= {("machine", "kubelet", "extraConfig", *path): why for path, why in settings_trace.items()}
    if own:
        machine["nodeLabels"] = dict(own)
        trace["machine", "nodeLabels"] = _labels_reason(pool)
    by_key = {taint.key: f"{taint.value}:{taint.effect}" for taint in taints}
    if by_key:
        machine["nodeTaints"] = by_key
        trace["machine", "nodeTaints"] = _taints_reason(pool)
    if len(by_key) < len(taints):
        yield Unsupported(
            f"several taints of one key on pool {pool.name}",
            "a Talos machine has one taint per key",
            "taints with keys of their own",
            (*pool.at, "taints"),
        )
    if not machine:
        return
    why = Because(
        f"talosctl patch mc --nodes NODES --patch @nodes/{pool.name}/machine-config.yaml for the machines of the "
        f"pool; {allocatable_reason(pool)}",
        (pool.at,),
    )
    yield Document(f"nodes/{pool.name}/machine-config.yaml", {"machine": machine}, why, trace, sync=False)


def _other_labels(plan: Plan, pool: Pool, own: dict[str, str]) -> Iterator[Output]:
    others = {key: value for key, value in pool.labels.items() if key not in own}
    if not others:
        return
    if plan.spec.node_labels.pool not in own:
        yield Unsupported(
            f"label {plan.spec.node_labels.pool} on the nodes of pool {pool.name}",
            "no kubelet may give its node this label, and without it the nodes of the pool cannot be selected",
            "a pool label outside kubernetes.io and k8s.io, or provisioning: patch with the nodes' names",
            ("spec", "nodeLabels", "pool"),
        )
        return
    text = (
        "# A kubelet that gives its node one of these labels does not start, so an API client sets them.\n"
        "# Run it again when nodes join.\n"
        f"{label_command(selector(plan, pool), others)}\n"
    )
    why = Because(
        "labels of kubernetes.io and k8s.io that a kubelet may not give its own node: " + ", ".join(others),
        ((*pool.at, "labels"), ("spec", "nodeLabels")),
    )
    yield TextFile(f"nodes/{pool.name}/commands.sh", text, why)


def _labels_reason(pool: Pool) -> Because:
    return Because(
        f"labels of pool {pool.name}: what selectors, Kueue flavors and the device plugin look for",
        (("spec", "nodeLabels"), (*pool.at, "labels"), pool.at),
    )


def _taints_reason(pool: Pool) -> Because:
    return Because("a node has these taints from its first registration on", ((*pool.at, "taints"),))
