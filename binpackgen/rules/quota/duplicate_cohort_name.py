from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class DuplicateCohortName(ProfileRule):
    """
    ## What it does
    Reports two cohorts of one name.

    ## Why it matters
    A cluster has one Cohort of each name; the second would overwrite the parent of the first.

    ## Fails
    ```yaml
    queueing:
      cohorts:
        - {name: team}
        - {name: team, parent: company}  # <-
        - {name: company}
    ```

    ## Passes
    ```yaml
    queueing:
      cohorts:
        - {name: team, parent: company}
        - {name: company}
    ```

    ## Fix
    Keep one of them.

    ## References
    The profile reference, queueing.cohorts.
    """

    code = "BP409"

    def check(self, draft: Draft) -> Iterator[Finding]:
        first: dict[str, int] = {}
        for index, cohort in enumerate(draft.spec.queueing.cohorts):
            if cohort.name not in first:
                first[cohort.name] = index
                continue
            at = draft.span("queueing", "cohorts", first[cohort.name], "name")
            yield self.finding(
                draft.span("queueing", "cohorts", index, "name"),
                f'cohort "{cohort.name}" is already defined at line {at.line}; a cluster has one of a name',
                "keep one of them",
                ((at, "first defined here"),),
            )
