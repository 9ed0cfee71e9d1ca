"""A workload: pod shapes, and submissions of pods of these shapes in the order in which they arrive."""

from __future__ import annotations

from typing import NamedTuple

from ..model import Node, PodShape


class Submission(NamedTuple):
    """Pods that arrive together: one pod, or a job.

    `shapes` has one entry a pod, an index into the workload's shapes. `arrives` is in seconds from the start,
    `runs` how long each pod runs once it is bound (None: to the end of the simulation). `gang` says that the
    pods are of use only together: none is bound until all can be. `priority` and `preempts` are those of the
    pods' PriorityClass. `queue` is the queue that admits the job, None where nothing stands before the
    scheduler. `kind` groups equal jobs in reports: the job's name in the profile, or a size such as "8 GPUs".
    """

    name: str
    kind: str
    shapes: tuple[int, ...]
    arrives: float = 0.0
    runs: float | None = None
    gang: bool = False
    priority: int = 0
    preempts: bool = True
    queue: str | None = None


class Workload(NamedTuple):
    """Submissions by arrival, their shapes, and the nodes that the source brings along (none: the plan's).

    `source` says in words where it comes from.
    """

    source: str
    shapes: tuple[PodShape, ...]
    submissions: tuple[Submission, ...]
    nodes: tuple[Node, ...] = ()

    @property
    def pods(self) -> int:
        """Pods of all submissions."""
        return sum(len(submission.shapes) for submission in self.submissions)
