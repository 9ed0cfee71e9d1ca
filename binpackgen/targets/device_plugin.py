"""Values for the NVIDIA device plugin's Helm chart: one configuration per way of sharing or slicing GPUs.

Chart values become environment variables, which beat the configuration file on every node, so whatever
differs between pools stands in `config.map` alone (k8s-device-plugin v0.19.0, api/config/v1/config.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..canonical import to_yaml
from ..document import Because, Document, Output, Unsupported
from ..plan.model import Plan, PlannedTaint, Pool
from ..plan.pools import DEVICE_PLUGIN_CONFIGURATION, NVIDIA, device_plugin_configuration
from ..profile.models import Gpu
from ..source import Path

CHART_VERSION = "0.19.0"
NAMESPACE = "nvidia-device-plugin"

#: Resource of whole GPUs; the plugin ignores other names for them, with a warning.
WHOLE_GPU = "nvidia.com/gpu"

#: The chart's default tolerations. A list in the values replaces them, so they are repeated.
PLUGIN_TOLERATIONS: tuple[dict[str, str], ...] = (
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
)
#: The same for the worker of node-feature-discovery, which the chart brings; it tolerates one value only.
WORKER_TOLERATIONS: tuple[dict[str, str], ...] = (
    {"key": "node-role.kubernetes.io/master", "operator": "Equal", "value": "", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
)


def compile(plan: Plan) -> Iterator[Output]:
    """The values file; nothing where no pool has NVIDIA GPUs."""
    pools = []
    for pool in plan.pools:
        gpu = pool.source.gpu
        if gpu is None or not gpu.resource.startswith(NVIDIA):
            continue
        pools.append(pool)
        if gpu.resource != WHOLE_GPU:
            yield Unsupported(
                f"pool {pool.name} offering {gpu.resource}",
                f"the NVIDIA device plugin offers whole GPUs as {WHOLE_GPU} and ignores other names",
                f"state {WHOLE_GPU}, and sharing or mig where the nodes offer something else",
                (*pool.at, "gpu", "resource"),
            )
    if pools:
        yield _values(plan, pools)


def _values(plan: Plan, pools: Sequence[Pool]) -> Document:
    body: dict[str, Any] = {}
    trace: dict[Path, Because] = {}
    configurations = _configurations(pools)
    if configurations:
        body["config"] = {
            "map": {
                name: to_yaml(configuration).rstrip("\n")
                for name, (configuration, _) in configurations.items()
            }
        }
        for name, (_, members) in configurations.items():
            trace["config", "map", name] = (
                Because(
                    f"pools {', '.join(pool.name for pool in members)}, whose nodes choose it by the label "
                    f"{DEVICE_PLUGIN_CONFIGURATION}",
                    tuple((*pool.at, "gpu") for pool in members),
                )
                if members
                else Because("nodes without the label offer whole GPUs; this is the way to say: no sharing")
            )
    untolerated = _untolerated(pools, PLUGIN_TOLERATIONS)
    if untolerated:
        body["tolerations"] = [*map(dict, PLUGIN_TOLERATIONS), *untolerated]
        trace["tolerations",] = Because(
            "the chart's own two, since a list replaces them, and the taints of GPU pools that they do not cover",
            _taint_paths(pools),
        )
    body["gfd"] = {"enabled": True}
    trace["gfd",] = Because(
        "GPU feature discovery labels nodes with what their GPUs are; it brings node-feature-discovery"
    )
    nfd = _node_feature_discovery(plan, pools, trace)
    if nfd:
        body["nfd"] = nfd
    why = Because(
        f"helm upgrade --install nvdp nvdp/nvidia-device-plugin --version {CHART_VERSION} --namespace {NAMESPACE} "
        "--create-namespace -f device-plugin/values.yaml; the chart refuses the namespace default",
        tuple((*pool.at, "gpu") for pool in pools),
    )
    return Document("device-plugin/values.yaml", body, why, trace, sync=False)


def _configurations(pools: Iterable[Pool]) -> dict[str, tuple[dict[str, Any], list[Pool]]]:
    """Configuration files by name, each with its pools; none where all GPUs are whole."""
    named: dict[str, tuple[dict[str, Any], list[Pool]]] = {}
    for pool in pools:
        name, gpu = device_plugin_configuration(pool.source), pool.source.gpu
        if name is not None and gpu is not None:
            named.setdefault(name, (_configuration(gpu), []))[1].append(pool)
    if not named:
        return {}
    # An entry called default serves the nodes without a label; with several entries the chart insists on one.
    return {"default": ({"version": "v1"}, []), **dict(sorted(named.items()))}


def _configuration(gpu: Gpu) -> dict[str, Any]:
    if gpu.mig is not None:
        return {"version": "v1", "flags": {"migStrategy": gpu.mig.strategy}}
    sharing = gpu.sharing
    if sharing is None:
        return {"version": "v1"}
    shared: dict[str, Any] = {}
    if sharing.rename:
        shared["renameByDefault"] = True
    if sharing.strategy == "time-slicing":
        # asking for two slices gives neither two GPUs nor twice the time; MPS refuses it by itself
        shared["failRequestsGreaterThanOne"] = True
    shared["resources"] = [{"name": gpu.resource, "replicas": sharing.replicas}]
    kind = "timeSlicing" if sharing.strategy == "time-slicing" else "mps"
    return {"version": "v1", "sharing": {kind: shared}}


def _node_feature_discovery(plan: Plan, pools: Sequence[Pool], trace: dict[Path, Because]) -> dict[str, Any]:
    nfd: dict[str, Any] = {}
    labelled = [pool for pool in plan.pools if pool.source.provisioning == "nfd"]
    tainted = [pool for pool in labelled if pool.taints]
    if tainted:
        nfd["master"] = {"enableTaints": True}
        trace["nfd", "master"] = Because(
            "taints of a NodeFeatureRule are ignored without it", _taint_paths(tainted)
        )
    reached = [*pools, *(pool for pool in labelled if pool not in pools)]
    untolerated = _untolerated(reached, WORKER_TOLERATIONS)
    if untolerated:
        nfd["worker"] = {"tolerations": [*map(dict, WORKER_TOLERATIONS), *untolerated]}
        trace["nfd", "worker"] = Because(
            "the worker must run on every GPU node to publish its labels; the chart's own two tolerations, since "
            "a list replaces them, and the taints that they do not cover",
            _taint_paths(reached),
        )
    return nfd


def _untolerated(pools: Iterable[Pool], defaults: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """A toleration for each taint that keeps pods away and that `defaults` do not cover; any value of its key."""
    taints = dict.fromkeys(
        (taint.key, taint.effect)
        for pool in pools
        for taint in pool.taints
        if taint.effect != "PreferNoSchedule" and not any(tolerates(one, taint) for one in defaults)
    )
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(taints)]


def tolerates(toleration: dict[str, str], taint: PlannedTaint) -> bool:
    """Whether a pod with `toleration` may stay with `taint` (k8s.io/api core/v1, Toleration.ToleratesTaint)."""
    if toleration.get("effect", taint.effect) != taint.effect:
        return False
    if toleration.get("key", taint.key) != taint.key:
        return False
    return toleration.get("operator", "Equal") == "Exists" or toleration.get("value", "") == taint.value


def _taint_paths(pools: Iterable[Pool]) -> tuple[Path, ...]:
    return tuple((*pool.at, "taints") for pool in pools)
