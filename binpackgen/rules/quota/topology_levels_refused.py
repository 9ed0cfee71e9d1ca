from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule

_HOSTNAME = "kubernetes.io/hostname"
#: Source: kueue v0.17.0, apis/kueue/v1beta2/topology_types.go.
_MOST = 16


class TopologyLevelsRefused(ProfileRule):
    """
    ## What it does
    Reports `queueing.topologyLevels` that Kueue refuses: a label twice, kubernetes.io/hostname before the end,
    or more than 16 levels.

    ## Why it matters
    The API server refuses the Topology, and queues whose flavors refer to it stay inactive.

    ## Fails
    ```yaml
    queueing:
      topologyLevels:
        - kubernetes.io/hostname  # <-
        - example.com/rack
    ```

    ## Passes
    ```yaml
    queueing:
      topologyLevels:
        - example.com/rack
        - kubernetes.io/hostname
    ```

    ## Fix
    List each label once, from the widest domain to the narrowest.

    ## References
    kueue v0.17.0, apis/kueue/v1beta2/topology_types.go
    """

    code = "BP414"

    def check(self, draft: Draft) -> Iterator[Finding]:
        levels = draft.spec.queueing.topology_levels
        if len(levels) > _MOST:
            yield self.finding(
                draft.key("queueing", "topologyLevels"),
                f"{len(levels)} topology levels; Kueue takes {_MOST}",
                f"keep at most {_MOST}",
            )
        for index, key in enumerate(levels):
            span = draft.span("queueing", "topologyLevels", index)
            if key in levels[:index]:
                yield self.finding(
                    span, f'level "{key}" is listed twice, which Kueue refuses', "list it once"
                )
            elif key == _HOSTNAME and index < len(levels) - 1:
                yield self.finding(
                    span,
                    f'"{_HOSTNAME}" is level {index + 1} of {len(levels)}; Kueue takes it as the last one only',
                    "move it to the end",
                )
