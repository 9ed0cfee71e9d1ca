from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class DuplicateTaint(ProfileRule):
    """
    ## What it does
    Reports pools with two taints of the same key and effect.

    ## Why it matters
    A node may have each pair of key and effect once. The API server and the kubelet refuse the node's taints
    as a whole, and Kueue refuses the flavor.

    ## Fails
    ```yaml
    nodePools:
      - name: cpu
        count: 2
        cpu: 32
        memory: 128Gi
        taints:
          - {key: example.com/batch, value: "a"}
          - {key: example.com/batch, value: "b"}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - name: cpu
        count: 2
        cpu: 32
        memory: 128Gi
        taints:
          - {key: example.com/batch, value: "a"}
          - {key: example.com/batch, value: "a", effect: NoExecute}
    ```

    ## Fix
    Keep one taint of each key and effect.

    ## References
    kubernetes pkg/apis/core/validation/validation.go, validateNodeTaints
    """

    code = "BP113"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            seen: set[tuple[str, str]] = set()
            for position, taint in enumerate(pool.taints or ()):
                if (taint.key, taint.effect) in seen:
                    yield self.finding(
                        draft.span("nodePools", index, "taints", position, "key"),
                        f'pool "{pool.name}" has taint {taint.key} with effect {taint.effect} twice, which a node refuses',
                        "remove one of them",
                    )
                seen.add((taint.key, taint.effect))
