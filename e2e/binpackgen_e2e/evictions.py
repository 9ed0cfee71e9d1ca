"""How pods came to their end: who said so, how long they were given, and whether they were asked first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from binpackgen.metrics.changes import Change, Object
from binpackgen.metrics.preemption import is_evicted_by_scheduler


class Eviction(NamedTuple):
    """A pod that was on a node and was told to go, or was gone without having been told.

    `by_scheduler` says that kube-scheduler marked it as a victim, `marked_first` that it did so before the pod was
    told, as it does with a pod that nobody else has told. `grace` are the seconds that it was given, 0 where it was
    not told. `told` and `ended` are the versions of those changes, None where there was none. `seconds` is the time
    between them as the watch saw it.
    """

    namespace: str
    name: str
    labels: dict[str, str]
    priority: int
    by_scheduler: bool
    marked_first: bool
    grace: int
    told: int | None
    ended: int | None
    seconds: float

    @property
    def graceful(self) -> bool:
        """Whether it was told before it ended, with time to do so."""
        if self.told is None or self.grace <= 0:
            return False
        return self.ended is None or self.ended > self.told


class _Life:
    """One pod on a node, up to its end."""

    def __init__(self) -> None:
        self.marked: int | None = None
        self.told: Change | None = None
        self.ended: Change | None = None


def evictions(changes: Iterable[Change]) -> list[Eviction]:
    """Pods on nodes that were told to go, or ended otherwise than by running to their end; in order of their start.

    `changes` must hold every change of those pods. A pod that succeeded, or failed by itself, was not evicted.
    """
    lives: dict[str, tuple[Object, _Life]] = {}
    for change in changes:
        pod = change.object
        if change.kind != "Pod" or not pod["spec"].get("nodeName"):
            continue
        metadata, status = pod["metadata"], pod.get("status") or {}
        life = lives.setdefault(metadata["uid"], (pod, _Life()))[1]
        if life.ended is None:
            if life.marked is None and is_evicted_by_scheduler(status):
                life.marked = change.version
            phase = status.get("phase")
            if life.told is None and metadata.get("deletionTimestamp") and change.type != "DELETED":
                life.told = change
            if change.type == "DELETED" or phase in ("Succeeded", "Failed"):
                life.ended = change
        lives[metadata["uid"]] = (pod, life)
    return [
        _eviction(pod, life)
        for pod, life in lives.values()
        if life.told is not None or life.marked is not None or (life.ended and life.ended.type == "DELETED")
    ]


def _eviction(pod: Object, life: _Life) -> Eviction:
    metadata, told, ended = pod["metadata"], life.told, life.ended
    return Eviction(
        namespace=metadata["namespace"],
        name=metadata["name"],
        labels=dict(metadata.get("labels") or {}),
        priority=pod["spec"].get("priority") or 0,
        by_scheduler=life.marked is not None,
        marked_first=life.marked is not None and (told is None or life.marked <= told.version),
        grace=int(told.object["metadata"].get("deletionGracePeriodSeconds") or 0) if told else 0,
        told=told.version if told else None,
        ended=ended.version if ended else None,
        seconds=ended.at - told.at if told and ended else 0.0,
    )
