from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule
from ..templates import makes_jobset


class CompletionsBelowWorkers(PlanRule):
    """
    ## What it does
    Reports jobs with fewer `completions` than pods side by side, and `completions` on JobSets, whose number of
    pods is `workers`.

    ## Why it matters
    Kueue reserves quota for all workers, of which some never start. On a JobSet the number has no effect.

    ## Fails
    ```yaml
    jobs:
      - name: frames
        template: array
        workers: 8
        completions: 4  # <-
        image: example.com/render:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Passes
    ```yaml
    jobs:
      - name: frames
        template: array
        workers: 4
        completions: 8
        image: example.com/render:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Fix
    State at most as many workers as completions; leave `completions` out elsewhere.

    ## References
    The profile reference, jobs.completions.
    """

    code = "BP515"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        for job in plan.jobs:
            source = job.source
            if source.completions is None:
                continue
            at = plan.span((*job.at, "completions"))
            if makes_jobset(source):
                yield self.finding(
                    at,
                    f'completions {source.completions} of job "{job.name}" has no effect: template {source.template} runs '
                    f"its {source.workers} workers together, each once",
                    "remove completions, or use the template array",
                )
            elif source.completions < source.workers:
                yield self.finding(
                    at,
                    f'job "{job.name}" has {source.workers} workers for {source.completions} completions, so '
                    f"{source.workers - source.completions} of them never start",
                    f"state at most {source.completions} workers",
                )
