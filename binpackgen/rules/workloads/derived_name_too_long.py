from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...profile.models import Job
from ..rule import Draft, ProfileRule
from ..templates import BUILT_IN_TEMPLATES, MASTER, WORKERS, makes_jobset

#: DNS label (apimachinery pkg/util/validation).
_LABEL = 63
#: A CronJob adds 11 characters for its Jobs (pkg/apis/batch/validation/validation.go, ValidateCronJobCreate).
_CRON_SUFFIX = 11
#: A pod's name is its hostname, a hyphen and five characters.
_POD_SUFFIX = 6


class DerivedNameTooLong(ProfileRule):
    """
    ## What it does
    Reports jobs whose name leaves no room for what Kubernetes adds to it: the index of an Indexed Job's pods,
    the names that a JobSet makes, the time that a CronJob adds.

    ## Why it matters
    The object is refused, or accepted with few workers and refused with more: `pod names generated for this
    JobSet will exceed 63 characters`.

    ## Fails
    ```yaml
    jobs:
      - name: llama-3-70b-finetune-instruct-2026q3-run-1-nightly-restart  # <-
        template: etl
        schedule: "0 2 * * *"
        image: example.com/etl:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Passes
    ```yaml
    jobs:
      - name: llama-3-70b-finetune
        template: etl
        schedule: "0 2 * * *"
        image: example.com/etl:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Fix
    Shorten the name.

    ## References
    kubernetes-sigs/jobset issue 408; kubernetes pkg/apis/batch/validation/validation.go
    """

    code = "BP508"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job in enumerate(draft.spec.jobs):
            longest, what = longest_derived_name(job)
            over = len(longest) - _LABEL
            if over <= 0:
                continue
            yield self.finding(
                draft.span("jobs", index, "name"),
                f'job "{job.name}" has {len(job.name)} characters, and {what} would have {len(longest)} of {_LABEL}',
                f"shorten the name by {over}",
            )


def longest_derived_name(job: Job) -> tuple[str, str]:
    """The longest name that Kubernetes makes of a job's name, with x for what it chooses, and what bears it."""
    if makes_jobset(job):
        # jobset pkg/webhooks/jobset_webhook.go: <jobset>-<replicated job>-<job index>-<pod index>-<5 characters>
        names = [f"{job.name}-{WORKERS}-0-{job.workers - 1}", f"{job.name}-{MASTER}-0-0"]
        return max(names, key=len) + "x" * _POD_SUFFIX, "the pods of its JobSet"
    facts = BUILT_IN_TEMPLATES.get(job.template)
    cron = "x" * _CRON_SUFFIX if job.schedule is not None else ""
    if facts is not None and facts.indexed:
        # strategy.go and validation.go: the hostname <job>-<index> is a DNS label
        pods = job.completions or job.workers
        return f"{job.name}{cron}-{pods - 1}", "the host names of its pods"
    return job.name + cron, "the Jobs of its CronJob" if cron else "its Job"
