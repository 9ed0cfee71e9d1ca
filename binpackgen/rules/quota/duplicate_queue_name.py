from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class DuplicateQueueName(ProfileRule):
    """
    ## What it does
    Reports two queues of one name.

    ## Why it matters
    A queue is a ClusterQueue, and a cluster has one of each name: the second would overwrite the quotas of the
    first.

    ## Fails
    ```yaml
    queues:
      - {name: research, namespaces: [a], quota: {a100: 50%}}
      - {name: research, namespaces: [b], quota: {a100: 50%}}  # <-
    ```

    ## Passes
    ```yaml
    queues:
      - {name: research, namespaces: [a], quota: {a100: 50%}}
      - {name: product, namespaces: [b], quota: {a100: 50%}}
    ```

    ## Fix
    Give each queue a name of its own; one queue can serve several namespaces.

    ## References
    The profile reference, queues.name.
    """

    code = "BP401"

    def check(self, draft: Draft) -> Iterator[Finding]:
        return self.repeated_names(
            draft,
            ("queues",),
            ((queue.name, f'queue "{queue.name}"') for queue in draft.spec.queues),
            "; a cluster has one ClusterQueue of a name",
            "give it another name, or list its namespaces in the first",
        )
