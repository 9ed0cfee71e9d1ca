"""NodeFeatureRules: node-feature-discovery labels and taints the nodes of a pool by what it finds on them.

Sources: node-feature-discovery v0.17.3 (api/nfd/v1alpha1, pkg/apis/nfd/validate), the version that the device
plugin's chart brings; PCI identifiers from pci.ids of 2026-08-22.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...document import Because, Document, Output, Unsupported
from ...plan.model import Plan, Pool
from ...plan.node_labels import within
from ...source import Path
from ..metadata import metadata
from ..taints import taint_object
from .kubelet import compile_reserved

#: PCI vendor of NVIDIA, and the devices that each GPU model is sold as.
NVIDIA_VENDOR = "10de"
NVIDIA_DEVICES: Mapping[str, tuple[str, ...]] = {
    "a10": ("2236",),
    "a100": ("20b0", "20b1", "20b2", "20b3", "20b5", "20f1"),
    "a10g": ("2237",),
    "a30": ("20b7",),
    "a40": ("2235",),
    "b200": ("2901",),
    "b300": ("3182",),
    "h100": ("2321", "2330", "2331", "2336", "2337", "2338", "2339", "233d"),
    "h20": ("2328", "2329", "232c"),
    "h200": ("2335", "233b"),
    "h800": ("2322", "2324", "233a"),
    "l20": ("26b7", "26ba"),
    "l4": ("27b8",),
    "l40": ("26b5",),
    "l40s": ("26b9",),
    "p100": ("15f7", "15f8", "15f9", "15fc"),
    "p4": ("1bb3",),
    "p40": ("1b38",),
    "t4": ("1eb8",),
    "v100": ("1db1", "1db2", "1db3", "1db4", "1db5", "1db6", "1db7", "1db8", "1df5"),
}

#: Domains of kubernetes.io in which a rule may set labels and taints; all others below it are refused.
LABEL_DOMAINS = ("feature.node.kubernetes.io", "profile.node.kubernetes.io")
TAINT_DOMAINS = ("feature.node.kubernetes.io",)


def compile_pool(plan: Plan, pool: Pool) -> Iterator[Output]:
    """The rule of the pool, and what its kubelets reserve."""
    match, why = _match(plan, pool)
    if match is None:
        yield Unsupported(
            f"a NodeFeatureRule that finds the nodes of pool {pool.name}",
            why.reason,
            "name the nodes in nodes, or provisioning: kubelet",
            (*pool.at, "provisioning"),
        )
    else:
        yield from _rule(plan, pool, match, why)
    yield from compile_reserved(plan, pool)


def _rule(plan: Plan, pool: Pool, match: dict[str, Any], why: Because) -> Iterator[Output]:
    labels = {key: value for key, value in pool.labels.items() if allowed(key, LABEL_DOMAINS)}
    taints = [taint for taint in pool.taints if allowed(taint.key, TAINT_DOMAINS)]
    for key in pool.labels:
        if key not in labels:
            yield _refused(f"label {key}", pool, (*pool.at, "labels"))
    for taint in pool.taints:
        if taint not in taints:
            yield _refused(f"taint {taint.key}", pool, (*pool.at, "taints"))
    rule: dict[str, Any] = {"name": pool.name, "labels": labels}
    at: Path = ("spec", "rules", 0)
    trace: dict[Path, Because] = {
        (*at, "labels"): Because(
            f"labels of pool {pool.name}", (("spec", "nodeLabels"), (*pool.at, "labels"))
        ),
        (*at, "matchFeatures"): why,
    }
    if taints:
        rule["taints"] = [taint_object(taint) for taint in taints]
        trace[(*at, "taints")] = Because(
            "nfd-master sets taints only with enableTaints, as in device-plugin/values.yaml",
            ((*pool.at, "taints"),),
        )
    rule["matchFeatures"] = [match]
    body = {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": metadata(plan, f"binpackgen-{pool.name}"),
        "spec": {"rules": [rule]},
    }
    whole = Because(
        f"node-feature-discovery labels the nodes of pool {pool.name}, also those that join later", (pool.at,)
    )
    yield Document(f"nodes/{pool.name}/node-feature-rule.yaml", body, whole, trace, wave=1)


def _match(plan: Plan, pool: Pool) -> tuple[dict[str, Any] | None, Because]:
    """The term that is true on the pool's nodes alone, or why there is none."""
    if pool.source.nodes:
        names = sorted(set(pool.source.nodes))
        match = {"feature": "system.name", "matchExpressions": {"nodename": {"op": "In", "value": names}}}
        return match, Because("the nodes that the pool names", ((*pool.at, "nodes"),))
    model = gpu_model(pool)
    if model is None:
        return None, Because(
            "nothing tells its nodes from others: they have no GPU whose PCI devices are known"
        )
    others = [other.name for other in plan.pools if other is not pool and gpu_model(other) == model]
    if others:
        return None, Because(f"GPUs alone do not tell its nodes from those of pool {', '.join(others)}")
    devices = list(NVIDIA_DEVICES[model])
    match = {
        "feature": "pci.device",
        "matchExpressions": {
            "vendor": {"op": "In", "value": [NVIDIA_VENDOR]},
            "device": {"op": "In", "value": devices},
        },
    }
    return match, Because(f"PCI devices of NVIDIA {model.upper()}", ((*pool.at, "gpu", "type"),))


def gpu_model(pool: Pool) -> str | None:
    """The model in NVIDIA_DEVICES that the pool's GPU type names: NVIDIA-A100-SXM4-80GB is a100."""
    gpu = pool.source.gpu
    if gpu is None:
        return None
    words = [
        word for word in re.split(r"[^a-z0-9]+", gpu.type.lower()) if word not in ("nvidia", "tesla", "")
    ]
    return words[0] if words and words[0] in NVIDIA_DEVICES else None


def allowed(key: str, domains: tuple[str, ...]) -> bool:
    """Whether a rule may set a label or taint of this key; keys without a domain are refused."""
    domain = key.rpartition("/")[0]
    return bool(domain) and (not within(domain, ("kubernetes.io",)) or within(domain, domains))


def _refused(what: str, pool: Pool, at: Path) -> Unsupported:
    return Unsupported(
        f"{what} on the nodes of pool {pool.name}",
        "node-feature-discovery sets no keys without a domain, and none of kubernetes.io but its own",
        "a key of a domain of your own, or provisioning: kubelet",
        at,
    )
