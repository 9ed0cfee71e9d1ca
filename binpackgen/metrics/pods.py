"""Pods as the metrics see them: shapes of all pods, also of those that a simulation would refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ..simulate.model import PodShape, UnmodeledError
from ..simulate.objects import read_pod
from .changes import Object

#: Volumes of claims: by the time of a placement the claims of our jobs are bound and reachable from every node,
#: so that they keep a pod from none.
_CLAIMS = frozenset({"persistentVolumeClaim", "ephemeral"})

#: Fields of a pod that say what it takes, whatever else it says.
_REQUESTING = ("containers", "initContainers", "overhead")


class ReadPod(NamedTuple):
    """A shape, and the features that decide about nodes and are not modeled.

    With features the shape's requests count, and its placement is not judged.
    """

    shape: PodShape
    features: tuple[str, ...]


def read_any_pod(pod: Object) -> ReadPod:
    """A core/v1 Pod as the scheduler looked at it before it was bound.

    Volumes of claims are passed over as harmless. A nominated node is passed over too: the ledger knows more
    about it.
    """
    spec = {name: value for name, value in pod["spec"].items() if name not in ("nodeName", "schedulingGates")}
    if volumes := spec.get("volumes"):
        spec["volumes"] = [volume for volume in volumes if not volume.keys() & _CLAIMS]
    status = {name: value for name, value in (pod.get("status") or {}).items() if name != "nominatedNodeName"}
    item = {"kind": "Pod", "metadata": pod["metadata"], "spec": spec, "status": status}
    try:
        return ReadPod(read_pod(item), ())
    except UnmodeledError as error:
        return ReadPod(_requests_alone(item), error.features)


def _requests_alone(item: dict[str, Any]) -> PodShape:
    """What the pod requests, without the terms that could not be read."""
    spec = {name: item["spec"][name] for name in _REQUESTING if name in item["spec"]}
    for kind in ("containers", "initContainers"):
        spec[kind] = [
            {name: one[name] for name in ("resources", "restartPolicy") if name in one}
            for one in spec.get(kind) or ()
        ]
    shape = read_pod({"kind": "Pod", "metadata": item["metadata"], "spec": spec})
    whole = item["spec"].get("resources")
    if not whole:
        return shape
    # requests of the pod as a whole stand in the place of its containers' for the resources that they name
    stated = read_pod(
        {"kind": "Pod", "metadata": {}, "spec": {"containers": [{"resources": whole}]}}
    ).requests
    scoring = {name: stated.get(name, amount) for name, amount in shape.scoring_requests.items()}
    return replace(shape, requests={**shape.requests, **stated}, scoring_requests=scoring)
