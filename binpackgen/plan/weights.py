"""Derive the scheduler's weights, and compute the margin by which packing outvotes everything else.

Two weights are at work. Resource weights (1..100) stand inside NodeResourcesFit: the GPU weight is the least
one with which one more device in use counts for more than all cpu and memory of a node. Plugin weights
multiply whole scores: that of NodeResourcesFit is the least one with which one step of packing counts for
more than all rivals together. Both follow from the pools' and jobs' real numbers and the scheduler's integer
arithmetic; a weight that the profile states is kept, and its margin computed all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..profile.models import Spec
from ..scheduler.arithmetic import MAX_NODE_SCORE, Shape
from ..scheduler.plugins import BALANCED, FIT, NODE_AFFINITY, ScorePlugin, default_scorers
from .model import (
    Amount,
    Cap,
    Margin,
    PlannedJob,
    PodGroup,
    Pool,
    Preferences,
    Scheduler,
    ScorerWeight,
    SwitchedOff,
)
from .platforms import PLATFORMS, FixedScoring
from .preferences import smallest_gap
from .steps import FitScore, device_step, device_step_any_state, job_step

#: Largest weight of a resource in a scoringStrategy (apis/config/validation/validation_pluginargs.go).
MAX_RESOURCE_WEIGHT = 100
LINEAR: Shape = ((0, 0), (100, 10))


def derive_gpu_weight(fit: FitScore, cases: Sequence[tuple[Amount, Amount, str]]) -> int:
    """The least GPU weight with which a device outvotes cpu and memory in every case that allows it.

    `cases` are (node, request, device). Where no weight up to 100 will do (one of many slices is less than a
    point of a score), the least with which a device counts at all among equal cpu and memory; where that is
    not to be had either, the case is left to its margin.
    """
    needed = 1
    for case in cases:
        found = _least_weight(needed, device_step_any_state, fit, case)
        needed = found or _least_weight(needed, device_step, fit, case) or needed
    return needed


def _least_weight(
    start: int,
    step: Callable[[FitScore, int, Amount, Amount, str], int | None],
    fit: FitScore,
    case: tuple[Amount, Amount, str],
) -> int | None:
    """The least weight from `start` on with which a step counts, or does not exist."""
    for weight in range(start, MAX_RESOURCE_WEIGHT + 1):
        made = step(fit, weight, *case)
        if made is None or made >= 1:
            return weight
    return None


def plan_scheduler(
    spec: Spec,
    minor: int,
    pools: Sequence[Pool],
    jobs: Sequence[PlannedJob],
    preferences: Preferences,
    cap: Cap | None,
) -> Scheduler:
    """The packing profile: every weight with its reason, every rival with what became of it."""
    fixed = PLATFORMS[spec.kubernetes.control_plane].fixed
    fit = FitScore("MostAllocated", LINEAR, 1, 1) if fixed else _fit_score(spec, pools, cap)
    devices = sorted({name for pool in pools for name in pool.allocatable.devices})
    cases = list(_distinct_cases(pools, jobs))
    gpu_weight, resource_reason = _gpu_weight(spec, fit, devices, cases, fixed)
    scored_devices = devices if gpu_weight else []

    kept, off = _sort_scorers(spec, minor, preferences.any, fixed)
    rivals = sum(weight * plugin.span for plugin, weight in kept)
    steps = [_steps(fit, gpu_weight, *case) for case in cases]
    weight, weight_reason = _fit_weight(spec, steps, rivals, fixed)
    margins = tuple(
        Margin(
            pool=pool.name,
            job=job.name,
            role=group.role,
            device=device,
            step=step,
            step_any_state=any_state,
            weight=weight,
            rivals=rivals,
        )
        for (pool, job, group, device), (step, any_state) in zip(cases, steps, strict=True)
        if step is not None and not (fixed and fixed.fit_weight is None)
    )

    scorers = [ScorerWeight(FIT, weight, weight_reason)]
    if preferences.any:
        scorers.append(_affinity(preferences, weight, rivals, fixed))
    scorers += [ScorerWeight(plugin.name, keep, _why_kept(plugin, fixed)) for plugin, keep in kept]
    serving = spec.packing.serving
    return Scheduler(
        name=spec.packing.scheduler_name,
        strategy=fit.strategy,
        shape=fit.shape if fit.packs_by_ratio else (),
        resource_weights=(
            ("cpu", fit.cpu_weight),
            ("memory", fit.memory_weight),
            *((name, gpu_weight) for name in scored_devices),
        ),
        resource_reason=resource_reason,
        scorers=tuple(scorers),
        switched_off=tuple(SwitchedOff(p.name, p.weight, p.against_packing, p.cost_of_off) for p in off),
        percentage_of_nodes_to_score=None if fixed else _percentage(spec, pools),
        margins=margins,
        preferences=preferences,
        serving_name=serving.scheduler_name if serving else None,
        no_margin="" if margins else _no_margin(jobs, fixed),
    )


def _no_margin(jobs: Sequence[PlannedJob], fixed: FixedScoring | None) -> str:
    if fixed and fixed.fit_weight is None:
        return "the control plane does not publish its weights, so no margin can be computed"
    if not jobs:
        return "no job states a pod, so there is no margin to compute"
    return "every pod takes a whole node, so no node is ever a better choice than another"


def _fit_score(spec: Spec, pools: Sequence[Pool], cap: Cap | None) -> FitScore:
    packing, stated = spec.packing, spec.packing.resource_weights
    cpu, memory = (stated.cpu, stated.memory) if stated else (1, 1)
    if cap is not None and cap.form == "curve":
        return FitScore("RequestedToCapacityRatio", cap_shape(pools, cap), cpu, memory)
    shape = tuple((point.utilization, point.score) for point in packing.shape) if packing.shape else LINEAR
    return FitScore(packing.strategy, shape, cpu, memory)


def _gpu_weight(
    spec: Spec,
    fit: FitScore,
    devices: Sequence[str],
    cases: Sequence[tuple[Pool, PlannedJob, PodGroup, str | None]],
    fixed: FixedScoring | None,
) -> tuple[int, str]:
    """Weight of the devices inside NodeResourcesFit (0: not scored) and the reason."""
    stated = spec.packing.resource_weights
    if fixed and not fixed.scores_devices:
        return 0, "the control plane scores cpu and memory only"
    if stated and stated.gpu is not None:
        return stated.gpu, "stated in the profile"
    if not devices:
        return 0, "no pool has GPUs"
    weight = derive_gpu_weight(
        fit, [(pool.allocatable, group.request, device) for pool, _, group, device in cases if device]
    )
    return weight, (
        f"weight {weight} is the least with which one more device in use counts for more than all cpu and "
        "memory of a node"
    )


def _affinity(
    preferences: Preferences, fit_weight: int, rivals: int, fixed: FixedScoring | None
) -> ScorerWeight:
    """The weight with which the preference between pools outvotes packing and all rivals together."""
    if fixed:
        return ScorerWeight(NODE_AFFINITY, 2, "the control plane's own weight")
    gap = smallest_gap(preferences)
    weight = (MAX_NODE_SCORE * fit_weight + rivals) // gap + 1
    return ScorerWeight(
        NODE_AFFINITY,
        weight,
        f"pools differ by at least {gap} points of preference; {weight} x {gap} is more than packing "
        f"({MAX_NODE_SCORE} x {fit_weight}) and all rivals ({rivals}) can say between pools, and inside a pool "
        "every node has the same preference",
    )


def _why_kept(plugin: ScorePlugin, fixed: FixedScoring | None) -> str:
    if fixed:
        return "the control plane's own weight"
    if plugin.speaks_for == "pod":
        return "carries what the author of a pod asked for, below one step of packing"
    return "kept by the profile, below one step of packing"


def _percentage(spec: Spec, pools: Sequence[Pool]) -> int | None:
    stated = spec.packing.percentage_of_nodes_to_score
    if stated is not None:
        return stated
    # below 101 nodes every node is scored anyway (schedule_one.go, numFeasibleNodesToFind)
    return 100 if sum(pool.nodes_max for pool in pools) > 100 else None


def _sort_scorers(
    spec: Spec, minor: int, preferences: bool, fixed: FixedScoring | None
) -> tuple[list[tuple[ScorePlugin, int]], list[ScorePlugin]]:
    """The rivals that stay, with weights, and those that are switched off.

    What carries the wish of a pod's author stays as a tie-breaker; what the scheduler makes up goes, unless
    the profile keeps it. NodeAffinity is no rival where it carries the pool preferences, since those say the
    same of every node of a pool.
    """
    kept: list[tuple[ScorePlugin, int]] = []
    off: list[ScorePlugin] = []
    for plugin in default_scorers(minor):
        if plugin.name == FIT or (plugin.name == NODE_AFFINITY and preferences):
            continue
        stated = spec.packing.keep_scorers.get(plugin.name)
        if fixed:
            if plugin.name == BALANCED and fixed.balanced_off:
                off.append(plugin)
            else:
                kept.append((plugin, plugin.weight))
        elif stated is not None:
            kept.append((plugin, stated))
        elif plugin.speaks_for == "pod":
            kept.append((plugin, plugin.weight))
        else:
            off.append(plugin)
    return kept, off


def _distinct_cases(
    pools: Sequence[Pool], jobs: Sequence[PlannedJob]
) -> Iterator[tuple[Pool, PlannedJob, PodGroup, str | None]]:
    """One case per pool and kind of pod: per number of devices asked the pod with least cpu and memory.

    The least pod makes the least step (and leaves the other resources freest), so it stands for all.
    """
    least: dict[tuple[str, str | None, int], tuple[PlannedJob, PodGroup]] = {}
    for job in jobs:
        for group in job.pod_groups:
            device, asked = next(iter(group.request.devices.items()), (None, 0))
            for name in group.pools:
                key = (name, device, asked)
                known = least.get(key)
                if known is None or _size(group.request) < _size(known[1].request):
                    least[key] = (job, group)
    by_name = {pool.name: pool for pool in pools}
    for (name, device, _), (job, group) in sorted(least.items(), key=lambda entry: str(entry[0])):
        yield by_name[name], job, group, device


def _size(request: Amount) -> tuple[int, int]:
    return request.cpu, request.memory


def _steps(
    fit: FitScore, gpu_weight: int, pool: Pool, job: PlannedJob, group: PodGroup, device: str | None
) -> tuple[int | None, int | None]:
    node, request = pool.allocatable, group.request
    if device is None:
        return job_step(fit, node, request), None
    return (
        device_step(fit, gpu_weight, node, request, device),
        device_step_any_state(fit, gpu_weight, node, request, device),
    )


def _fit_weight(
    spec: Spec,
    steps: Sequence[tuple[int | None, int | None]],
    rivals: int,
    fixed: FixedScoring | None,
) -> tuple[int, str]:
    if fixed:
        if fixed.fit_weight is None:
            return 1, "the control plane's own weight, which is not published"
        return fixed.fit_weight, "the control plane's own weight"
    if spec.packing.plugin_weight is not None:
        return spec.packing.plugin_weight, "stated in the profile"
    # the worst state where packing still wins a point there, else equal states
    counted = [
        any_state if any_state is not None and any_state >= 1 else step
        for step, any_state in steps
        if step is not None
    ]
    positive = [step for step in counted if step >= 1]
    least = min(positive, default=1)
    weight = rivals // least + 1
    return weight, (
        f"one step of packing is at least {least} points and the rivals add up to at most {rivals}; "
        f"{weight} x {least} is the least multiple above that"
    )


def cap_shape(pools: Sequence[Pool], cap: Cap) -> Shape:
    """A shape that rises to the cap and falls beyond it.

    Utilization at the cap is the least over the pools of (allocatable - headroom) / allocatable in percent.
    """
    edges = [
        100 * max(0, have - keep) // have
        for pool in pools
        for have, keep in (
            (pool.allocatable.cpu, cap.cpu),
            (pool.allocatable.memory, cap.memory),
        )
        if have and keep
    ]
    edge = min(min(edges, default=100), 99)
    if edge <= 0:
        return ((0, 10), (100, 0))
    return ((0, 0), (edge, 10), (100, 0))
