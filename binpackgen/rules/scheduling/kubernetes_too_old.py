from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...scheduler.plugins import OLDEST_MINOR
from ..rule import Draft, ProfileRule


class KubernetesTooOld(ProfileRule):
    """
    ## What it does
    Reports Kubernetes minors older than the oldest whose scheduler binpackgen knows.

    ## Why it matters
    Default score plugins and their formulas, API versions and the forms of control planes change with the
    minor. What is derived for a minor that is not known would be a guess.

    ## Fails
    ```yaml
    kubernetes: {version: "1.27"}  # <-
    ```

    ## Passes
    ```yaml
    kubernetes: {version: "1.31"}
    ```

    ## Fix
    Upgrade the cluster.

    ## References
    https://kubernetes.io/releases/version-skew-policy/
    """

    code = "BP210"

    def check(self, draft: Draft) -> Iterator[Finding]:
        if draft.minor < OLDEST_MINOR:
            yield self.finding(
                draft.span("kubernetes", "version"),
                f'Kubernetes "1.{draft.minor}" is older than 1.{OLDEST_MINOR}, the oldest minor whose scheduler is known here',
                f"upgrade to 1.{OLDEST_MINOR} or later",
            )
