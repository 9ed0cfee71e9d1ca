from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...scheduler.plugins import NEWEST_MINOR
from ..rule import Draft, ProfileRule


class KubernetesTooNew(ProfileRule):
    """
    ## What it does
    Reports Kubernetes minors newer than the newest that binpackgen knows; they are treated like that one.

    ## Why it matters
    A new minor may bring another score plugin that outvotes packing, or another formula. NodeResourcesBalanced
    Allocation changed in 1.36, VolumeBinding began to score in 1.37.

    ## Fails
    ```yaml
    kubernetes: {version: "1.38"}  # <-
    ```

    ## Passes
    ```yaml
    kubernetes: {version: "1.37"}
    ```

    ## Fix
    Look for a newer binpackgen, or compare the score plugins that `kube-scheduler --config FILE
    --write-config-to OUT` lists with those of the emitted configuration.

    ## References
    kubernetes pkg/scheduler/apis/config/v1/default_plugins.go
    """

    code = "BP213"
    severity = Severity.WARNING

    def check(self, draft: Draft) -> Iterator[Finding]:
        if draft.minor > NEWEST_MINOR:
            yield self.finding(
                draft.span("kubernetes", "version"),
                f'Kubernetes "1.{draft.minor}" is newer than 1.{NEWEST_MINOR} and is treated like it, which may be wrong',
                "use a newer binpackgen, or check the configuration with kube-scheduler --write-config-to",
            )
