"""What the pods of a JobSet need to stay together, where the scheduler cannot be told.

JobSet puts a Service before its pods. PodTopologySpread's default constraints apply to pods that a Service
selects and spread them with up to 200 points; the packing profile switches those defaults off. Workers that
come one after the other then meet on the fullest node that holds them, so no pod affinity is needed:
InterPodAffinity is one of the rivals that one step of packing outvotes, and it makes scheduling many times
slower. Where the control plane takes no plugin weights, neither holds, and the pods say it themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...document import Because
from ...plan.model import Plan, PlannedJob
from ...plan.platforms import PLATFORMS
from ...source import Path
from .names import whole_number
from .pod import HOSTNAME, JOBSET_NAME, REPLICATED_JOB

PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"

_MAX_INT32 = 2**31 - 1
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def settle(plan: Plan, job: PlannedJob, body: dict[str, Any]) -> Iterator[tuple[Path, Because]]:
    """Complete the pod templates of a JobSet; yields the places that matter and the reasons.

    What a template states itself is left alone.
    """
    platform = PLATFORMS[plan.control_plane]
    name = str(body["metadata"]["name"])
    for index, replicated in enumerate(body["spec"]["replicatedJobs"]):
        template = replicated["template"]["spec"]["template"]
        at: Path = ("spec", "replicatedJobs", index, "template", "spec", "template")
        pods = whole_number(replicated["template"]["spec"], "parallelism") * whole_number(
            replicated, "replicas"
        )
        if platform.spreading_defaults_off:
            yield (
                (*at, "spec", "schedulerName"),
                Because(
                    f"pods opt in to packing by naming the scheduler profile {plan.scheduler.name}; it has no default "
                    "spreading, so the JobSet's Service does not spread them",
                    (("spec", "packing", "schedulerName"),),
                ),
            )
        elif "topologySpreadConstraints" not in template["spec"]:
            _put(template["spec"], "topologySpreadConstraints", [_spread_that_never_bites(name)])
            yield (
                (*at, "spec", "topologySpreadConstraints"),
                Because(
                    f"{plan.control_plane} spreads pods that a Service selects, as JobSet's does, unless they state "
                    "a constraint; this one is always met and scores nothing",
                    (("spec", "kubernetes", "controlPlane"),),
                ),
            )
        if pods > 1 and platform.fixed is not None:
            affinity = template["spec"].get("affinity", {})
            if "podAffinity" not in affinity:
                affinity["podAffinity"] = {_PREFERRED: [_beside(name, str(replicated["name"]))]}
                _put(template["spec"], "affinity", affinity)
                yield (
                    (*at, "spec", "affinity", "podAffinity"),
                    Because(
                        f"{plan.control_plane} takes no plugin weights, so packing alone may not bring the pods of "
                        "one JobSet together",
                        (("spec", "kubernetes", "controlPlane"),),
                    ),
                )
        levels = plan.spec.queueing.topology_levels
        if pods > 1 and levels and job.queue is not None:
            template["metadata"].setdefault("annotations", {}).setdefault(PREFERRED_TOPOLOGY, levels[-1])
            yield (
                (*at, "metadata", "annotations", PREFERRED_TOPOLOGY),
                Because(
                    "Kueue puts the pods into as few of the narrowest topology domains as hold them",
                    (("spec", "queueing", "topologyLevels"),),
                ),
            )


def _spread_that_never_bites(jobset: str) -> dict[str, Any]:
    """A constraint that every node meets. DoNotSchedule is not scored, and a pod with a constraint of its own
    gets no default ones (kubernetes v1.37.2, podtopologyspread/scoring.go, initPreScoreState)."""
    return {
        "maxSkew": _MAX_INT32,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {JOBSET_NAME: jobset}},
    }


def _beside(jobset: str, replicated_job: str) -> dict[str, Any]:
    return {
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchLabels": {JOBSET_NAME: jobset, REPLICATED_JOB: replicated_job}},
            "topologyKey": HOSTNAME,
        },
    }


def _put(spec: dict[str, Any], key: str, value: Any) -> None:
    """Set a field of a pod spec; a new one stands with the others about placement."""
    if key in spec:
        spec[key] = value
        return
    entries = list(spec.items())
    position = next((i for i, (name, _) in enumerate(entries) if name == "restartPolicy"), len(entries))
    entries.insert(position, (key, value))
    spec.clear()
    spec.update(entries)
