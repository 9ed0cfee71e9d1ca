"""EKS: kubeSchedulerConfig of the cluster, with the scoring strategy of NodeResourcesFit and nothing else.

From Kubernetes 1.31 on. The file is input for `aws eks update-cluster-config --cli-input-yaml` and has the
form of eksctl's ClusterConfig. Source: botocore 1.44.8, data/eks/2017-11-01/service-2.json.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...document import Because, Document, Output, Unsupported
from ...plan.model import Plan
from ...source import Path
from .configuration import CONTROL_PLANE
from .losses import SECOND, managed_losses

#: Resource names that EKS allows in a strategy; DescribeClusterVersions has the list of the day.
RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore")


def compile(plan: Plan) -> Iterator[Output]:
    """The settings, and what they cannot express."""
    resources = [(name, weight) for name, weight in plan.scheduler.resource_weights if name in RESOURCES]
    at: Path = ("kubeSchedulerConfig", "nodeResourcesFit", "scoringStrategy")
    gpu_pools = tuple((*pool.at, "gpu") for pool in plan.pools if pool.has_gpus)
    stated = ("spec", "packing", "resourceWeights")
    trace = {
        (*at, "type"): Because("the fuller a node, the higher its score", (("spec", "packing", "strategy"),)),
        (*at, "resources"): Because(
            f"resource weights: {plan.scheduler.resource_reason}",
            (stated, *gpu_pools) if plan.spec.packing.resource_weights else gpu_pools,
        ),
    }
    yield Document(
        path="scheduler/eks.yaml",
        body={
            "kubeSchedulerConfig": {
                "nodeResourcesFit": {
                    "scoringStrategy": {
                        "type": "MostAllocated",
                        "resources": [{"name": name, "weight": weight} for name, weight in resources],
                    }
                }
            }
        },
        why=Because(
            "input of `aws eks update-cluster-config --name CLUSTER --cli-input-yaml file://scheduler/eks.yaml`",
            (CONTROL_PLANE,),
        ),
        trace=trace,
        sync=False,
    )
    for pool in plan.pools:
        for device in pool.allocatable.devices:
            if device not in RESOURCES:
                yield Unsupported(
                    f"weight of {device} (pool {pool.name})",
                    f"EKS allows {', '.join(RESOURCES)} only; its use does not count when nodes are compared",
                    SECOND,
                    (*pool.at, "gpu"),
                )
    yield from managed_losses(plan, "EKS")
