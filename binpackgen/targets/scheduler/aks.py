"""AKS: configurable scheduler profiles, a SchedulerConfiguration object that holds the configuration as text.

From Kubernetes 1.33 on, in preview (feature UserDefinedSchedulerConfigurationPreview, enabled on the cluster
with --enable-upstream-kubescheduler-user-configuration). Users configure percentageOfNodesToScore (for all
profiles), the two backoffs and the profiles, with 18 in-tree plugins; a configuration that AKS rejects
leaves the last accepted one in force and shows as Failed in the object's status.
Source: MicrosoftDocs/azure-aks-docs, articles/aks/configure-aks-scheduler.md (2026-08-21).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...document import Because, Document, Output, Unsupported
from ...plan.model import Plan
from ..metadata import metadata
from .configuration import (
    API_VERSION,
    CONTROL_PLANE,
    KIND,
    Configuration,
    Trace,
    below,
    own_image_losses,
    scheduler_profiles,
    share_reason,
)

OLDEST_MINOR = 33

#: Score plugins among the in-tree plugins that AKS lists as configurable.
SCORERS = frozenset(
    {
        "ImageLocality",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "TaintToleration",
        "VolumeBinding",
    }
)


def compile(plan: Plan) -> Iterator[Output]:
    """The SchedulerConfiguration object, and what AKS does not take."""
    if plan.minor < OLDEST_MINOR:
        yield Unsupported(
            "scheduler configuration",
            f"AKS takes it from Kubernetes 1.{OLDEST_MINOR} on, the profile is for 1.{plan.minor}",
            "controlPlane second-scheduler",
            ("spec", "kubernetes", "version"),
        )
        return
    configuration = _configuration(plan)
    yield Document(
        path="scheduler/aks.yaml",
        body={
            "apiVersion": "aks.azure.com/v1alpha1",
            "kind": "SchedulerConfiguration",
            "metadata": metadata(plan, "upstream"),
            "spec": {"rawConfig": configuration.text},
        },
        why=Because(
            "AKS reads one object, named upstream, and keeps its own profile for pods that name no scheduler",
            (CONTROL_PLANE,),
        ),
        trace={("spec", "rawConfig"): configuration.reasons},
    )
    for scorer in plan.scheduler.scorers:
        if scorer.plugin not in SCORERS:
            yield Unsupported(
                f"score plugin {scorer.plugin}",
                "AKS does not list it among the plugins that can be configured",
                f"controlPlane second-scheduler, or keepScorers without {scorer.plugin}",
                ("spec", "packing", "keepScorers", scorer.plugin),
            )
    yield from own_image_losses(plan, "AKS runs its own scheduler image with in-tree plugins only")


def _configuration(plan: Plan) -> Configuration:
    body: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    trace: Trace = {}
    share = plan.scheduler.percentage_of_nodes_to_score
    if share is not None:
        body["percentageOfNodesToScore"] = share
        trace[("percentageOfNodesToScore",)] = share_reason(plan)
    body["profiles"], reasons = scheduler_profiles(
        plan,
        only_scheduler=False,
        scorers=[scorer for scorer in plan.scheduler.scorers if scorer.plugin in SCORERS],
        share_per_profile=False,
    )
    return Configuration(body, {**trace, **below(("profiles",), reasons)})
