"""A KubeSchedulerConfiguration into profiles of the model, merged as kube-scheduler merges it.

    profiles = read_profiles(configuration, minor=37)      by schedulerName

Sources: pkg/scheduler/apis/config/v1/default_plugins.go (defaults) and pkg/scheduler/framework/runtime/
framework.go (expandMultiPointPlugins, getValidScoreWeights) in kubernetes v1.37.2. What would change decisions
and is not modeled is refused by name; what kube-scheduler itself would reject is not looked for here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..scheduler.plugins import NEWEST_MINOR, OLDEST_MINOR, default_scorers
from .matching import Requirement, Selector
from .model import (
    MODELED_FILTERS,
    MODELED_SCORES,
    SYSTEM_SPREAD,
    ZERO_SCORES,
    PreferredNodes,
    SchedulerProfile,
    SpreadConstraint,
    UnmodeledError,
)

Object = Mapping[str, Any]

#: Filters that pass every node for the pods that the model takes.
_PASSING = ("NodeName", "NodePorts", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "DynamicResources", "NodeDeclaredFeatures")  # fmt: skip
#: Default plugins that neither filter nor score.
_ELSEWHERE = ("SchedulingGates", "PrioritySort", "DefaultPreemption", "DefaultBinder")
_KNOWN = frozenset((*MODELED_SCORES, *ZERO_SCORES, *MODELED_FILTERS, *_PASSING, *_ELSEWHERE))
#: Extension points of a profile that are read, and those that decide nothing here.
_POINTS = frozenset({"multiPoint", "filter", "score"})
_HARMLESS_POINTS = frozenset({"queueSort", "preEnqueue", "postFilter", "bind", "postBind"})
#: Plugins that fail every pod where only this extension point is on, and not what prepares it.
_NEED_PREPARATION = {
    "filter": frozenset({"NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"}),
    "score": frozenset({"TaintToleration", "PodTopologySpread", "InterPodAffinity"}),
}
_ARGUMENTS: Mapping[str, frozenset[str]] = {
    "NodeResourcesFit": frozenset({"scoringStrategy", "ignoredResources", "ignoredResourceGroups"}),
    "NodeResourcesBalancedAllocation": frozenset({"resources"}),
    "PodTopologySpread": frozenset({"defaultingType", "defaultConstraints"}),
    "InterPodAffinity": frozenset({"hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"}),
    "NodeAffinity": frozenset({"addedAffinity"}),
}
_CPU_AND_MEMORY: tuple[Object, ...] = ({"name": "cpu"}, {"name": "memory"})
#: Plugins whose arguments change nothing for the pods that the model takes.
_HARMLESS_ARGUMENTS = frozenset({"VolumeBinding", "DefaultPreemption", "DynamicResources"})


def read_profiles(configuration: Object, minor: int) -> dict[str, SchedulerProfile]:
    """Profiles by scheduler name. Raises UnmodeledError."""
    refused: list[str] = []
    if not OLDEST_MINOR <= minor <= NEWEST_MINOR:
        refused.append(f"Kubernetes 1.{minor}")
    if configuration.get("extenders"):
        refused.append("extenders")
    sampled = configuration.get("percentageOfNodesToScore") or 0
    profiles = {}
    sources: Iterable[Object] = configuration.get("profiles") or ({},)
    for source in sources:
        profile = _read_profile(source, minor, sampled, refused)
        profiles[profile.name] = profile
    if refused:
        raise UnmodeledError("KubeSchedulerConfiguration", refused)
    return profiles


def _read_profile(source: Object, minor: int, sampled: int, refused: list[str]) -> SchedulerProfile:
    plugins = source.get("plugins") or {}
    refused += _unmodeled_plugins(plugins)
    arguments = {entry["name"]: entry.get("args") or {} for entry in source.get("pluginConfig") or ()}
    for name, stated in arguments.items():
        if name not in _HARMLESS_ARGUMENTS:
            known = _ARGUMENTS.get(name, frozenset()) | {"apiVersion", "kind"}
            refused += [f"{name} argument {key}" for key in stated if key not in known]
    fit = arguments.get("NodeResourcesFit", {})
    strategy = fit.get("scoringStrategy") or {"type": "LeastAllocated"}
    affinity = arguments.get("InterPodAffinity", {})
    balanced = arguments.get("NodeResourcesBalancedAllocation", {}).get("resources")
    resources: Iterable[Object] = strategy.get("resources") or _CPU_AND_MEMORY
    spread, is_system = _default_spread(arguments.get("PodTopologySpread", {}))
    required, preferred = _added_affinity(arguments.get("NodeAffinity", {}), refused)
    stated_sample = source.get("percentageOfNodesToScore")
    return SchedulerProfile(
        minor=minor,
        name=source.get("schedulerName") or "default-scheduler",
        strategy=strategy["type"],
        resources=tuple((entry["name"], entry.get("weight") or 1) for entry in resources),
        shape=tuple(
            (point.get("utilization", 0), point.get("score", 0))
            for point in (strategy.get("requestedToCapacityRatio") or {}).get("shape") or ()
        ),
        weights=_weights(plugins, minor),
        filters=frozenset(_enabled(plugins, "filter", MODELED_FILTERS)),
        ignored_resources=frozenset(fit.get("ignoredResources") or ()),
        ignored_groups=frozenset(fit.get("ignoredResourceGroups") or ()),
        balanced_resources=tuple(entry["name"] for entry in balanced or _CPU_AND_MEMORY),
        default_spread=spread,
        system_spread=is_system,
        hard_pod_affinity_weight=affinity.get("hardPodAffinityWeight", 1),
        ignores_preferred_of_existing=affinity.get("ignorePreferredTermsOfExistingPods", False),
        added_nodes=required,
        added_preferences=preferred,
        percentage=sampled if stated_sample is None else stated_sample,
    )


def _unmodeled_plugins(plugins: Object) -> Iterator[str]:
    for point, stated in plugins.items():
        if point in _HARMLESS_POINTS:
            continue
        if point not in _POINTS:
            yield f"plugins.{point}"
            continue
        for entry in stated.get("enabled") or ():
            name = entry["name"]
            if name not in _KNOWN:
                yield f"plugin {name}"
            elif name in _NEED_PREPARATION.get(point, ()) and not _is_on_everywhere(plugins, name):
                yield f"{name} at {point} alone"


def _weights(plugins: Object, minor: int) -> dict[str, int]:
    defaults = {plugin.name: plugin.weight for plugin in default_scorers(minor)}
    stated = _stated(plugins, "score")
    everywhere = _stated(plugins, "multiPoint")
    # a default whose entry in multiPoint states no weight falls back to 1, not to its default
    inherited = {**defaults, **{name: weight or 1 for name, weight in everywhere.items()}}
    scorers = (*MODELED_SCORES, *(name for name in ZERO_SCORES if name in defaults or name in stated))
    return {
        name: (stated[name] or 1) if name in stated else inherited.get(name, 1)
        for name in _enabled(plugins, "score", scorers)
    }


def _enabled(plugins: Object, point: str, names: tuple[str, ...]) -> Iterator[str]:
    """Those of `names`, all on by default, that are on at an extension point."""
    for name in names:
        inherited = _is_on_everywhere(plugins, name) and not _is_off(plugins, point, name)
        if inherited or name in _stated(plugins, point):
            yield name


def _is_on_everywhere(plugins: Object, name: str) -> bool:
    return name in _stated(plugins, "multiPoint") or not _is_off(plugins, "multiPoint", name)


def _stated(plugins: Object, point: str) -> dict[str, int]:
    return {e["name"]: e.get("weight") or 0 for e in (plugins.get(point) or {}).get("enabled") or ()}


def _is_off(plugins: Object, point: str, name: str) -> bool:
    return any(e["name"] in ("*", name) for e in (plugins.get(point) or {}).get("disabled") or ())


def _default_spread(arguments: Object) -> tuple[tuple[SpreadConstraint, ...], bool]:
    if (arguments.get("defaultingType") or "System") == "System":
        return SYSTEM_SPREAD, True
    constraints = tuple(
        SpreadConstraint(c["topologyKey"], c["maxSkew"], hard=c["whenUnsatisfiable"] == "DoNotSchedule")
        for c in arguments.get("defaultConstraints") or ()
    )
    return constraints, False


def _added_affinity(
    arguments: Object, refused: list[str]
) -> tuple[tuple[Selector, ...] | None, tuple[PreferredNodes, ...]]:
    added = arguments.get("addedAffinity") or {}
    required = added.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = added.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    terms = (
        *((required or {}).get("nodeSelectorTerms") or ()),
        *(entry["preference"] for entry in preferred),
    )
    if any(term.get("matchFields") for term in terms):
        refused.append("NodeAffinity addedAffinity by matchFields")
    selectors = (_selector(term) for term in (required or {}).get("nodeSelectorTerms") or ())
    weighted = (PreferredNodes(entry.get("weight", 0), _selector(entry["preference"])) for entry in preferred)
    return (
        None if required is None else tuple(selector for selector in selectors if selector),
        tuple(term for term in weighted if term.weight and term.selector),
    )


def _selector(term: Object) -> Selector:
    expressions = term.get("matchExpressions") or ()
    return tuple(Requirement(e["key"], e["operator"], tuple(e.get("values") or ())) for e in expressions)
