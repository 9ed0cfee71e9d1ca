"""The built-in job templates, as far as rules need to know them: what each makes of a job."""

from __future__ import annotations

from typing import NamedTuple

from ..profile.models import Job


class TemplateFacts(NamedTuple):
    """What a built-in template makes.

    `indexed` Jobs name their pods by index. `needs_gpu` templates are pointless for pods without devices.
    `together` says whether several pods wait for each other, so that some of them alone get nothing done;
    they are a JobSet.
    """

    indexed: bool = False
    needs_gpu: bool = False
    together: bool = False
    master: bool = False


BUILT_IN_TEMPLATES: dict[str, TemplateFacts] = {
    "single-gpu": TemplateFacts(needs_gpu=True),
    "pytorch-ddp": TemplateFacts(needs_gpu=True, together=True),
    "master-workers": TemplateFacts(together=True, master=True),
    "array": TemplateFacts(indexed=True),
    "etl": TemplateFacts(),
}

#: Names of the replicated Jobs of a JobSet.
MASTER, WORKERS = "master", "workers"


def makes_jobset(job: Job) -> bool:
    """Whether a built-in template makes a JobSet of `job`; one worker without a master is a Job."""
    facts = BUILT_IN_TEMPLATES.get(job.template)
    return facts is not None and facts.together and (facts.master or job.workers > 1)
