"""From extended resources and labels to the GPUs of a profile."""

from __future__ import annotations

import pytest
from cluster_nodes import a100, node, node_list

from binpackgen.cluster.gpus import gpu_of, is_device, physical_gpus, type_name
from binpackgen.cluster.read import read_nodes
from binpackgen.plan.pools import offered_devices
from binpackgen.profile.models import Gpu, Mig, MigSlice, NodePool, Sharing

A100 = "NVIDIA-A100-SXM4-80GB"


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("NVIDIA-A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("Tesla-V100-SXM2-16GB", "v100-sxm2-16gb"),
        ("NVIDIA-GeForce-RTX-3090", "geforce-rtx-3090"),
        ("nvidia-tesla-t4", "t4"),
        ("AMD_Instinct_MI300X_OAM", "mi300x-oam"),
        ("Standard_NC24ads_A100_v4", "standard-nc24ads-a100-v4"),
        ("V100M16", "v100m16"),
        ("NVIDIA", "nvidia"),
        ("...", "gpu"),
    ],
)
def test_products_get_short_names(product: str, name: str) -> None:
    """Lower case, without the maker; never empty."""
    assert name == type_name(product)


CASES = [
    pytest.param(
        {"nvidia.com/gpu": 8},
        {"nvidia.com/gpu.product": A100, "nvidia.com/gpu.replicas": "1"},
        Gpu(type="a100-sxm4-80gb", count=8),
        (),
        id="whole",
    ),
    pytest.param(
        {"nvidia.com/gpu": 8},
        {"binpackgen.dev/gpu-type": "A100.big", "nvidia.com/gpu.product": A100},
        Gpu(type="A100.big", count=8),
        (),
        id="own label, as it stands",
    ),
    pytest.param(
        {"nvidia.com/gpu": 8},
        {"binpackgen.dev/gpu-type": "none", "accelerator": "nvidia-tesla-k80"},
        Gpu(type="k80", count=8),
        (),
        id="none is no type",
    ),
    pytest.param(
        {"nvidia.com/gpu": 16},
        {
            "nvidia.com/gpu.product": "Tesla-T4-SHARED",
            "nvidia.com/gpu.count": "4",
            "nvidia.com/gpu.replicas": "4",
            "nvidia.com/gpu.sharing-strategy": "time-slicing",
        },
        Gpu(type="t4", count=4, sharing=Sharing(strategy="time-slicing", replicas=4)),
        (),
        id="time-slicing",
    ),
    pytest.param(
        {"nvidia.com/gpu.shared": 16},
        {
            "nvidia.com/gpu.product": "Tesla-T4",
            "nvidia.com/gpu.replicas": "4",
            "nvidia.com/gpu.sharing-strategy": "mps",
        },
        Gpu(type="t4", count=4, sharing=Sharing(strategy="mps", replicas=4, rename=True)),
        (),
        id="mps, renamed",
    ),
    pytest.param(
        {"nvidia.com/gpu.shared": 16},
        {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "2"},
        Gpu(type="t4", count=2, sharing=Sharing(strategy="time-slicing", replicas=8, rename=True)),
        (),
        id="replicas from the count",
    ),
    pytest.param(
        {"nvidia.com/gpu.shared": 16},
        {"nvidia.com/gpu.product": "Tesla-T4"},
        Gpu(type="t4", count=16, resource="nvidia.com/gpu.shared"),
        (),
        id="nothing says by how many it is shared",
    ),
    pytest.param(
        {"nvidia.com/gpu": 15},
        {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4"},
        Gpu(type="t4", count=15),
        (),
        id="a replica is missing",
    ),
    pytest.param(
        {"nvidia.com/gpu": 7},
        {
            "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
            "nvidia.com/mig.strategy": "single",
        },
        Gpu(
            type="a100-sxm4-40gb-mig-1g-5gb",
            count=1,
            mig=Mig(strategy="single", slices=(MigSlice(profile="1g.5gb", count=7),)),
        ),
        (),
        id="MIG single",
    ),
    pytest.param(
        {"nvidia.com/gpu": 14},
        {
            "binpackgen.dev/gpu-type": "slice",
            "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        },
        Gpu(
            type="slice", count=2, mig=Mig(strategy="single", slices=(MigSlice(profile="1g.5gb", count=14),))
        ),
        (),
        id="MIG single with a type of its own",
    ),
    pytest.param(
        {"nvidia.com/gpu": 28},
        {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "nvidia.com/gpu.replicas": "4"},
        Gpu(
            type="a100-sxm4-40gb-mig-1g-5gb",
            count=7,
            sharing=Sharing(strategy="time-slicing", replicas=4),
        ),
        (),
        id="MIG single, shared",
    ),
    pytest.param(
        {"nvidia.com/mig-1g.10gb": 56},
        {"nvidia.com/gpu.product": A100, "nvidia.com/gpu.count": "8"},
        Gpu(
            type="a100-sxm4-80gb-mig-1g-10gb",
            count=8,
            mig=Mig(strategy="mixed", slices=(MigSlice(profile="1g.10gb", count=56),)),
        ),
        (),
        id="MIG mixed, one profile",
    ),
    pytest.param(
        {"nvidia.com/mig-3g.40gb": 8, "nvidia.com/mig-1g.10gb": 8, "nvidia.com/mig-1g.10gb.me": 4},
        {"nvidia.com/gpu.product": A100},
        Gpu(
            type="a100-sxm4-80gb-mig",
            count=6,
            mig=Mig(
                strategy="mixed",
                slices=(
                    MigSlice(profile="1g.10gb", count=8),
                    MigSlice(profile="1g.10gb+me", count=4),
                    MigSlice(profile="3g.40gb", count=8),
                ),
            ),
        ),
        (),
        id="MIG mixed, several profiles",
    ),
    pytest.param(
        {"nvidia.com/mig-1g.10gb": 7, "nvidia.com/gpu": 7},
        {"nvidia.com/gpu.product": A100},
        Gpu(type="a100-sxm4-80gb", count=7),
        ("nvidia.com/mig-1g.10gb",),
        id="whole GPUs beside slices",
    ),
    pytest.param(
        {"amd.com/gpu": 8},
        {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"},
        Gpu(type="mi300x-oam", count=8, resource="amd.com/gpu"),
        (),
        id="AMD",
    ),
    pytest.param(
        {"gpu.intel.com/xe": 2, "gpu.intel.com/i915": 4},
        {"gpu.intel.com/product": "Max_1100"},
        Gpu(type="max-1100", count=4, resource="gpu.intel.com/i915"),
        ("gpu.intel.com/xe",),
        id="Intel, two drivers",
    ),
    pytest.param(
        {"aws.amazon.com/neuron": 16},
        {"node.kubernetes.io/instance-type": "trn1.32xlarge"},
        Gpu(type="trn1-32xlarge", count=16, resource="aws.amazon.com/neuron"),
        (),
        id="named by the machine",
    ),
    pytest.param({}, {"nvidia.com/gpu.product": A100}, None, (), id="no devices"),
]


@pytest.mark.parametrize(("devices", "labels", "gpu", "rest"), CASES)
def test_devices_and_labels_become_gpus(
    devices: dict[str, int], labels: dict[str, str], gpu: Gpu | None, rest: tuple[str, ...]
) -> None:
    """Each way in which plugins offer GPUs has its place in a profile."""
    assert (gpu, rest) == gpu_of(devices, labels)


@pytest.mark.parametrize(("devices", "labels", "gpu", "rest"), CASES)
def test_a_pool_offers_what_the_node_offered(
    devices: dict[str, int], labels: dict[str, str], gpu: Gpu | None, rest: tuple[str, ...]
) -> None:
    """What the compiler makes of the GPUs are the resources that were read, less those that are named."""
    pool = NodePool(name="p", count=1, cpu="8", memory="8Gi", gpu=gpu_of(devices, labels)[0])

    assert {name: count for name, count in devices.items() if name not in rest} == offered_devices(pool)


@pytest.mark.parametrize(
    ("resource", "device"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/mig-7g.80gb", True),
        ("nvidia.com/mig-1g.10gb.me", True),
        ("habana.ai/gaudi", True),
        ("huawei.com/Ascend910", True),
        ("metax-tech.com/gpu", True),
        ("nvidia.com/gpumem", False),
        ("nvidia.com/mig-1g.10gb.shared", False),
        ("gpu.intel.com/i915_monitoring", False),
        ("aws.amazon.com/neuroncore", False),
        ("vpc.amazonaws.com/pod-eni", False),
        ("smarter-devices/fuse", False),
    ],
)
def test_only_devices_that_jobs_compute_on_are_gpus(resource: str, device: bool) -> None:
    """Monitoring handles, memory shares and network devices are something else."""
    assert device == is_device(resource)


@pytest.mark.parametrize(
    ("slices", "gpus"),
    [
        ({"1g.5gb": 7}, 1),
        ({"1g.5gb": 8}, 2),
        ({"3g.20gb": 16}, 8),
        ({"1g.5gb": 1, "2g.10gb": 3}, 1),
        ({"7g.80gb": 8}, 8),
    ],
)
def test_slices_need_so_many_gpus(slices: dict[str, int], gpus: int) -> None:
    """A GPU has seven compute slices, and room for two of three or three of two."""
    assert gpus == physical_gpus([MigSlice(profile=name, count=count) for name, count in slices.items()])


def test_slices_of_single_strategy_are_named() -> None:
    """The number of whole GPUs is inferred, so it is said."""
    text = node_list(a100(labels={"nvidia.com/gpu.product": f"{A100}-MIG-1g.10gb"}))

    assert ("GPUs are inferred from the MIG slices: 1 node (gpu-1)",) == read_nodes(text.encode(), "n").notes


def test_the_products_of_other_makers_are_read_from_their_labels() -> None:
    """The label of the vendor's labeler goes before the instance type."""
    text = node_list(
        node(
            devices={"amd.com/gpu": "8"},
            labels={
                "node.kubernetes.io/instance-type": "x",
                "beta.amd.com/gpu.product-name": "AMD_Instinct_MI210",
            },
        )
    )

    assert Gpu(type="mi210", count=8, resource="amd.com/gpu") == read_nodes(text.encode(), "n").nodes[0].gpu
