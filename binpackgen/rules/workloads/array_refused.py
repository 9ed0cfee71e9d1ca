from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule

#: Source: kubernetes pkg/apis/batch/validation/validation.go, validateJobSpec with backoffLimitPerIndex.
_MANY_INDEXES = 100_000
_MOST_WORKERS = 10_000


class ArrayRefused(ProfileRule):
    """
    ## What it does
    Reports arrays with more than 100000 indexes and more than 10000 workers.

    ## Why it matters
    The API server refuses a Job that retries each of so many indexes with so many pods side by side.

    ## Fails
    ```yaml
    nodePools:
      - {name: cpu, min: 0, max: 2000, cpu: 32, memory: 128Gi}
    jobs:
      - name: frames
        template: array
        workers: 20000  # <-
        completions: 200000
        image: example.com/render:1
        each: {cpu: 1, memory: 4Gi}
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: cpu, min: 0, max: 2000, cpu: 32, memory: 128Gi}
    jobs:
      - name: frames
        template: array
        workers: 10000
        completions: 200000
        image: example.com/render:1
        each: {cpu: 1, memory: 4Gi}
    ```

    ## Fix
    Use fewer workers, or split the array.

    ## References
    kubernetes pkg/apis/batch/validation/validation.go
    """

    code = "BP521"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job in enumerate(draft.spec.jobs):
            indexes = job.completions or job.workers
            if job.template == "array" and indexes > _MANY_INDEXES and job.workers > _MOST_WORKERS:
                yield self.finding(
                    draft.span("jobs", index, "workers"),
                    f'job "{job.name}" has {indexes} indexes and {job.workers} workers; with more than {_MANY_INDEXES} indexes '
                    f"Kubernetes takes {_MOST_WORKERS} workers",
                    f"use at most {_MOST_WORKERS} workers",
                )
