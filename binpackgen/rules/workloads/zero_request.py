from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class ZeroRequest(ProfileRule):
    """
    ## What it does
    Reports pods that ask for no cpu, no memory, or 0 GPUs.

    ## Why it matters
    Such pods are placed without regard to room: memory runs out on full nodes and evicts their neighbors. A
    limit of 0 is no limit, and Kueue admits a workload without requests outside of every quota.

    ## Fails
    ```yaml
    jobs:
      - name: etl
        template: etl
        image: example.com/etl:1
        each:
          cpu: 0  # <-
          memory: 16Gi
    ```

    ## Passes
    ```yaml
    jobs:
      - name: etl
        template: etl
        image: example.com/etl:1
        each:
          cpu: 100m
          memory: 16Gi
    ```

    ## Fix
    State what the pods use: for memory the 95th percentile of observed peaks, times 1.3.

    ## References
    kubernetes-sigs/kueue issue 485; the profile reference, jobs.each.
    """

    code = "BP519"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job, key, shape in draft.pod_shapes():
            for name, amount in (("cpu", shape.cpu), ("memory", shape.memory)):
                if amount.sign == 0:
                    yield self.finding(
                        draft.span("jobs", index, key, name),
                        f'job "{job.name}" asks for 0 {name}, so the scheduler and the queue see no {name} in use',
                        f"state the {name} that the pods use",
                    )
