"""What the APIs of managed schedulers cannot say, as far as a profile asks for it."""

from __future__ import annotations

from collections.abc import Iterator

from ...document import Unsupported
from ...plan.model import Plan
from ...plan.platforms import PLATFORMS
from ...scheduler.plugins import NODE_AFFINITY
from ...source import Path
from .configuration import CONTROL_PLANE, DEFAULT_SCHEDULER, SCHEDULER_NAME, own_image_losses

SECOND = "controlPlane second-scheduler"


def managed_losses(
    plan: Plan, product: str, packs_all: str | None = None, caution: str = ""
) -> Iterator[Unsupported]:
    """Each part of the profile that `product` cannot express, with the reason and the alternative.

    `packs_all` is the scheduler name that the control plane writes into pods that name none, where it packs
    under a name of its own. `caution` is what to know about a second scheduler there.
    """
    yield _weights(plan, product, caution)
    yield from _strategy(plan, product)
    yield Unsupported(
        "no default spreading",
        f"{product} leaves PodTopologySpread's default constraints on: pods that a Service selects, such as those "
        "of a JobSet, are spread over nodes and zones with up to 200 points",
        SECOND,
        CONTROL_PLANE,
    )
    yield from _preferences(plan, product)
    yield from _profiles(plan, product, packs_all)
    yield from _share(plan, product)
    if plan.cap is not None and plan.cap.form == "curve":
        yield Unsupported(
            "cap in curve form",
            f"{product} scores with MostAllocated, which has no shape that falls beyond a cap",
            f"caps.form reserve, or {SECOND}",
            (*plan.cap.at, "form"),
        )
    yield from own_image_losses(plan, f"{product} runs its own scheduler image")


def _weights(plan: Plan, product: str, caution: str) -> Unsupported:
    packing, worst = plan.spec.packing, plan.scheduler.worst
    fixed = PLATFORMS[plan.control_plane].fixed
    at: Path = CONTROL_PLANE
    if packing.keep_scorers:
        at = ("spec", "packing", "keepScorers")
    if packing.plugin_weight is not None:
        at = ("spec", "packing", "pluginWeight")
    if fixed is None or fixed.fit_weight is None:
        reason = f"{product} takes none and does not publish its own, so no margin of packing can be computed"
    else:
        reason = f"{product} takes none; it scores NodeResourcesFit with weight {fixed.fit_weight}"
        if worst is not None:
            reason += (
                f": one step of packing on pool {worst.pool} makes {worst.step} x {worst.weight} points and the "
                f"other scorers can say up to {worst.rivals} (margin {worst.points})"
            )
    stated = f" (NodeResourcesFit {packing.plugin_weight})" if packing.plugin_weight is not None else ""
    return Unsupported(f"weights of score plugins{stated}", reason, SECOND + caution, at)


def _strategy(plan: Plan, product: str) -> Iterator[Unsupported]:
    packing, fixed = plan.spec.packing, PLATFORMS[plan.control_plane].fixed
    if packing.strategy != "MostAllocated":
        yield Unsupported(
            f"strategy {packing.strategy}",
            f"{product} packs by MostAllocated only",
            f"strategy MostAllocated, or {SECOND}",
            ("spec", "packing", "strategy"),
        )
    if fixed is None or fixed.scores_devices:
        return
    devices = sorted({name for pool in plan.pools for name in pool.allocatable.devices})
    if devices:
        pool = next(pool for pool in plan.pools if pool.has_gpus)
        unpublished = fixed is None or fixed.fit_weight is None
        judged = (
            "does not publish how it counts devices"
            if unpublished
            else "judges nodes by cpu and memory alone, so that devices end up scattered"
        )
        yield Unsupported(
            f"weight of {', '.join(devices)}",
            f"{product} takes no resource weights and {judged}",
            SECOND,
            (*pool.at, "gpu"),
        )
    stated = packing.resource_weights
    if stated is not None and (stated.cpu, stated.memory) != (1, 1):
        yield Unsupported(
            f"weights cpu {stated.cpu} and memory {stated.memory}",
            f"{product} takes no resource weights",
            SECOND,
            ("spec", "packing", "resourceWeights"),
        )


def _preferences(plan: Plan, product: str) -> Iterator[Unsupported]:
    fixed = PLATFORMS[plan.control_plane].fixed
    preferences = plan.scheduler.preferences
    weight = plan.scheduler.weight_of(NODE_AFFINITY)
    own = "its own weight" if fixed is None or fixed.fit_weight is None else f"weight {weight}"
    reason = (
        f"{product} scores NodeAffinity with {own}, so that packing and other scorers can outvote the pods' "
        "preference between pools"
    )
    if preferences.cpu_only:
        yield Unsupported(
            "CPU-only pods go to CPU pools first",
            reason,
            f"cpuOnlyPods cpu-pools-only, or {SECOND}",
            ("spec", "packing", "cpuOnlyPods"),
        )
    if preferences.smaller:
        job = next(
            job
            for job in plan.jobs
            for group in job.pod_groups
            if not group.cpu_only and preferences.of(group)
        )
        yield Unsupported(
            "smaller GPU pods leave the largest nodes whole",
            reason,
            f"a GPU type for the job, or {SECOND}",
            (*job.at, "each", "gpu"),
        )


def _profiles(plan: Plan, product: str, packs_all: str | None) -> Iterator[Unsupported]:
    name, serving = plan.scheduler.name, plan.scheduler.serving_name
    instead = (
        f"it writes {packs_all} into every pod that names no scheduler"
        if packs_all
        else f"its packing is that of {DEFAULT_SCHEDULER}, for every pod"
    )
    if name != DEFAULT_SCHEDULER:
        yield Unsupported(
            f"scheduler name {name}",
            f"{product} takes no profile of another name; {instead}, and a pod that names {name} would stay Pending "
            "without an event",
            f"schedulerName {DEFAULT_SCHEDULER}, or {SECOND}",
            SCHEDULER_NAME,
        )
    if serving is not None:
        yield Unsupported(
            f"serving profile {serving}",
            f"{product} takes no second profile; serving pods are packed like all others",
            SECOND,
            ("spec", "packing", "serving", "schedulerName"),
        )


def _share(plan: Plan, product: str) -> Iterator[Unsupported]:
    stated = plan.spec.packing.percentage_of_nodes_to_score
    if stated is None and plan.nodes_max <= 100:
        return
    wanted = stated if stated is not None else 100
    yield Unsupported(
        f"percentageOfNodesToScore {wanted}",
        f"{product} does not take it; with up to {plan.nodes_max} nodes the scheduler looks at a moving window of "
        "them and builds several half-full piles"
        if plan.nodes_max > 100
        else f"{product} does not take it",
        SECOND,
        ("spec", "packing", "percentageOfNodesToScore"),
    )
