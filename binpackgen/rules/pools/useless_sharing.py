from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ..rule import Draft, ProfileRule


class UselessSharing(ProfileRule):
    """
    ## What it does
    Reports pools that share their GPUs among one pod each.

    ## Why it matters
    One replica is no sharing. The device plugin refuses a configuration that says it (`number of replicas must
    be >= 2`), so binpackgen emits none, and a `rename` beside it has no effect.

    ## Fails
    ```yaml
    nodePools:
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: t4, count: 4, sharing: {strategy: mps, replicas: 1}}}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: t4, count: 4, sharing: {strategy: mps, replicas: 4}}}
    ```

    ## Fix
    Remove `sharing`, or state at least 2 replicas.

    ## References
    NVIDIA/k8s-device-plugin issue 1022
    """

    code = "BP106"
    severity = Severity.NOTE

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            sharing = pool.gpu.sharing if pool.gpu else None
            if sharing is not None and sharing.replicas == 1:
                yield self.finding(
                    draft.span("nodePools", index, "gpu", "sharing", "replicas"),
                    f'pool "{pool.name}" shares each GPU among 1 pod, which is no sharing',
                    "remove sharing, or state at least 2 replicas",
                )
