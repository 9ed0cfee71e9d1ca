from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ..rule import Draft, ProfileRule, suggestion


class UnknownCohortParent(ProfileRule):
    """
    ## What it does
    Reports cohorts whose parent is neither listed in `queueing.cohorts` nor the cohort of a queue.

    ## Why it matters
    Kueue makes a cohort of that name on the fly, with nothing else in it: nobody to borrow from. Mostly it is
    a misspelling.

    ## Fails
    ```yaml
    queueing:
      cohorts:
        - {name: company}
        - {name: team, parent: compnay}  # <-
    ```

    ## Passes
    ```yaml
    queueing:
      cohorts:
        - {name: company}
        - {name: team, parent: company}
    ```

    ## Fix
    Name a cohort of the profile, or list the parent.

    ## References
    kueue v0.17.0, apis/kueue/v1beta2/cohort_types.go
    """

    code = "BP408"
    severity = Severity.WARNING

    def check(self, draft: Draft) -> Iterator[Finding]:
        cluster = draft.loaded.profile.metadata.name
        known = {cohort.name for cohort in draft.spec.queueing.cohorts}
        known |= {queue.cohort or cluster for queue in draft.spec.queues}
        for index, cohort in enumerate(draft.spec.queueing.cohorts):
            if cohort.parent is not None and cohort.parent not in known:
                span = draft.span("queueing", "cohorts", index, "parent")
                yield self.finding(
                    span,
                    f'the parent "{cohort.parent}" of cohort "{cohort.name}" has no queues and no other cohort',
                    suggestion(span, cohort.parent, known - {cohort.name}, "cohorts"),
                )
