"""The built-in job templates, as far as rules need to know them: what each makes of a job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What a built-in template makes.

    `kind` is the object (a schedule puts a CronJob around a Job). `indexed` Jobs give every pod a name with
    its index. `needs_gpu` templates are pointless for pods without devices. `together` says whether the pods
    wait for each other, so that some of them alone get nothing done. `service` says whether a Service of the
    job's name stands beside it.
    """

    kind: str
    indexed: bool = False
    needs_gpu: bool = False
    together: bool = False
    service: bool = False


BUILT_IN_TEMPLATES: dict[str, TemplateFacts] = {
    "single-gpu": TemplateFacts("Job", needs_gpu=True),
    "pytorch-ddp": TemplateFacts("Job", indexed=True, needs_gpu=True, together=True, service=True),
    "master-workers": TemplateFacts("JobSet", indexed=True, together=True),
    "array": TemplateFacts("Job", indexed=True),
    "etl": TemplateFacts("Job"),
}

#: Names of the two replicated Jobs of a JobSet.
MASTER, WORKERS = "master", "workers"
