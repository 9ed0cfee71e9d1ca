from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ..rule import PlanRule
from .job_exceeds_quota import reachable_quota


class BorrowsInVain(PlanRule):
    """
    ## What it does
    Reports queues that borrow where no other queue of their cohorts lends any of the nodes they have a quota
    for.

    ## Why it matters
    `borrows: true` has no effect: the queue is held to its own quota.

    ## Fails
    ```yaml
    queues:
      - {name: research, namespaces: [a], quota: {a100: 50%}, borrows: true}  # <-
      - {name: product, namespaces: [b], quota: {a100: 50%}, lends: false}
    ```

    ## Passes
    ```yaml
    queues:
      - {name: research, namespaces: [a], quota: {a100: 50%}, borrows: true}
      - {name: product, namespaces: [b], quota: {a100: 50%}}
    ```

    ## Fix
    Let another queue lend, put the queues into one cohort, or remove `borrows`.

    ## References
    kueue v0.17.0, docs on Cohort
    """

    code = "BP413"
    severity = Severity.NOTE

    def check(self, plan: Plan) -> Iterator[Finding]:
        reach = reachable_quota(plan)
        for queue in plan.queues:
            if not queue.source.borrows:
                continue
            if any(reach[queue.name][quota.flavor] != quota.nominal for quota in queue.quotas):
                continue
            yield self.finding(
                plan.span((*queue.at, "borrows")),
                f'queue "{queue.name}" borrows, and no other queue of cohort "{queue.cohort}" lends what it has a quota for',
                "let another queue lend, or remove borrows",
            )
