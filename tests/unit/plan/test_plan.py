"""The plan of small profiles: capacity, quotas, preferences and scorers, worked out by hand."""

from __future__ import annotations

import random

import pytest

from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Amount, Plan, PoolPreference
from binpackgen.plan.preferences import smallest_gap
from binpackgen.profile.load import load_profile

GI = 2**30
HEAD = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
"""


def plan(spec: str) -> Plan:
    if "kubernetes:" not in spec:
        spec = '  kubernetes: {version: "1.37", controlPlane: kubeadm}\n' + spec
    return compile_plan(load_profile("-", (HEAD + spec).encode()))


def job(name: str, each: str, more: str = "") -> str:
    return f"    - {{name: {name}, template: single-gpu, image: x, each: {each}{more}}}\n"


def test_allocatable_is_capacity_less_what_the_kubelet_keeps() -> None:
    """Reserves, the eviction threshold and the reserve form of a cap come off; DaemonSets only for jobs."""
    pool = plan(
        "  caps: {headroom: {cpu: 2, memory: 8Gi}}\n"
        "  nodePools:\n"
        "    - name: a\n      count: 1\n      cpu: 64\n      memory: 256Gi\n"
        "      reserved: {kube: {cpu: 500m, memory: 1Gi}, system: {cpu: 1, memory: 1Gi}, evictionMemory: 1Gi}\n"
        "      overhead: {cpu: 250m, memory: 1Gi}\n"
    ).pools[0]

    assert Amount(60_500, 245 * GI) == pool.allocatable
    assert Amount(60_250, 244 * GI) == pool.room


@pytest.mark.parametrize(
    ("form", "allocatable", "room"), [("reserve", 6, 6), ("filter", 8, 6), ("curve", 8, 8)]
)
def test_a_cap_comes_off_where_its_form_works(form: str, allocatable: int, room: int) -> None:
    """reserve shrinks what the scheduler sees, filter only what jobs can have, curve neither."""
    pool = plan(
        f"  caps: {{headroom: {{cpu: 2}}, form: {form}}}\n  nodePools: [{{name: a, count: 1, cpu: 8, memory: 8Gi}}]\n"
    ).pools[0]

    assert (allocatable * 1000, room * 1000) == (pool.allocatable.cpu, pool.room.cpu)


@pytest.mark.parametrize(
    ("gpu", "devices"),
    [
        ("{type: t, count: 8}", {"nvidia.com/gpu": 8}),
        ("{type: t, count: 2, sharing: {strategy: time-slicing, replicas: 4}}", {"nvidia.com/gpu": 8}),
        (
            "{type: t, count: 2, sharing: {strategy: mps, replicas: 4, rename: true}}",
            {"nvidia.com/gpu.shared": 8},
        ),
        ("{type: t, count: 2, sharing: {strategy: mps, replicas: 1, rename: true}}", {"nvidia.com/gpu": 2}),
        (
            "{type: t, count: 8, mig: {strategy: single, slices: [{profile: 1g.5gb, count: 56}]}}",
            {"nvidia.com/gpu": 56},
        ),
        (
            "{type: t, count: 2, mig: {strategy: mixed, slices: [{profile: 1g.5gb+me, count: 1}, {profile: 2g.10gb, count: 2}]}}",
            {"nvidia.com/mig-1g.5gb.me": 1, "nvidia.com/mig-2g.10gb": 2},
        ),
    ],
)
def test_devices_are_what_the_device_plugin_offers(gpu: str, devices: dict[str, int]) -> None:
    """Sharing multiplies and may rename; MIG counts slices; `+` becomes a dot."""
    pools = plan(f"  nodePools: [{{name: a, count: 1, cpu: 64, memory: 64Gi, gpu: {gpu}}}]\n").pools

    assert devices == pools[0].allocatable.devices


def test_shares_of_quotas_are_shares_of_all_nodes_of_a_type() -> None:
    """75 % of two pools of one type, rounded down to whole devices; numbers pull the rest in proportion."""
    queues = plan(
        "  nodePools:\n"
        "    - {name: a, count: 2, cpu: 32, memory: 64Gi, gpu: {type: t, count: 4}, reserved: {evictionMemory: 0}}\n"
        "    - {name: b, count: 1, cpu: 16, memory: 32Gi, gpu: {type: t, count: 1}, reserved: {evictionMemory: 0}}\n"
        "    - {name: c, max: 4, cpu: 8, memory: 8Gi, reserved: {evictionMemory: 0}}\n"
        "  queues:\n"
        "    - {name: q, namespaces: [ns], quota: {t: 75%, cpu: {cpu: 4}}}\n"
        "    - {name: r, namespaces: [ns], quota: {t: 3}, lends: false}\n"
    ).queues

    first = {quota.flavor: quota.nominal for quota in queues[0].quotas}
    assert {
        "cpu": Amount(4_000, 4 * GI, {}),
        "t": Amount(60_000, 120 * GI, {"nvidia.com/gpu": 6}),
    } == first
    assert Amount(26_666, (160 * GI // 3) >> 20 << 20, {"nvidia.com/gpu": 3}) == queues[1].quotas[0].nominal
    assert ("lab", None) == (queues[0].cohort, queues[1].cohort)


def test_cpu_only_pods_prefer_cpu_pools_then_most_cores_per_gpu() -> None:
    """Classes by cores per GPU with evenly spaced weights; the last needs none."""
    scheduler = plan(
        "  nodePools:\n"
        "    - {name: few, count: 1, cpu: 64, memory: 64Gi, gpu: {type: a, count: 8}}\n"
        "    - {name: many, count: 1, cpu: 96, memory: 64Gi, gpu: {type: b, count: 2}}\n"
        "    - {name: plain, count: 1, cpu: 8, memory: 8Gi}\n"
        "  jobs:\n" + job("etl", "{cpu: 4, memory: 4Gi}")
    ).scheduler

    assert (
        PoolPreference(("plain",), 100, "no GPUs to strand"),
        PoolPreference(("many",), 50, "48 cores for each GPU"),
        PoolPreference(("few",), 0, "8 cores for each GPU"),
    ) == scheduler.preferences.cpu_only


#: Two pools that hold pods with 8 GPUs and 88 cores, and three that do not.
SIZES = """\
  nodePools:
    - {name: wide, count: 1, cpu: 128, memory: 768Gi, gpu: {type: c, count: 8}, reserved: {evictionMemory: 0}}
    - {name: single, count: 1, cpu: 64, memory: 64Gi, gpu: {type: a, count: 1}, reserved: {evictionMemory: 0}}
    - {name: large, count: 1, cpu: 96, memory: 384Gi, gpu: {type: b, count: 8}, reserved: {evictionMemory: 0}}
    - {name: lean, count: 1, cpu: 64, memory: 384Gi, gpu: {type: b, count: 8}, reserved: {evictionMemory: 0}}
    - {name: plain, count: 1, cpu: 64, memory: 64Gi}
  jobs:
"""
EIGHT = "{cpu: 88, memory: 320Gi, gpu: {count: 8}}"


def test_smaller_pods_go_where_no_larger_one_is_kept_out() -> None:
    """First the pools that hold no pod with 8 GPUs, then the smaller of the nodes that do; the largest go anywhere."""
    made = plan(SIZES + job("one", "{cpu: 4, memory: 4Gi, gpu: {count: 1}}") + job("eight", EIGHT))
    one, eight = (planned.pod_groups[0] for planned in made.jobs)
    preferences = made.scheduler.preferences

    assert (
        PoolPreference(("single", "lean"), 100, "no pods with 8 GPUs to leave room for"),
        PoolPreference(("large",), 50, "96 cores and 384Gi on a node"),
        PoolPreference(("wide",), 0, "128 cores and 768Gi on a node"),
    ) == preferences.of(one)
    assert () == preferences.of(eight)
    assert () == preferences.cpu_only
    rivals = sum(100 * scorer.weight for scorer in made.scheduler.scorers if scorer.plugin != "NodeAffinity")
    assert 50 * made.scheduler.weight_of("NodeAffinity") > rivals


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("{cpu: 4, memory: 4Gi, gpu: {count: 8}}", EIGHT),
        ("{cpu: 4, memory: 4Gi, gpu: {type: a, count: 1}}", EIGHT),
        ("{cpu: 4, memory: 4Gi}", EIGHT),
        ("{cpu: 4, memory: 4Gi, gpu: {count: 1}}", "{cpu: 4, memory: 4Gi, gpu: {count: 1}}"),
    ],
    ids=["as large", "of another type", "without GPUs", "nothing larger"],
)
def test_pods_that_take_no_place_from_larger_ones_have_no_order(small: str, large: str) -> None:
    """Who asks for as many GPUs, or runs on other nodes, is no smaller rival."""
    made = plan("  packing: {cpuOnlyPods: anywhere}\n" + SIZES + job("small", small) + job("large", large))

    assert [(), ()] == [made.scheduler.preferences.of(planned.pod_groups[0]) for planned in made.jobs]


def test_pods_of_one_gpu_type_choose_among_its_pools() -> None:
    """Other types are not named: the pod's selector keeps it off them."""
    made = plan(SIZES + job("one", "{cpu: 4, memory: 4Gi, gpu: {type: b, count: 1}}") + job("eight", EIGHT))

    assert [("lean",), ("large",)] == [
        preference.pools for preference in made.scheduler.preferences.of(made.jobs[0].pod_groups[0])
    ]


def test_preference_outvotes_packing_between_pools_and_not_inside() -> None:
    """Adversarial totals: whatever packing and the rivals say, the better pool wins; inside one, packing does."""
    scheduler = plan(
        "  nodePools:\n"
        "    - {name: a, count: 1, cpu: 64, memory: 64Gi, gpu: {type: a, count: 8}}\n"
        "    - {name: b, count: 1, cpu: 96, memory: 64Gi, gpu: {type: b, count: 2}}\n"
        "    - {name: c, count: 1, cpu: 8, memory: 8Gi}\n"
        "  jobs:\n" + job("etl", "{cpu: 4, memory: 4Gi}")
    ).scheduler
    classes = scheduler.preferences.cpu_only
    random_source = random.Random(7)
    rivals = [s for s in scheduler.scorers if s.plugin not in ("NodeResourcesFit", "NodeAffinity")]
    fit, affinity = scheduler.weight_of("NodeResourcesFit"), scheduler.weight_of("NodeAffinity")

    for _ in range(2_000):
        better, worse = sorted(random_source.sample(range(3), 2))
        feasible = [p.weight for p in classes[better:]]
        highest = max(feasible)

        def total(weight: int, packing: int, says: int, highest: int = highest) -> int:
            normalized = 100 * weight // highest if highest else 0
            return affinity * normalized + fit * packing + sum(s.weight for s in rivals) * says

        good = total(classes[better].weight, 0, 0)
        bad = total(classes[worse].weight, 100, 100)
        assert good > bad

    step = min(m.step for m in scheduler.margins)
    assert total(50, step, 0) > total(50, 0, 100)


def test_one_class_of_pools_needs_no_preference() -> None:
    """On equal nodes the rule does nothing, so NodeAffinity keeps its own weight."""
    scheduler = plan(
        "  nodePools: [{name: a, count: 1, cpu: 64, memory: 64Gi, gpu: {type: a, count: 8}}]\n  jobs:\n"
        + job("etl", "{cpu: 4, memory: 4Gi}")
    ).scheduler

    assert not scheduler.preferences.any
    assert 2 == scheduler.weight_of("NodeAffinity")


def test_more_classes_than_weights_are_joined() -> None:
    """150 kinds of nodes still get distinct weights of at least 1."""
    pools = "".join(
        f"    - {{name: p{i}, count: 1, cpu: {i + 8}, memory: 64Gi, gpu: {{type: t{i}, count: 1}}}}\n"
        for i in range(150)
    )
    preferences = plan(
        f"  packing: {{dominance: best-effort}}\n  nodePools:\n{pools}  jobs:\n{job('e', '{cpu: 4, memory: 4Gi}')}"
    ).scheduler.preferences

    assert 100 == len(preferences.cpu_only)
    assert 150 == sum(len(p.pools) for p in preferences.cpu_only)
    assert smallest_gap(preferences) >= 1


@pytest.mark.parametrize(
    ("minor", "off"),
    [
        (31, ["NodeResourcesBalancedAllocation", "ImageLocality"]),
        (34, ["NodeResourcesBalancedAllocation", "ImageLocality"]),
        (35, ["DynamicResources", "NodeResourcesBalancedAllocation", "ImageLocality"]),
        (37, ["VolumeBinding", "DynamicResources", "NodeResourcesBalancedAllocation", "ImageLocality"]),
    ],
)
def test_rivals_are_those_of_the_minor(minor: int, off: list[str]) -> None:
    """A plugin that does not score in a minor is not switched off there."""
    scheduler = plan(
        f'  kubernetes: {{version: "1.{minor}", controlPlane: kubeadm}}\n'
        "  nodePools: [{name: a, count: 1, cpu: 64, memory: 64Gi}]\n"
    ).scheduler

    assert off == [plugin.plugin for plugin in scheduler.switched_off]


def test_a_scorer_that_is_kept_raises_the_weight_of_packing() -> None:
    """ImageLocality at weight 4 adds 400 points that packing must outvote."""
    base = "  nodePools: [{name: a, count: 1, cpu: 64, memory: 64Gi}]\n  jobs:\n" + job(
        "e", "{cpu: 4, memory: 4Gi}"
    )

    plain = plan(base).scheduler
    kept = plan("  packing: {keepScorers: {ImageLocality: 4}}\n" + base).scheduler

    assert 900 == plain.margins[0].rivals
    assert 1300 == kept.margins[0].rivals
    assert kept.weight_of("NodeResourcesFit") > plain.weight_of("NodeResourcesFit")
    assert all(margin.points > 0 for margin in (*plain.margins, *kept.margins))


def test_a_stated_weight_is_kept_and_its_margin_computed() -> None:
    """The article's weight 5 stays, and the margin shows that it loses: 5 x 10 against 900."""
    scheduler = plan(
        "  packing: {pluginWeight: 5}\n"
        "  nodePools: [{name: a, count: 1, cpu: 64, memory: 256Gi, gpu: {type: a, count: 8}}]\n  jobs:\n"
        + job("t", "{cpu: 6, memory: 24Gi, gpu: {type: a, count: 1}}")
    ).scheduler

    assert (5, 10, 900, -850) == (
        scheduler.weight_of("NodeResourcesFit"),
        scheduler.margins[0].step,
        scheduler.margins[0].rivals,
        scheduler.margins[0].points,
    )


def test_a_managed_scheduler_is_planned_as_it_is() -> None:
    """OpenShift scores cpu and memory with weight 5 and leaves spreading on: a device is invisible."""
    scheduler = plan(
        '  kubernetes: {version: "1.33", controlPlane: openshift}\n'
        "  nodePools: [{name: a, count: 1, cpu: 64, memory: 256Gi, gpu: {type: a, count: 8}}]\n  jobs:\n"
        + job("t", "{cpu: 6, memory: 24Gi, gpu: {type: a, count: 1}}")
    ).scheduler

    assert (("cpu", 1), ("memory", 1)) == scheduler.resource_weights
    assert (0, -1000) == (scheduler.margins[0].step, scheduler.margins[0].points)


@pytest.mark.parametrize(("count", "expected"), [(100, None), (101, 100)])
def test_every_node_is_scored_where_the_scheduler_would_sample(count: int, expected: int | None) -> None:
    """Up to 100 nodes all are scored anyway; beyond, the window must be the whole cluster."""
    scheduler = plan(f"  nodePools: [{{name: a, count: {count}, cpu: 64, memory: 64Gi}}]\n").scheduler

    assert expected == scheduler.percentage_of_nodes_to_score


def test_jobs_find_the_pools_that_can_hold_them() -> None:
    """Types, devices and what DaemonSets leave decide; `cpu-pools-only` keeps CPU pods off GPU pools."""
    spec = (
        "  nodePools:\n"
        "    - {name: a, count: 1, cpu: 64, memory: 64Gi, gpu: {type: a, count: 8}}\n"
        "    - {name: b, count: 1, cpu: 64, memory: 64Gi, gpu: {type: b, count: 8}}\n"
        "    - {name: c, count: 1, cpu: 8, memory: 8Gi, overhead: {cpu: 1}}\n"
        "  jobs:\n"
        + job("typed", "{cpu: 1, memory: 1Gi, gpu: {type: b, count: 8}}")
        + job("any", "{cpu: 1, memory: 1Gi, gpu: {count: 1}}")
        + job("small", "{cpu: 7, memory: 1Gi}")
        + job("large", "{cpu: 8, memory: 1Gi}")
    )

    def pools(text: str) -> dict[str, tuple[str, ...]]:
        return {job.name: job.pod_groups[0].pools for job in plan(text).jobs}

    assert {"typed": ("b",), "any": ("a", "b"), "small": ("a", "b", "c"), "large": ("a", "b")} == pools(spec)
    assert {"typed": ("b",), "any": ("a", "b"), "small": ("c",), "large": ()} == pools(
        "  packing: {cpuOnlyPods: cpu-pools-only}\n" + spec
    )


#: Three kinds of GPU nodes: all cores needed, some to spare, and more than any GPU job of theirs needs.
SPARE = """\
  packing: {cpuOnlyPods: spare-cores}
  nodePools:
    - {name: tight, count: 1, cpu: 32, memory: 256Gi, gpu: {type: a, count: 4}, reserved: {evictionMemory: 0}}
    - {name: close, count: 1, cpu: 33, memory: 256Gi, gpu: {type: a, count: 4}, reserved: {evictionMemory: 0}}
    - {name: spare, count: 1, cpu: 34, memory: 256Gi, gpu: {type: a, count: 4}, reserved: {evictionMemory: 0}}
    - {name: small, count: 1, cpu: 8, memory: 16Gi, gpu: {type: b, count: 1}, reserved: {evictionMemory: 0}}
    - {name: plain, count: 1, cpu: 8, memory: 16Gi}
  jobs:
"""


def test_pods_without_gpus_keep_to_pools_with_cores_to_spare() -> None:
    """7.5 cores for each GPU of type a, 2 for that of type b; the smallest pod without GPUs asks for 4."""
    made = plan(
        SPARE
        + job("two", "{cpu: 15, memory: 8Gi, gpu: {type: a, count: 2}}")
        + job("one", "{cpu: 3, memory: 8Gi, gpu: {type: a, count: 1}}")
        + job("other", "{cpu: 2, memory: 8Gi, gpu: {type: b, count: 1}}")
        + job("etl", "{cpu: 4, memory: 4Gi}")
        + job("wide", "{cpu: 20, memory: 4Gi}")
    )
    pools = {planned.name: planned.pod_groups[0].pools for planned in made.jobs}

    assert ("spare", "small", "plain") == made.cpu_only_pools
    assert ("spare", "small", "plain") == pools["etl"]
    assert ("spare",) == pools["wide"]
    assert ("tight", "close", "spare") == pools["two"]


def test_without_gpu_jobs_all_cores_are_to_spare() -> None:
    """Nobody needs them."""
    assert 5 == len(plan(SPARE + job("etl", "{cpu: 4, memory: 4Gi}")).cpu_only_pools)
