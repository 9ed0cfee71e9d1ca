"""From a node's extended resources and labels to the GPUs that a profile states.

Resource names and labels of NVIDIA's device plugin and GPU feature discovery: k8s-device-plugin v0.19.0,
internal/lm/resource.go and internal/rm. Products are named by their labels, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ..plan.pools import NO_GPU
from ..profile.models import Gpu, Mig, MigSlice, Sharing

#: Labels that name a GPU type: the project's own, discovery agents of vendors, clouds, common habits.
TYPE_LABELS = (
    "binpackgen.dev/gpu-type",
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
    "gpu.intel.com/product",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "eks.amazonaws.com/instance-gpu-name",
    "karpenter.azure.com/sku-gpu-name",
    "gpu.nvidia.com/class",
    "k8s.amazonaws.com/accelerator",
    "accelerator",
    "gpu.type",
    "node.kubernetes.io/instance-type",
)
_OWN = TYPE_LABELS[0]

#: Most devices of a node that a profile states without sharing.
MOST_DEVICES = 128

_NVIDIA = "nvidia.com/gpu"
_RENAMED = "nvidia.com/gpu.shared"
_DEVICE = re.compile(
    r"[a-z0-9.-]+/gpu|nvidia\.com/gpu\.shared|gpu\.intel\.com/(i915|xe)|habana\.ai/gaudi"
    r"|aws\.amazon\.com/neuron|google\.com/tpu|huawei\.com/Ascend[A-Za-z0-9]+"
)
_SLICE = re.compile(r"nvidia\.com/mig-([1-7])(g\.[0-9]{1,3}gb)(-me|\.me|\.gfx|\.me\.all)?")
_SINGLE = re.compile(r"(.+)-MIG-([1-7]g\.[0-9]{1,3}gb(?:\+me|\+gfx|\+me\.all|-me|\.me|\.gfx|\.me\.all)?)")
_MAKERS = frozenset(("nvidia", "amd", "intel", "tesla", "instinct"))

#: Most slices of a profile on one GPU by its compute slices, on GPUs of seven.
_PER_GPU = {1: 7, 2: 3, 3: 2, 4: 1, 5: 1, 6: 1, 7: 1}


def is_device(resource: str) -> bool:
    """Whether a profile can state `resource` as GPUs of a pool."""
    return bool(_DEVICE.fullmatch(resource) or _SLICE.fullmatch(resource))


def gpu_of(devices: Mapping[str, int], labels: Mapping[str, str]) -> tuple[Gpu | None, tuple[str, ...]]:
    """The GPUs of a node that offers `devices`, and the resources that the answer does not cover.

    A profile states one kind of device per pool: whole GPUs before shared ones before slices, then by name.
    Raises ValueError with one sentence where a profile cannot state the number.
    """
    if not devices:
        return None, ()
    key = type_label(labels)
    told = (key == _OWN, labels[key] if key else "")
    facts = ("gpu.product", "gpu.count", "gpu.replicas", "gpu.sharing-strategy")
    return _gpu_of(
        tuple(sorted(devices.items())), told, *(labels.get(f"nvidia.com/{fact}", "") for fact in facts)
    )


def type_label(labels: Mapping[str, str]) -> str | None:
    """The label among `labels` that says best which type the GPUs are of."""
    return next((key for key in TYPE_LABELS if labels.get(key, "") not in ("", NO_GPU)), None)


@lru_cache(maxsize=1024)
def _gpu_of(
    devices: tuple[tuple[str, int], ...],
    told: tuple[bool, str],
    discovered: str,
    physical: str,
    replicas: str,
    strategy: str,
) -> tuple[Gpu | None, tuple[str, ...]]:
    offered = dict(devices)
    slices = {name: number for name, number in devices if _SLICE.fullmatch(name)}
    first = min(offered, key=lambda name: (name != _NVIDIA, name != _RENAMED, name not in slices, name))
    covered = slices if first in slices else {first}
    rest = tuple(name for name in offered if name not in covered)
    verbatim, product = told
    product = product if verbatim else product.removesuffix("-SHARED")
    name = product if verbatim else type_name(product) if product else _words(first)
    single = _SINGLE.fullmatch(discovered) if first == _NVIDIA else None
    times, gpus = _number(replicas, 1000), _number(physical, MOST_DEVICES)
    if first in slices:
        parts = tuple(MigSlice(profile=_profile(name), count=number) for name, number in slices.items())
        if not verbatim:
            kind = f"mig {parts[0].profile}" if len(parts) == 1 else "mig"
            name = _words(f"{type_name(product) if product else _words(_NVIDIA)} {kind}")
        return Gpu(
            type=name, count=max(gpus, physical_gpus(parts)), mig=Mig(strategy="mixed", slices=parts)
        ), rest
    number = offered[first]
    if first in (_NVIDIA, _RENAMED):
        if first == _RENAMED and times < 2 and gpus and number % gpus == 0:
            times = number // gpus
        if times > 1 and number % times == 0 and number // times <= MOST_DEVICES:
            how = "mps" if strategy == "mps" else "time-slicing"
            sharing = Sharing(strategy=how, replicas=times, rename=first == _RENAMED)
            return Gpu(type=name, count=number // times, sharing=sharing), rest
    if number > MOST_DEVICES:
        raise ValueError(
            f"offers {number} {first}, and a profile states at most {MOST_DEVICES} devices of a node; if they "
            "are shared, the labels nvidia.com/gpu.replicas and nvidia.com/gpu.count have to say so"
        )
    if single is not None:
        parts = (MigSlice(profile=_profile(f"nvidia.com/mig-{single[2]}"), count=number),)
        return Gpu(type=name, count=physical_gpus(parts), mig=Mig(strategy="single", slices=parts)), rest
    return Gpu(type=name, count=number, resource=first), rest


def type_name(product: str) -> str:
    """A short name for a product: NVIDIA-A100-SXM4-80GB is a100-sxm4-80gb."""
    words = _words(product).split("-")
    while len(words) > 1 and words[0] in _MAKERS:
        words.pop(0)
    return "-".join(words)


def _words(text: str) -> str:
    """What of `text` may stand in the name of a pool, at most 40 characters."""
    words = re.findall(r"[a-z0-9]+", text.lower().replace(".com/", "-"))
    return "-".join(words)[:40].strip("-") or "gpu"


def _number(label: str, most: int) -> int:
    """The number in a label, 0 where there is none up to `most`."""
    number = int(label) if label.isascii() and label.isdigit() else 0
    return number if number <= most else 0


def physical_gpus(slices: Iterable[MigSlice]) -> int:
    """The fewest GPUs of seven compute slices that hold `slices`."""
    sevenths = [(int(part.profile[0]), part.count) for part in slices]
    alone = max(-(-count // _PER_GPU[size]) for size, count in sevenths)
    return max(alone, -(-sum(size * count for size, count in sevenths) // 7))


def _profile(resource: str) -> str:
    """The MIG profile of a resource name, where `+` is written as a dot."""
    match = _SLICE.fullmatch(resource.replace("+", "."))
    assert match is not None  # noqa: S101  (both callers have matched it)
    return match[1] + match[2] + (match[3] or "").replace(".", "+", 1)
