from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class CohortCycle(ProfileRule):
    """
    ## What it does
    Reports cohorts that are their own ancestor.

    ## Why it matters
    Kueue stops admitting jobs to every queue in such a circle until it is broken.

    ## Fails
    ```yaml
    queueing:
      cohorts:
        - {name: company, parent: team}  # <-
        - {name: team, parent: company}
    ```

    ## Passes
    ```yaml
    queueing:
      cohorts:
        - {name: company}
        - {name: team, parent: company}
    ```

    ## Fix
    Leave the topmost cohort without a parent.

    ## References
    kueue v0.17.0, apis/kueue/v1beta2/cohort_types.go
    """

    code = "BP407"

    def check(self, draft: Draft) -> Iterator[Finding]:
        cohorts = draft.spec.queueing.cohorts
        parents = {cohort.name: cohort.parent for cohort in cohorts}
        place = {cohort.name: index for index, cohort in reversed(list(enumerate(cohorts)))}
        done: set[str] = set()
        for start in place:
            trail: dict[str, None] = {}
            name: str | None = start
            while name is not None and name not in done and name not in trail:
                trail[name] = None
                name = parents.get(name)
            if name is not None and name in trail:
                steps = list(trail)
                circle = steps[steps.index(name) :]
                first = min(circle, key=lambda member: place[member])
                at = circle.index(first)
                shown = " -> ".join([*circle[at:], *circle[:at], first])
                yield self.finding(
                    draft.span("queueing", "cohorts", place[first], "parent"),
                    f"{len(circle)} cohorts form a circle ({shown}), and Kueue admits no job in it",
                    "leave the topmost cohort without a parent",
                )
            done.update(trail)
