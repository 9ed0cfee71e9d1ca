"""Node pools: from capacity to what the scheduler sees and what jobs can have."""

from __future__ import annotations

from ..profile.models import NodeLabels, NodePool, Resources, Spec
from ..quantity import Quantity
from .model import Amount, Cap, PlannedTaint, Pool

#: Value of the GPU type label on nodes without GPUs.
NO_GPU = "none"

#: Prefix of the resources that the NVIDIA device plugin offers.
NVIDIA = "nvidia.com/"

#: Node label by which the NVIDIA device plugin finds its configuration (k8s-device-plugin v0.19.0, README).
DEVICE_PLUGIN_CONFIGURATION = "nvidia.com/device-plugin.config"


def plan_cap(spec: Spec) -> Cap | None:
    """The cap that the profile states, if any."""
    caps = spec.caps
    if caps is None:
        return None
    return Cap(
        cpu=caps.headroom.cpu.milli_value(),
        memory=caps.headroom.memory.value(),
        form=caps.form,
        exempt_whole_node=caps.exempt_whole_node,
        at=("spec", "caps"),
    )


def plan_pools(spec: Spec, cap: Cap | None) -> tuple[Pool, ...]:
    """Every pool with its amounts, labels and taints, in the profile's order."""
    return tuple(
        _plan_pool(pool, ("spec", "nodePools", index), spec.node_labels, cap)
        for index, pool in enumerate(spec.node_pools)
    )


def _plan_pool(source: NodePool, at: tuple[str | int, ...], keys: NodeLabels, cap: Cap | None) -> Pool:
    devices = offered_devices(source)
    capacity = Amount(source.cpu.milli_value(), source.memory.value(), devices)
    reserved = source.reserved
    kube, system = _amount(reserved.kube), _amount(reserved.system)
    if cap is not None and cap.form == "reserve":
        system = system.plus(Amount(cap.cpu, cap.memory))
    eviction = reserved.eviction_memory.value()
    # kubelet: allocatable = capacity - kubeReserved - systemReserved - hard eviction threshold
    # (pkg/kubelet/cm/node_container_manager_linux.go, getNodeAllocatableAbsolute)
    allocatable = capacity.less(kube).less(system).less(Amount(0, eviction))
    overhead = _amount(source.overhead)
    room = whole_room = allocatable.less(overhead)
    if cap is not None and cap.form == "filter":
        room = room.less(Amount(cap.cpu, cap.memory))
        whole_room = whole_room if cap.exempt_whole_node else room
    gpu_type = source.gpu.type if source.gpu else NO_GPU
    labels = {keys.pool: source.name, keys.gpu_type: gpu_type, **source.labels}
    if source.gpu is not None and source.gpu.resource.startswith(NVIDIA):
        # the device plugin's chart starts its pods only on nodes with one of three labels
        labels["nvidia.com/gpu.present"] = "true"
        configuration = device_plugin_configuration(source)
        if configuration is not None:
            labels[DEVICE_PLUGIN_CONFIGURATION] = configuration
    return Pool(
        name=source.name,
        at=at,
        source=source,
        gpu_type=gpu_type,
        nodes_min=source.count if source.count is not None else source.min or 0,
        nodes_max=source.count if source.count is not None else source.max or 0,
        capacity=capacity,
        kube_reserved=kube,
        system_reserved=system,
        eviction_memory=eviction,
        allocatable=allocatable,
        overhead=overhead,
        room=room,
        whole_room=whole_room,
        labels=dict(sorted(labels.items())),
        taints=_taints(source, devices),
    )


def offered_devices(pool: NodePool) -> dict[str, int]:
    """The extended resources that one node of the pool offers.

    Shared GPUs count once per replica; MIG slices count as nvidia.com/gpu (single) or by profile (mixed),
    with `+` written as a dot. Source: k8s-device-plugin v0.19.0, internal/rm and api/config/v1.
    """
    gpu = pool.gpu
    if gpu is None:
        return {}
    if gpu.mig is not None:
        if gpu.mig.strategy == "single":
            return {gpu.resource: sum(entry.count for entry in gpu.mig.slices)}
        domain = gpu.resource.partition("/")[0]
        mixed: dict[str, int] = {}
        for entry in gpu.mig.slices:
            name = f"{domain}/mig-{entry.profile.replace('+', '.')}"
            mixed[name] = mixed.get(name, 0) + entry.count
        return dict(sorted(mixed.items()))
    sharing = gpu.sharing
    if sharing is not None and sharing.replicas > 1:
        return {f"{gpu.resource}.shared" if sharing.rename else gpu.resource: gpu.count * sharing.replicas}
    return {gpu.resource: gpu.count}


def device_plugin_configuration(pool: NodePool) -> str | None:
    """Name of the device plugin's configuration for the pool: time-slicing-4, mig-mixed; None for whole GPUs."""
    gpu = pool.gpu
    if gpu is None or not gpu.resource.startswith(NVIDIA):
        return None
    if gpu.mig is not None:
        return f"mig-{gpu.mig.strategy}"
    sharing = gpu.sharing
    if sharing is None or sharing.replicas == 1:
        return None
    return f"{sharing.strategy}-{sharing.replicas}{'-renamed' if sharing.rename else ''}"


def _taints(source: NodePool, devices: dict[str, int]) -> tuple[PlannedTaint, ...]:
    if source.taints is not None:
        return tuple(PlannedTaint(taint.key, taint.value, taint.effect) for taint in source.taints)
    if source.gpu is None or not devices:
        return ()
    # value "present": the NFD worker that the device plugin's chart brings tolerates no other
    return (PlannedTaint(source.gpu.resource, "present", "NoSchedule"),)


def _amount(resources: Resources) -> Amount:
    return Amount(resources.cpu.milli_value(), resources.memory.value())


def cpu_text(millicores: int) -> str:
    """Canonical quantity of an amount of cpu: 2000 is "2", 1500 is "1500m"."""
    return str(Quantity.of_milli(millicores))


def memory_text(number_of_bytes: int) -> str:
    """Canonical quantity of an amount of memory: the largest binary unit that divides it."""
    return str(Quantity.of_bytes(number_of_bytes))
