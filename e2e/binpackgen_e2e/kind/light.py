"""The profile's jobs for nodes that are containers of one machine: same devices, cpu and memory scaled down.

A kind node reports the whole host as its own, so every request is scaled by what the node offers to what the
pool's nodes would: the shares of a node that a pod asks for stay, and so do the packing scores.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from binpackgen.plan.model import Amount, Plan
from binpackgen.simulate.objects import read_node

from ..api import Object
from ..workloads import Manifest, pod_templates

#: The room that the pods of the cluster itself are left, as a share of a node.
_OWN = 0.2

#: How long a pod works: until all of them have been placed and seen.
WORK_FOR = "12s"


def scales(plan: Plan, nodes: list[Object]) -> dict[str, float]:
    """By pool: what a request of cpu and memory is multiplied by; the smaller of both."""
    found = {}
    for pool in plan.pools:
        offers = [
            read_node(node).allocatable
            for node in nodes
            if node["metadata"]["labels"].get(plan.spec.node_labels.pool) == pool.name
        ]
        if offers:
            found[pool.name] = (1 - _OWN) * min(
                min(offer["cpu"] / pool.allocatable.cpu, offer["memory"] / pool.allocatable.memory)
                for offer in offers
            )
    return found


def light(manifests: tuple[Manifest, ...], factors: Mapping[str, float], image: str) -> tuple[Manifest, ...]:
    """The jobs, a JobSet as one Job per group of pods, with `image` in place of theirs and no volumes."""
    return tuple(one for manifest in manifests for one in _groups(manifest, factors, image))


def _groups(manifest: Manifest, factors: Mapping[str, float], image: str) -> Iterator[Manifest]:
    templates = list(pod_templates(manifest.body))
    for group, template in zip(manifest.job.pod_groups, templates, strict=True):
        factor = min((factors[pool] for pool in group.pools if pool in factors), default=None)
        if factor is None:
            continue
        name = manifest.name if len(templates) == 1 else f"{manifest.name}-{group.role}"
        request = Amount(
            max(1, int(group.request.cpu * factor)),
            max(8 << 20, int(group.request.memory * factor)),
            group.request.devices,
        )
        yield Manifest(
            manifest.job._replace(name=name, pod_groups=(replace(group, request=request),)),
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": name, "namespace": manifest.namespace, "labels": {}},
                "spec": {
                    "parallelism": group.count,
                    "completions": group.count,
                    "backoffLimit": 0,
                    "template": _template(template, request, image),
                },
            },
        )


def _template(template: Mapping[str, Any], request: Amount, image: str) -> dict[str, Any]:
    made: dict[str, Any] = copy.deepcopy(dict(template))
    spec = made["spec"]
    spec["volumes"] = []
    spec["restartPolicy"] = "Never"
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):  # they name a JobSet
        affinity.pop(kind, None)
    amounts = {
        "cpu": f"{request.cpu}m",
        "memory": str(request.memory),
        **{name: str(count) for name, count in request.devices.items()},
    }
    environment = [
        variable
        for variable in spec["containers"][0].get("env") or ()
        if not (request.devices and variable["name"] == "NVIDIA_VISIBLE_DEVICES")
    ]
    spec["containers"] = [
        {
            **{key: value for key, value in spec["containers"][0].items() if key == "securityContext"},
            "name": "main",
            "image": image,
            "imagePullPolicy": "Never",
            "args": [WORK_FOR],
            "env": environment,
            "resources": {"requests": amounts, "limits": amounts},
        }
    ]
    spec.pop("initContainers", None)
    return made
