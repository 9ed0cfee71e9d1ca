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
        return self.repeated_names(
            draft,
            (
                "queueing",
                "cohorts",
            ),
            ((cohort.name, f'cohort "{cohort.name}"') for cohort in draft.spec.queueing.cohorts),
            "; a cluster has one of a name",
            "keep one of them",
        )
