"""What a running scheduler says about itself: the configuration that is in force, and which plugins really ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from binpackgen.plan.model import Plan
from binpackgen.scheduler.plugins import FIT, default_scorers
from binpackgen.targets.scheduler.configuration import CAP_PLUGIN, scheduler_configuration

_EVALUATIONS = "scheduler_plugin_evaluation_total"
_SAMPLE = re.compile(rf"^{_EVALUATIONS}\{{(?P<labels>[^}}]*)\}} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Scoring(NamedTuple):
    """How a scheduler profile scores: weights by plugin, and how NodeResourcesFit weighs resources.

    `cap` are the arguments of the cap's plugin, None where it does not filter.
    """

    plugins: Mapping[str, int]
    strategy: str
    resources: Mapping[str, int]
    shape: tuple[tuple[int, int], ...]
    defaulting: str
    percentage_of_nodes: int
    cap: Mapping[str, Any] | None = None


def planned_scoring(plan: Plan) -> Scoring:
    """What the plan derived."""
    scheduler = plan.scheduler
    return Scoring(
        {scorer.plugin: scorer.weight for scorer in scheduler.scorers},
        scheduler.strategy,
        dict(scheduler.resource_weights),
        scheduler.shape,
        "List",
        scheduler.percentage_of_nodes_to_score or 0,
        _cap(scheduler_configuration(plan).body["profiles"][0]),
    )


def scoring_in_force(configuration: Mapping[str, Any], profile: str, minor: int) -> Scoring:
    """What the answer of /configz says about a profile. Raises KeyError for one that is not there."""
    body = _lowered(configuration["componentconfig"])
    found = {one["schedulerName"]: one for one in body["profiles"]}[profile]
    args = {one["name"]: one["args"] for one in found.get("pluginConfig") or ()}
    strategy = args[FIT]["scoringStrategy"]
    shape = (strategy.get("requestedToCapacityRatio") or {}).get("shape") or ()
    percentage = found.get("percentageOfNodesToScore") or body.get("percentageOfNodesToScore")
    return Scoring(
        _weights(found["plugins"], {plugin.name for plugin in default_scorers(minor)}),
        strategy["type"],
        {one["name"]: one["weight"] for one in strategy["resources"]},
        tuple((point["utilization"], point["score"]) for point in shape),
        args["PodTopologySpread"]["defaultingType"],
        percentage or 0,
        _cap(found),
    )


def _cap(profile: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of the cap's plugin, None where it does not filter."""
    filters = profile["plugins"].get("filter") or {}
    if CAP_PLUGIN not in {one["name"] for one in filters.get("enabled") or ()}:
        return None
    return next((one["args"] for one in profile["pluginConfig"] if one["name"] == CAP_PLUGIN), {})


def _lowered(value: Any) -> Any:
    """A value with its keys in the form of the API: older schedulers answer with Go's own names, SchedulerName."""
    if isinstance(value, Mapping):
        return {key[:1].lower() + key[1:]: _lowered(below) for key, below in value.items()}
    return [_lowered(one) for one in value] if isinstance(value, list) else value


def _weights(plugins: Mapping[str, Any], scorers: Iterable[str]) -> dict[str, int]:
    """Weights of the plugins that score: those of multiPoint that are not disabled, and those named at score.

    A weight of 0 stands for 1 (pkg/scheduler/framework/runtime/framework.go, NewFramework).
    """
    score, everywhere = plugins.get("score") or {}, plugins.get("multiPoint") or {}
    weights = {one["name"]: one.get("weight", 0) for one in score.get("enabled") or ()}
    off = {one["name"] for one in (*(score.get("disabled") or ()), *(everywhere.get("disabled") or ()))}
    if "*" not in off:
        known = set(scorers)
        for one in everywhere.get("enabled") or ():
            if one["name"] in known - off:
                weights.setdefault(one["name"], one.get("weight", 0))
    return {name: weight or 1 for name, weight in weights.items()}


def differences(planned: Scoring, found: Scoring) -> tuple[str, ...]:
    """What is not as it was planned, one line a setting."""
    lines = [
        f"{what} {name}: {_weight(wanted.get(name))} planned, {_weight(there.get(name))} in force"
        for what, wanted, there in (
            ("plugin", planned.plugins, found.plugins),
            ("resource", planned.resources, found.resources),
        )
        for name in sorted({*wanted, *there})
        if wanted.get(name) != there.get(name)
    ]
    lines += [
        f"{what}: {wanted} planned, {there} in force"
        for what, wanted, there in (
            ("strategy", planned.strategy, found.strategy),
            ("shape", planned.shape, found.shape),
            ("defaultingType", planned.defaulting, found.defaulting),
            ("percentageOfNodesToScore", planned.percentage_of_nodes, found.percentage_of_nodes),
            (CAP_PLUGIN, planned.cap, found.cap),
        )
        if wanted != there
    ]
    return tuple(lines)


def score_evaluations(metrics: str, profile: str) -> dict[str, int]:
    """How often each plugin that can score in a profile did, from the scheduler's metrics.

    Every plugin that is on at score has a count from the start, be it 0; a plugin that sits a pod out is not
    counted for it. Empty where the scheduler has no such metric.
    """
    counts: dict[str, int] = {}
    for sample in _SAMPLE.finditer(metrics):
        labels = dict(_LABEL.findall(sample["labels"]))
        if labels.get("profile") == profile and labels.get("extension_point") == "Score":
            counts[labels["plugin"]] = int(float(sample["value"]))
    return counts


def _weight(weight: int | None) -> str:
    return "off" if weight is None else f"weight {weight}"
