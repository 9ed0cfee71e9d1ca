"""Why a pod or a workload waits that selects nodes which are not there, in a sentence that names the label."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .api import Object

#: Least likeness of what is suggested, as in the suggestions of rules.
_LIKENESS = 0.6


class Unmatched(NamedTuple):
    """A label that pods select by and that no candidate has with that value.

    `offered` are the values that candidates have, none where the key itself is unknown; `nearest` is the value
    or, for an unknown key, the key that is likeliest meant, "" where none comes near.
    """

    key: str
    value: str
    offered: tuple[str, ...]
    nearest: str

    def __str__(self) -> str:
        hint = f"; did you mean {self.nearest}?" if self.nearest else ""
        if not self.offered:
            return f"{self.key}: {self.value}, a label that none has{hint}"
        return f"{self.key}: {self.value}, which none has; there are {', '.join(self.offered)}{hint}"


def unmatched(selector: Mapping[str, str], candidates: Iterable[Mapping[str, str]]) -> tuple[Unmatched, ...]:
    """Labels of a selector that not one of the candidates' label sets has."""
    values: dict[str, set[str]] = {}
    for labels in candidates:
        for key, value in labels.items():
            values.setdefault(key, set()).add(value)
    found = []
    for key, value in sorted(selector.items()):
        offered = values.get(key, set())
        if value not in offered:
            near = _nearest(value, offered) if offered else _nearest(key, values)
            found.append(Unmatched(key, value, tuple(sorted(offered)), near))
    return tuple(found)


def diagnose_pod(pod: Object, nodes: Iterable[Object], events: Iterable[Object]) -> str:
    """Why a pod has no node: its labels that no node has, and what the scheduler says. "" where neither is known."""
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    labels = [node["metadata"].get("labels") or {} for node in nodes]
    missing = unmatched(pod["spec"].get("nodeSelector") or {}, labels)
    said = scheduler_says(pod, events)
    if not missing or not said:
        return ""
    return f"pod {name} is Pending: it asks for nodes with {'; and '.join(map(str, missing))} The scheduler: {said}"


def diagnose_workload(workload: Object, flavors: Iterable[Object]) -> str:
    """Why a workload has no quota: its labels that no flavor has, and what Kueue says. "" where neither is known.

    As Kueue does, only those labels are looked at that some flavor states.
    """
    name = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
    labels = [flavor["spec"].get("nodeLabels") or {} for flavor in flavors]
    keys = {key for flavor in labels for key in flavor}
    said = kueue_says(workload)
    parts = []
    for pod_set in workload["spec"]["podSets"]:
        selector = pod_set["template"]["spec"].get("nodeSelector") or {}
        asked = {key: value for key, value in selector.items() if key in keys}
        parts += [f"pod set {pod_set['name']} asks for {one}" for one in unmatched(asked, labels)]
    if not parts or not said:
        return ""
    return f"workload {name} is not admitted: {'; '.join(parts)} Kueue: {said}"


def scheduler_says(pod: Object, events: Iterable[Object]) -> str:
    """The message of the pod's last FailedScheduling event."""
    own = [
        event
        for event in events
        if event.get("reason") == "FailedScheduling"
        and event["involvedObject"].get("uid") == pod["metadata"]["uid"]
    ]
    last = max(own, key=lambda event: int(event["metadata"]["resourceVersion"]), default=None)
    return str(last["message"]) if last else ""


def kueue_says(workload: Object) -> str:
    """The message with which Kueue holds a workload back, "" where it does not."""
    for condition in (workload.get("status") or {}).get("conditions") or ():
        if condition["type"] == "QuotaReserved" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


def _nearest(given: str, known: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(given, sorted(known), 1, _LIKENESS)), "")
