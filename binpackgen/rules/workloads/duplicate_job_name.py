from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class DuplicateJobName(ProfileRule):
    """
    ## What it does
    Reports two jobs of one name in one namespace.

    ## Why it matters
    They are one object to the API server: applying the second fails, since a Job's pods cannot be changed, and
    their files in the tree would overwrite each other.

    ## Fails
    ```yaml
    jobs:
      - {name: etl, template: etl, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}
      - {name: etl, template: etl, image: "example.com/etl:2", each: {cpu: 4, memory: 16Gi}}  # <-
    ```

    ## Passes
    ```yaml
    jobs:
      - {name: etl, template: etl, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}
      - {name: etl, namespace: other, template: etl, image: "example.com/etl:2", each: {cpu: 4, memory: 16Gi}}
    ```

    ## Fix
    Give it another name, or another namespace.

    ## References
    The profile reference, jobs.name.
    """

    code = "BP501"

    def check(self, draft: Draft) -> Iterator[Finding]:
        namespaces = {queue.name: queue.namespaces[0] for queue in reversed(draft.spec.queues)}
        places = [job.namespace or namespaces.get(job.queue or "", "default") for job in draft.spec.jobs]
        return self.repeated_names(
            draft,
            ("jobs",),
            (
                ((namespace, job.name), f'job "{job.name}" of namespace "{namespace}"')
                for namespace, job in zip(places, draft.spec.jobs, strict=True)
            ),
            "",
            "give it another name",
        )
