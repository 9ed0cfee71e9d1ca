"""Karpenter NodePools (karpenter.sh/v1, Karpenter 1.9 and newer) for pools that Karpenter provisions.

Sources: karpenter v1.14.0 (pkg/apis/v1, pkg/apis/crds), and the labels of instance types and the node classes of
karpenter-provider-aws and karpenter-provider-azure (pkg/apis).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...document import Because, Document, Output, Unsupported
from ...plan.model import Plan, Pool
from ...plan.node_labels import within
from ...plan.pools import cpu_text
from ...source import Path
from ..metadata import metadata
from ..taints import taint_object
from .reserved import allocatable_reason, kubelet_settings

#: How long a node must see no pod come or go until it is removed: longer than the gap between a job that ends
#: and the next one that starts, so that a queue that still has work keeps its nodes.
CONSOLIDATE_AFTER = "5m"

MEBIBYTE = 2**20


class Provider(NamedTuple):
    """A cloud's node class, and the prefix of the labels by which its instance types are chosen."""

    group: str
    kind: str
    version: str
    prefix: str
    reserves: bool
    """Whether the node class takes kubelet settings such as kubeReserved."""
    upper_case_gpus: bool = False


AWS = Provider("karpenter.k8s.aws", "EC2NodeClass", "v1", "karpenter.k8s.aws/instance-", reserves=True)
AZURE = Provider(
    "karpenter.azure.com",
    "AKSNodeClass",
    "v1beta1",
    "karpenter.azure.com/sku-",
    reserves=False,
    upper_case_gpus=True,
)
#: Control planes that say which cloud it is; others are taken to be on AWS.
_PROVIDERS: dict[str, Provider | None] = {"aks": AZURE, "gke": None}


def compile_pool(plan: Plan, pool: Pool) -> Iterator[Output]:
    """A NodePool, and the part of the node class that the pool's numbers rest on."""
    provider = _PROVIDERS.get(plan.control_plane, AWS)
    if provider is None:
        yield Unsupported(
            f"a Karpenter NodePool for pool {pool.name}",
            f"{plan.control_plane} has no Karpenter provider that binpackgen knows",
            "provisioning: kubelet, with the settings in the platform's node pool",
            (*pool.at, "provisioning"),
        )
        return
    yield from _losses(plan, pool, provider)
    yield _node_pool(plan, pool, provider)
    yield from _node_class(plan, pool, provider)


def _losses(plan: Plan, pool: Pool, provider: Provider) -> Iterator[Unsupported]:
    if pool.nodes_min:
        key = "count" if pool.source.count is not None else "min"
        yield Unsupported(
            f"at least {pool.nodes_min} nodes in pool {pool.name}",
            "a NodePool has a most and no least; it shrinks to no nodes when no pod needs one",
            f"min: 0 and max: {pool.nodes_max}, or provisioning: kubelet for nodes that are always there",
            (*pool.at, key),
        )
    for key in pool.labels:
        if not _may_label(key, provider):
            yield Unsupported(
                f"label {key} on the nodes of pool {pool.name}",
                "Karpenter sets labels of this domain itself and refuses them in a NodePool",
                "a label of another domain",
                (*pool.at, "labels", key) if key in pool.source.labels else ("spec", "nodeLabels"),
            )
    gpu = pool.source.gpu
    unknown = [name for name in pool.capacity.devices if gpu is not None and name != gpu.resource]
    if unknown:
        yield Unsupported(
            f"nodes for pods that ask for {', '.join(unknown)} in pool {pool.name}",
            "Karpenter launches nodes for the resources of instance types, which list whole GPUs alone",
            "sharing without rename, MIG strategy single, or provisioning: kubelet",
            (*pool.at, "gpu"),
        )
    if not provider.reserves and plan.cap is not None and plan.cap.form == "reserve":
        yield Unsupported(
            f"the cap in reserve form on pool {pool.name}",
            f"an {provider.kind} takes no reserved resources",
            "caps.form: curve or filter",
            (*plan.cap.at, "form"),
        )


def _node_pool(plan: Plan, pool: Pool, provider: Provider) -> Document:
    requirements, trace = _requirements(pool, provider)
    template: dict[str, Any] = {
        "nodeClassRef": {"group": provider.group, "kind": provider.kind, "name": pool.name},
        "requirements": requirements,
    }
    if pool.taints:
        template["taints"] = [taint_object(taint) for taint in pool.taints]
        trace["spec", "template", "spec", "taints"] = Because("taints of the pool", ((*pool.at, "taints"),))
    labels = {key: value for key, value in pool.labels.items() if _may_label(key, provider)}
    body: dict[str, Any] = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": metadata(plan, pool.name),
        "spec": {
            "template": {"metadata": {"labels": labels}, "spec": template},
            "limits": {"cpu": cpu_text(pool.capacity.cpu * pool.nodes_max)},
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": CONSOLIDATE_AFTER},
        },
    }
    trace |= {
        ("spec", "template", "metadata", "labels"): Because(
            "every node that Karpenter launches for the pool gets these labels",
            (("spec", "nodeLabels"), (*pool.at, "labels")),
        ),
        ("spec", "template", "spec", "nodeClassRef"): Because(
            f"you supply the {provider.kind} {pool.name} (image, network, role), one per pool since it carries the "
            "pool's kubelet settings; group and kind cannot be changed later",
            (("spec", "kubernetes", "controlPlane"), (*pool.at, "name")),
        ),
        ("spec", "limits", "cpu"): Because(
            f"{pool.nodes_max} nodes of {cpu_text(pool.capacity.cpu)} cores at most",
            ((*pool.at, "count" if pool.source.count is not None else "max"), (*pool.at, "cpu")),
        ),
        ("spec", "disruption", "consolidationPolicy"): Because(
            "packing empties nodes by itself, and an empty node costs no work to remove; the default, "
            "WhenEmptyOrUnderutilized, evicts running jobs to save a node, and Karpenter does not know how the "
            "scheduler packs"
        ),
        ("spec", "disruption", "consolidateAfter"): Because(
            "longer than the gap between two jobs, so that a queue that still has work keeps its nodes"
        ),
    }
    why = Because(f"pool {pool.name} as Karpenter provisions it", (pool.at,))
    return Document(f"nodes/{pool.name}/node-pool.yaml", body, why, trace, wave=1)


def _requirements(pool: Pool, provider: Provider) -> tuple[list[dict[str, Any]], dict[Path, Because]]:
    """What the instance type must be, so that the labels and the pool's numbers hold for whatever is launched."""
    prefix, gpu = provider.prefix, pool.source.gpu
    cores = -(-pool.capacity.cpu // 1000)
    found: list[tuple[dict[str, Any], Because]] = [
        (
            _requirement("karpenter.sh/capacity-type", "In", "on-demand"),
            Because("without it Karpenter prefers spot instances, which end in the middle of a job"),
        ),
        (
            _requirement(f"{prefix}cpu", "In", str(cores)),
            Because("the pool's numbers hold for this many cores", ((*pool.at, "cpu"),)),
        ),
        (
            _requirement(f"{prefix}memory", "Gt", str(-(-pool.capacity.memory // MEBIBYTE) - 1)),
            Because("at least the pool's memory, in MiB", ((*pool.at, "memory"),)),
        ),
    ]
    if gpu is None:
        found.append(
            (
                {"key": f"{prefix}gpu-name", "operator": "DoesNotExist"},
                Because("a pool without GPUs must not buy any", (pool.at,)),
            )
        )
    else:
        name = gpu.type.upper() if provider.upper_case_gpus else gpu.type.lower()
        found += [
            (
                _requirement(f"{prefix}gpu-name", "In", name),
                Because(
                    "nodes get the label of this GPU type, so they must have it; where the cloud calls it "
                    "otherwise, Karpenter finds no instance type rather than a wrong one",
                    ((*pool.at, "gpu", "type"),),
                ),
            ),
            (
                _requirement(f"{prefix}gpu-count", "In", str(gpu.count)),
                Because("GPUs of one node", ((*pool.at, "gpu", "count"),)),
            ),
        ]
    if pool.source.zones:
        found.append(
            (
                _requirement("topology.kubernetes.io/zone", "In", *sorted(set(pool.source.zones))),
                Because("zones of the pool", ((*pool.at, "zones"),)),
            )
        )
    at: Path = ("spec", "template", "spec", "requirements")
    return [one for one, _ in found], {(*at, index): why for index, (_, why) in enumerate(found)}


def _requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def _node_class(plan: Plan, pool: Pool, provider: Provider) -> Iterator[Document]:
    settings, settings_trace = kubelet_settings(plan, pool)
    spec: dict[str, Any] = {}
    trace: dict[Path, Because] = {}
    if provider.reserves and settings:
        spec["kubelet"] = settings
        trace = {("spec", "kubelet", *path): why for path, why in settings_trace.items()}
    elif "maxPods" in settings:
        spec["maxPods"] = settings["maxPods"]
        trace = {("spec", "maxPods"): settings_trace["maxPods",]}
    if not spec:
        return
    body = {
        "apiVersion": f"{provider.group}/{provider.version}",
        "kind": provider.kind,
        "metadata": {"name": pool.name},
        "spec": spec,
    }
    why = Because(
        f"merge this part into the {provider.kind} {pool.name} that you supply; {allocatable_reason(pool)}",
        (pool.at,),
    )
    yield Document(f"nodes/{pool.name}/node-class.yaml", body, why, trace, sync=False)


def _may_label(key: str, provider: Provider) -> bool:
    domain = key.rpartition("/")[0]
    return key != "kubernetes.io/hostname" and not within(domain, ("karpenter.sh", provider.group))
