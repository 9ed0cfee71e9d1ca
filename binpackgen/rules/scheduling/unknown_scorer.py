from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...scheduler.plugins import FIT, SCORE_PLUGINS, default_scorers
from ..rule import Draft, ProfileRule, suggestion


class UnknownScorer(ProfileRule):
    """
    ## What it does
    Reports names in `packing.keepScorers` that are no score plugin of the Kubernetes minor, and
    NodeResourcesFit, which is packing itself.

    ## Why it matters
    A scheduler that is told to enable an unknown plugin does not start (`ScorePlugin "..." does not exist`),
    and a misspelled scorer that was meant to stay on is off.

    ## Fails
    ```yaml
    packing:
      keepScorers:
        ImageLocalty: 1  # <-
    ```

    ## Passes
    ```yaml
    packing:
      keepScorers:
        ImageLocality: 1
    ```

    ## Fix
    Name a default score plugin. The weight of NodeResourcesFit is `packing.pluginWeight`.

    ## References
    kubernetes pkg/scheduler/apis/config/v1/default_plugins.go
    """

    code = "BP203"

    def check(self, draft: Draft) -> Iterator[Finding]:
        on = {plugin.name for plugin in default_scorers(draft.minor)}
        since = {plugin.name: plugin.since for plugin in SCORE_PLUGINS}
        for name, weight in draft.spec.packing.keep_scorers.items():
            span = draft.key("packing", "keepScorers", name)
            if name == FIT:
                yield self.finding(
                    span,
                    f'"{FIT}" is packing itself and always on; keepScorers gives it weight {weight} among its rivals',
                    f"remove it, or state packing.pluginWeight: {weight}",
                )
            elif name in since and name not in on:
                yield self.finding(
                    span,
                    f'"{name}" scores only from Kubernetes 1.{since[name]} on, and this cluster has 1.{draft.minor}',
                    "remove it",
                )
            elif name not in on:
                yield self.finding(
                    span,
                    f'Kubernetes 1.{draft.minor} has no default score plugin "{name}"',
                    suggestion(span, name, on - {FIT}, "score plugins"),
                )
