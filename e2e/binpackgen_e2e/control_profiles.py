"""Scheduler profiles of negative controls: the packing profile with one of its features left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import LoadedProfile
from binpackgen.targets.scheduler.configuration import has_cap_plugin, scheduler_configuration

#: All defaults of the scheduler's version.
CONTROL_SCHEDULER = "binpackgen-control"
#: The packing profile without the cap.
UNCAPPED_SCHEDULER = "binpackgen-uncapped"
#: The packing profile left to look at a window of the nodes.
SAMPLING_SCHEDULER = "binpackgen-sampling"


def control_profiles(plan: Plan) -> Iterator[dict[str, Any]]:
    """The profiles that a scheduler beside the compiled one has to offer, for the stock program to run."""
    yield {"schedulerName": CONTROL_SCHEDULER}
    if plan.cap is not None and plan.cap.form != "reserve":
        yield {**_packing(uncapped(plan)), "schedulerName": UNCAPPED_SCHEDULER}
    packing = _packing(plan)
    if packing.pop("percentageOfNodesToScore", None) is not None and not has_cap_plugin(plan):
        yield {**packing, "schedulerName": SAMPLING_SCHEDULER}


def uncapped(plan: Plan) -> Plan:
    """The plan of the same profile without its cap."""
    loaded = plan.loaded
    spec = loaded.profile.spec.model_copy(update={"caps": None})
    profile = loaded.profile.model_copy(update={"spec": spec})
    return compile_plan(LoadedProfile(profile, loaded.root, loaded.files))


def _packing(plan: Plan) -> dict[str, Any]:
    body = scheduler_configuration(plan).body
    [profile] = [one for one in body["profiles"] if one["schedulerName"] == plan.scheduler.name]
    return dict(profile)
