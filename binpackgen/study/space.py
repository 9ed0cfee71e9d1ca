"""What a profile can say about packing, as choices to search, and what each of them makes of the profile."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path as FilePath
from typing import Any

from ..document import Document, TextFile
from ..finding import blocking
from ..plan.compile import compile_plan
from ..plan.model import Plan
from ..profile.load import LoadedProfile
from ..profile.models import ClusterProfile
from ..rules.run import apply_policies, check_plan
from ..source import Path
from ..targets.catalogue import compile_outputs
from .subject import Subject, packing_profile

#: A choice for each thing that is searched; None leaves it to the compiler.
Candidate = Mapping[str, Any]

PACKING: Path = ("spec", "packing")

_RESOURCE = (1, 2, 3, 5, 8, 13, 21, 34)
_GPU = (None, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 100)
_PLUGIN = (None, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_BALANCED = (None, 1, 2, 5, 10)
_CPU_ONLY = ("cpu-pools-first", "spare-cores", "anywhere", "cpu-pools-only")
_BENDS = tuple((x, y) for x in range(10, 100, 10) for y in range(10))


class Space:
    """The choices of one profile. What it states itself stays one of them; platforms that fix weights have few."""

    def __init__(self, plan: Plan) -> None:
        packing = plan.spec.packing
        stated = packing.resource_weights
        has_devices = any(pool.has_gpus for pool in plan.pools)
        cpu_only = any(group.cpu_only for job in plan.jobs for group in job.pod_groups)
        bend = None
        if packing.strategy == "RequestedToCapacityRatio":
            points = packing.shape or ()
            bend = tuple((point.utilization, point.score) for point in points) or ((0, 0), (100, 10))
        self.start: dict[str, Any] = {
            "cpu": stated.cpu if stated else 1,
            "memory": stated.memory if stated else 1,
            "gpu": stated.gpu if stated else None,
            "curve": bend,
            "fit": packing.plugin_weight,
            "balanced": packing.keep_scorers.get("NodeResourcesBalancedAllocation"),
            "cpuOnlyPods": packing.cpu_only_pods,
        }
        curves = [None, *(((0, 0), point, (100, 10)) for point in _BENDS)]
        self.choices: dict[str, tuple[Any, ...]] = {
            "cpu": _RESOURCE,
            "memory": _RESOURCE,
            "gpu": _GPU if has_devices else (None,),
            "curve": tuple(curves),
            "fit": _PLUGIN,
            "balanced": _BALANCED,
            "cpuOnlyPods": _CPU_ONLY if cpu_only and has_devices else (packing.cpu_only_pods,),
        }
        if plan.cap is not None and plan.cap.form == "curve":
            # the cap has the curve
            self.choices["curve"] = (bend,)
        for name in ("gpu", "fit", "balanced"):
            # what the profile states it may state otherwise, but a patch does not take it away
            if self.start[name] is not None:
                self.choices[name] = tuple(one for one in self.choices[name] if one is not None)
        if self.start["curve"] is not None:
            self.choices["curve"] = tuple(one for one in self.choices["curve"] if one is not None)
        for name, value in self.start.items():
            if value not in self.choices[name]:
                self.choices[name] = (value, *self.choices[name])

    def anywhere(self, rng: random.Random) -> dict[str, Any]:
        """A random candidate; every other thing stays as the profile has it, so that its own say is heard."""
        return {
            name: rng.choice(values) if rng.random() < 0.5 else self.start[name]
            for name, values in self.choices.items()
        }

    def near(self, candidate: Candidate, rng: random.Random) -> dict[str, Any]:
        """A candidate that differs in one or two things, in numbers by one step."""
        found = dict(candidate)
        movable = [name for name, values in self.choices.items() if len(values) > 1]
        for name in rng.sample(movable, min(len(movable), rng.choice((1, 1, 2)))):
            values = self.choices[name]
            if name in ("cpu", "memory", "gpu", "fit", "balanced") and rng.random() < 0.7:
                place = values.index(found[name]) + rng.choice((-1, 1))
                found[name] = values[max(0, min(len(values) - 1, place))]
            else:
                found[name] = rng.choice(values)
        return found

    def changes(self, candidate: Candidate) -> dict[Path, Any]:
        """What the candidate changes in the profile: values by path, in the profile's own words."""
        found: dict[Path, Any] = {}
        new = {name: value for name, value in candidate.items() if value != self.start[name]}
        if new.keys() & {"cpu", "memory", "gpu"}:
            weights = {
                name: candidate[name] for name in ("cpu", "memory", "gpu") if candidate[name] is not None
            }
            found[*PACKING, "resourceWeights"] = weights
        if "curve" in new:
            found[*PACKING, "strategy"] = "RequestedToCapacityRatio"
            found[*PACKING, "shape"] = [{"utilization": x, "score": y} for x, y in candidate["curve"]]
        if "fit" in new:
            found[*PACKING, "pluginWeight"] = candidate["fit"]
        if "balanced" in new:
            found[*PACKING, "keepScorers", "NodeResourcesBalancedAllocation"] = candidate["balanced"]
        if "cpuOnlyPods" in new:
            found[*PACKING, "cpuOnlyPods"] = candidate["cpuOnlyPods"]
        return found


def changed(loaded: LoadedProfile, changes: Mapping[Path, Any]) -> LoadedProfile:
    """The profile with these values; places of findings stay those of the text as it is."""
    plain = loaded.root.plain()
    for path, value in changes.items():
        inner = plain
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
    return replace(loaded, profile=ClusterProfile.model_validate(plain))


def recompiled(
    subject: Subject, changes: Mapping[Path, Any], today: date, templates: FilePath | None
) -> Subject | None:
    """The subject of the changed profile; None where a rule forbids it or packing would not dominate."""
    loaded = changed(subject.plan.loaded, changes)
    plan = compile_plan(loaded)
    if blocking(apply_policies(loaded, list(check_plan(plan)), today)):
        return None
    worst = plan.scheduler.worst
    if worst is not None and worst.points <= 0:
        return None
    outputs = subject.outputs
    if (*PACKING, "cpuOnlyPods") in changes:
        outputs = tuple(
            output for output in compile_outputs(plan, templates) if isinstance(output, (Document, TextFile))
        )
    return subject._replace(plan=plan, outputs=outputs, scheduler=packing_profile(plan))
