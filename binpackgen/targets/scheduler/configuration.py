"""KubeSchedulerConfiguration v1: the packing profile, and the profiles beside it.

Source: kubernetes v1.37.2, staging kube-scheduler/config/v1/{types,types_pluginargs}.go; defaults in
pkg/scheduler/apis/config/v1/defaults.go. The same file is valid on 1.31 to 1.37.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...canonical import to_yaml
from ...document import Because, Unsupported
from ...plan.model import Plan, ScorerWeight
from ...plan.pools import cpu_text, memory_text
from ...scheduler.plugins import FIT, NODE_AFFINITY
from ...source import Path, path_text

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER = "default-scheduler"

#: Name of the file, in the tree and wherever a scheduler reads it.
FILE = "kube-scheduler-config.yaml"
PATH = f"scheduler/{FILE}"

#: The scheduler-framework plugin behind a cap in filter form; it is in no stock image.
CAP_PLUGIN = "NodeUtilizationCap"

CONTROL_PLANE: Path = ("spec", "kubernetes", "controlPlane")
SCHEDULER_IMAGE: Path = ("spec", "kubernetes", "schedulerImage")
SCHEDULER_NAME: Path = ("spec", "packing", "schedulerName")

Trace = dict[Path, Because]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A KubeSchedulerConfiguration, and the reason for every field that was decided."""

    body: dict[str, Any]
    trace: Trace

    @property
    def text(self) -> str:
        """The configuration as YAML, to stand inside another object."""
        return to_yaml(self.body)

    @property
    def digest(self) -> str:
        """sha256 of `text`: equal for equal configurations, and for no others."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def reasons(self) -> Because:
        """All reasons in one, for objects that hold the configuration as text."""
        parts = [f"{path_text(path)}: {because.reason}" for path, because in self.trace.items()]
        paths = dict.fromkeys(path for because in self.trace.values() for path in because.paths)
        return Because("the packing profile as text; " + "; ".join(parts), tuple(paths))


def scheduler_configuration(
    plan: Plan,
    *,
    kubeconfig: str | None = None,
    lease: tuple[str, str] | None = None,
    only_scheduler: bool = True,
) -> Configuration:
    """The whole configuration of a kube-scheduler.

    `kubeconfig` is the file by which it reaches its API server (none: by the account of its pod). `lease` is
    the namespace and name of its leader election (none: the defaults). `only_scheduler` says whether pods
    that name no scheduler are its to place as well, so that it needs a profile for them.
    """
    body: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    trace: Trace = {}
    if kubeconfig is not None:
        body["clientConnection"] = {"kubeconfig": kubeconfig}
        trace["clientConnection", "kubeconfig"] = Because(
            "beside --config the flag --kubeconfig is ignored, so the file must name it", (CONTROL_PLANE,)
        )
    if lease is not None:
        namespace, name = lease
        body["leaderElection"] = {
            "leaderElect": True,
            "resourceName": name,
            "resourceNamespace": namespace,
        }
        trace[("leaderElection",)] = Because(
            "a lease of its own: with the default one it would wait for the control plane's scheduler, "
            "or displace it",
            (CONTROL_PLANE,),
        )
    profiles, reasons = scheduler_profiles(plan, only_scheduler=only_scheduler)
    body["profiles"] = profiles
    trace.update(below(("profiles",), reasons))
    return Configuration(body, trace)


def scheduler_profiles(
    plan: Plan,
    *,
    only_scheduler: bool,
    scorers: Sequence[ScorerWeight] | None = None,
    share_per_profile: bool = True,
) -> tuple[list[dict[str, Any]], Trace]:
    """The packing profile, one that spreads for serving, and an untouched default.

    `scorers` are those of the plan unless a control plane takes fewer. `share_per_profile` says whether
    percentageOfNodesToScore may stand in the profile.
    """
    packing, reasons = _packing_profile(
        plan, plan.scheduler.scorers if scorers is None else scorers, share_per_profile
    )
    profiles = [packing]
    trace = below((0,), reasons)
    for name, because in _plain_profiles(plan, only_scheduler):
        trace[(len(profiles),)] = because
        profiles.append({"schedulerName": name})
    return profiles, trace


def _plain_profiles(plan: Plan, only_scheduler: bool) -> Iterator[tuple[str, Because]]:
    """Profiles with nothing but a name: kube-scheduler's defaults, which spread."""
    packing, serving = plan.scheduler.name, plan.scheduler.serving_name
    if serving is not None and serving != packing and (only_scheduler or serving != DEFAULT_SCHEDULER):
        yield (
            serving,
            Because(
                "serving pods spread: LeastAllocated with all default scorers",
                (("spec", "packing", "serving", "schedulerName"),),
            ),
        )
    if only_scheduler and DEFAULT_SCHEDULER not in (packing, serving):
        yield (
            DEFAULT_SCHEDULER,
            Because(
                f"pods that name no scheduler are placed as ever; {packing} is for pods that opt in",
                (SCHEDULER_NAME,),
            ),
        )


def _packing_profile(
    plan: Plan, scorers: Sequence[ScorerWeight], share_per_profile: bool
) -> tuple[dict[str, Any], Trace]:
    scheduler = plan.scheduler
    takes_over = scheduler.name == DEFAULT_SCHEDULER
    profile: dict[str, Any] = {"schedulerName": scheduler.name}
    trace: Trace = {
        ("schedulerName",): Because(
            "packs every pod that names no scheduler" if takes_over else "pods opt in by this name",
            (SCHEDULER_NAME,),
        )
    }
    if scheduler.percentage_of_nodes_to_score is not None and share_per_profile:
        profile["percentageOfNodesToScore"] = scheduler.percentage_of_nodes_to_score
        trace[("percentageOfNodesToScore",)] = share_reason(plan)
    profile["plugins"] = {
        "score": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": scorer.plugin, "weight": scorer.weight} for scorer in scorers],
        }
    }
    trace["plugins", "score", "disabled"] = _disabled_reason(plan)
    for index, scorer in enumerate(scorers):
        trace["plugins", "score", "enabled", index, "weight"] = Because(
            scorer.reason, _weight_paths(plan, scorer)
        )
    profile["pluginConfig"] = [
        {"name": FIT, "args": {"scoringStrategy": _strategy(plan)}},
        {"name": "PodTopologySpread", "args": {"defaultingType": "List"}},
    ]
    trace.update(below(("pluginConfig", 0, "args", "scoringStrategy"), _strategy_reasons(plan)))
    trace["pluginConfig", 1, "args", "defaultingType"] = Because(
        "no default constraints: else pods that a Service selects, such as those of a JobSet, would be spread "
        "over nodes and zones; constraints that a pod states keep working"
    )
    if has_cap_plugin(plan) and plan.cap is not None:
        profile["plugins"]["filter"] = {"enabled": [{"name": CAP_PLUGIN}]}
        trace["plugins", "filter"] = Because(
            "nodes with less left than the cap take no further pods", (plan.cap.at,)
        )
        profile["pluginConfig"].append({"name": CAP_PLUGIN, "args": _cap_args(plan)})
        trace["pluginConfig", 2] = Because(
            f"cpu {cpu_text(plan.cap.cpu)} and memory {memory_text(plan.cap.memory)} stay free on every node",
            ((*plan.cap.at, "headroom"), (*plan.cap.at, "exemptWholeNode")),
        )
    return profile, trace


def _strategy(plan: Plan) -> dict[str, Any]:
    scheduler = plan.scheduler
    strategy: dict[str, Any] = {
        "type": scheduler.strategy,
        "resources": [{"name": name, "weight": weight} for name, weight in scheduler.resource_weights],
    }
    if scheduler.shape:
        strategy["requestedToCapacityRatio"] = {
            "shape": [{"utilization": use, "score": score} for use, score in scheduler.shape]
        }
    return strategy


def _strategy_reasons(plan: Plan) -> Iterator[tuple[Path, Because]]:
    cap, packing = plan.cap, plan.spec.packing
    curve = cap is not None and cap.form == "curve"
    strategy_path: Path = ("spec", "caps", "form") if curve else ("spec", "packing", "strategy")
    yield (
        ("type",),
        Because(
            "the score falls beyond the cap, which only a shape can say"
            if curve
            else f"the fuller a node, the higher its score ({plan.scheduler.strategy})",
            (strategy_path,),
        ),
    )
    stated = packing.resource_weights
    for index, (name, weight) in enumerate(plan.scheduler.resource_weights):
        key = name if name in ("cpu", "memory") else "gpu"
        if stated is not None and getattr(stated, key) is not None:
            yield (
                ("resources", index, "weight"),
                Because("stated in the profile", (("spec", "packing", "resourceWeights", key),)),
            )
        elif key == "gpu":
            pools = tuple((*pool.at, "gpu") for pool in plan.pools if name in pool.allocatable.devices)
            yield ("resources", index, "weight"), Because(plan.scheduler.resource_reason, pools)
        else:
            yield (
                ("resources", index, "weight"),
                Because(f"{key} counts with weight {weight}, the scheduler's own"),
            )
    if not plan.scheduler.shape:
        return
    shape = ("requestedToCapacityRatio", "shape")
    if curve and cap is not None:
        points = plan.scheduler.shape
        edge = max(points, key=lambda point: point[1])[0]
        yield (
            shape,
            Because(
                f"a node scores highest at {edge} % use, where the pool on which the cap's headroom weighs most "
                "reaches it, and less beyond",
                ((*cap.at, "headroom"), ("spec", "nodePools")),
            ),
        )
    elif packing.shape:
        yield shape, Because("stated in the profile", (("spec", "packing", "shape"),))
    else:
        yield shape, Because("a straight line: the score rises with use", (("spec", "packing", "strategy"),))


def _disabled_reason(plan: Plan) -> Because:
    off = plan.scheduler.switched_off
    named = "; ".join(f"{entry.plugin} {entry.reason} (cost: {entry.cost})" for entry in off)
    reason = "every scorer that is not listed here is off, also one that another minor would bring"
    return Because(f"{reason}. Off: {named}" if named else reason, (("spec", "packing", "keepScorers"),))


def _weight_paths(plan: Plan, scorer: ScorerWeight) -> tuple[Path, ...]:
    packing = plan.spec.packing
    if scorer.plugin == FIT:
        if packing.plugin_weight is not None:
            return (("spec", "packing", "pluginWeight"),)
        worst = plan.scheduler.worst
        if worst is None:
            return ()
        job = next(job for job in plan.jobs if job.name == worst.job)
        return (job.at, plan.pool(worst.pool).at)
    preferences = plan.scheduler.preferences
    if scorer.plugin == NODE_AFFINITY and preferences.any:
        pools = dict.fromkeys(name for order in preferences.orders() for one in order for name in one.pools)
        stated: tuple[Path, ...] = (("spec", "packing", "cpuOnlyPods"),) if preferences.cpu_only else ()
        return (*stated, *(plan.pool(name).at for name in pools))
    if scorer.plugin in packing.keep_scorers:
        return (("spec", "packing", "keepScorers", scorer.plugin),)
    return ()


def share_reason(plan: Plan) -> Because:
    """Why percentageOfNodesToScore has its value."""
    stated: Path = ("spec", "packing", "percentageOfNodesToScore")
    if plan.spec.packing.percentage_of_nodes_to_score is not None:
        return Because("stated in the profile", (stated,))
    counts = tuple((*pool.at, "count" if pool.source.count is not None else "max") for pool in plan.pools)
    return Because(
        f"the cluster can have {plan.nodes_max} nodes; above 100 the scheduler would look at a moving window of "
        "them and build several half-full piles",
        counts,
    )


def has_cap_plugin(plan: Plan) -> bool:
    """Whether the scheduler runs from an image of its own and has a cap to filter by."""
    cap = plan.cap
    return (
        cap is not None
        and cap.form == "filter"
        and bool(cap.cpu or cap.memory)
        and plan.spec.kubernetes.scheduler_image is not None
    )


def _cap_args(plan: Plan) -> dict[str, Any]:
    cap = plan.cap
    assert cap is not None  # noqa: S101  (has_cap_plugin)
    free = {}
    if cap.cpu:
        free["cpu"] = cpu_text(cap.cpu)
    if cap.memory:
        free["memory"] = memory_text(cap.memory)
    if not cap.exempt_whole_node:
        return {"minFree": free}
    # named, so that other extended resources of a node, such as network cards, need not be taken as well
    devices = sorted({name for pool in plan.pools for name in pool.allocatable.devices})
    return {"minFree": free, "exemptWholeNode": True, **({"devices": devices} if devices else {})}


def stock_image_losses(plan: Plan) -> Iterator[Unsupported]:
    """A cap in filter form without an image that has the plugin, where an image could be given."""
    cap = plan.cap
    if cap is not None and cap.form == "filter" and plan.spec.kubernetes.scheduler_image is None:
        yield Unsupported(
            "cap in filter form",
            f"the stock kube-scheduler image has no {CAP_PLUGIN} plugin and would not start with it",
            "kubernetes.schedulerImage with an image that has the plugin, or caps.form reserve",
            (*cap.at, "form"),
        )


def own_image_losses(plan: Plan, reason: str) -> Iterator[Unsupported]:
    """Whatever needs a scheduler image of one's own, on a control plane that takes none."""
    cap = plan.cap
    if cap is not None and cap.form == "filter":
        yield Unsupported(
            "cap in filter form",
            f"{reason}, so the {CAP_PLUGIN} plugin cannot be added",
            "caps.form reserve, or controlPlane second-scheduler",
            (*cap.at, "form"),
        )
    elif plan.spec.kubernetes.scheduler_image is not None:
        yield Unsupported(
            f"scheduler image {plan.spec.kubernetes.scheduler_image}",
            reason,
            "controlPlane second-scheduler",
            SCHEDULER_IMAGE,
        )


def below(prefix: Path, reasons: Mapping[Path, Because] | Iterator[tuple[Path, Because]]) -> Trace:
    """`reasons` for a body that stands at `prefix` inside another."""
    pairs = reasons.items() if isinstance(reasons, Mapping) else reasons
    return {(*prefix, *path): because for path, because in pairs}
