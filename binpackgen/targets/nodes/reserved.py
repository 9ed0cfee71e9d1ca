"""What the kubelet keeps for itself, as settings of KubeletConfiguration."""

from __future__ import annotations

from typing import Any

from ...document import Because
from ...plan.model import Amount, Plan, Pool
from ...plan.pools import cpu_text, memory_text
from ...source import Path

#: pkg/kubelet/apis/config/v1beta1/defaults.go, v1.37.2
DEFAULT_MAX_PODS = 110
#: pkg/kubelet/eviction/defaults_linux.go, the same from v1.31 to v1.37; naming one signal drops the others,
#: and the setting that keeps them (mergeDefaultEvictionSettings) does not exist before v1.33
DEFAULT_EVICTION: dict[str, str] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}


def kubelet_settings(plan: Plan, pool: Pool) -> tuple[dict[str, Any], dict[Path, Because]]:
    """The settings that differ from the kubelet's defaults, and the reason for each."""
    settings: dict[str, Any] = {}
    trace: dict[Path, Because] = {}
    if pool.source.pods != DEFAULT_MAX_PODS:
        settings["maxPods"] = pool.source.pods
        trace["maxPods",] = Because("pods that one node may run", ((*pool.at, "pods"),))
    if reserved := _resources(pool.kube_reserved):
        settings["kubeReserved"] = reserved
        trace["kubeReserved",] = Because(
            "stated for kubelet and container runtime", ((*pool.at, "reserved", "kube"),)
        )
    if reserved := _resources(pool.system_reserved):
        settings["systemReserved"] = reserved
        for name in reserved:
            trace["systemReserved", name] = _system_reason(plan, pool, name)
    eviction = memory_text(pool.eviction_memory)
    if eviction != DEFAULT_EVICTION["memory.available"]:
        # 0 is refused, 0% switches the signal off (pkg/kubelet/eviction/helpers.go)
        settings["evictionHard"] = DEFAULT_EVICTION | {
            "memory.available": "0%" if eviction == "0" else eviction
        }
        trace["evictionHard",] = Because(
            "the kubelet's own thresholds, spelled out because naming one drops the others"
        )
        trace["evictionHard", "memory.available"] = Because(
            "stated; the threshold counts against allocatable", ((*pool.at, "reserved", "evictionMemory"),)
        )
    return settings, trace


def allocatable_reason(pool: Pool) -> str:
    """How allocatable follows from capacity, in numbers."""
    taken = [
        f"{text} {label}"
        for label, text in (
            ("kubeReserved", _both(pool.kube_reserved)),
            ("systemReserved", _both(pool.system_reserved)),
        )
        if text
    ]
    if pool.eviction_memory:
        taken.append(f"{memory_text(pool.eviction_memory)} eviction threshold")
    less = f" less {', '.join(taken)}" if taken else ""
    return f"allocatable is {_both(pool.allocatable)}: capacity {_both(pool.capacity)}{less}"


def _system_reason(plan: Plan, pool: Pool, name: str) -> Because:
    at: Path = (*pool.at, "reserved", "system", name)
    cap = plan.cap
    if cap is None or cap.form != "reserve":
        return Because("stated for the operating system", (at,))
    kept = {"cpu": cpu_text(cap.cpu), "memory": memory_text(cap.memory)}[name]
    stated = pool.source.reserved.system
    own = {"cpu": stated.cpu, "memory": stated.memory}[name]
    more = f", plus {own} for the operating system" if own else ""
    return Because(
        f"headroom {kept} of the cap stays free on every node{more}", ((*cap.at, "headroom", name), at)
    )


def _resources(amount: Amount) -> dict[str, str]:
    resources = {"cpu": cpu_text(amount.cpu), "memory": memory_text(amount.memory)}
    return {name: text for name, text in resources.items() if text != "0"}


def _both(amount: Amount) -> str:
    return " and ".join(f"{text} {name}" for name, text in _resources(amount).items())
