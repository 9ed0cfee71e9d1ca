from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class CapFormCannotExempt(ProfileRule):
    """
    ## What it does
    Reports `caps.exemptWholeNode` with a form of the cap that cannot exempt a pod.

    ## Why it matters
    Reserved resources are gone for every pod, and a curve scores every pod alike. Only the scheduler plugin of
    the filter form looks at the pod.

    ## Fails
    ```yaml
    caps:
      headroom: {cpu: 2, memory: 8Gi}
      exemptWholeNode: true  # <-
    ```

    ## Passes
    ```yaml
    kubernetes: {version: "1.37", schedulerImage: "registry.example.com/scheduler:1"}
    caps:
      headroom: {cpu: 2, memory: 8Gi}
      form: filter
      exemptWholeNode: true
    ```

    ## Fix
    Use `form: filter`, or remove `exemptWholeNode` and size whole-node pods below the cap.

    ## References
    The profile reference, caps.
    """

    code = "BP802"

    def check(self, draft: Draft) -> Iterator[Finding]:
        caps = draft.spec.caps
        if caps is not None and caps.exempt_whole_node and caps.form != "filter":
            yield self.finding(
                draft.span("caps", "exemptWholeNode"),
                f'a cap of form "{caps.form}" holds for every pod; only form "filter" can exempt those that take a whole node',
                "use form filter, or remove exemptWholeNode",
            )
