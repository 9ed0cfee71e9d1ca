from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.pools import NO_GPU
from ...plan.queues import quota_keys
from ...profile.models import PoolQuota
from ...source import Span
from ..rule import Draft, ProfileRule


class GpuQuotaWithoutGpus(ProfileRule):
    """
    ## What it does
    Reports quotas and tier limits in GPUs for nodes that have none. A bare number is a number of GPUs.

    ## Why it matters
    `cpu: 64` reads like 64 cores and says 64 GPUs of nodes without any. As a share of nothing it would become
    a quota of 0, and Kueue would admit no job.

    ## Fails
    ```yaml
    queues:
      - name: etl
        namespaces: [etl]
        quota:
          cpu: 64  # <-
    ```

    ## Passes
    ```yaml
    queues:
      - name: etl
        namespaces: [etl]
        quota:
          cpu: {cpu: 64}
    ```

    ## Fix
    State cores as `{cpu: 64}`, with memory in proportion, or a share such as 50%.

    ## References
    The profile reference, queues.quota.
    """

    code = "BP415"

    def check(self, draft: Draft) -> Iterator[Finding]:
        keys = quota_keys(draft.flavors)
        for index, queue in enumerate(draft.spec.queues):
            devices = False
            for key, quota in queue.quota.items():
                flavor = keys.get(key)
                if flavor is None:
                    continue
                devices = devices or flavor.gpu_type != NO_GPU
                if flavor.gpu_type == NO_GPU:
                    span = draft.key("queues", index, "quota", key)
                    yield from self._check(
                        span, quota, f'queue "{queue.name}" has a quota of', f'"{key}", which has none'
                    )
            for tier, limit in queue.tier_limits.items():
                if not devices:
                    span = draft.key("queues", index, "tierLimits", tier)
                    yield from self._check(
                        span, limit, f'queue "{queue.name}" limits tier "{tier}" to', "nodes that have none"
                    )

    def _check(self, span: Span, quota: PoolQuota, what: str, whose: str) -> Iterator[Finding]:
        if isinstance(quota.gpu, int):
            number = quota.gpu
            yield self.finding(
                span,
                f"{what} {number} GPUs of {whose}",
                f"write {{cpu: {number}}} for cores, or a share such as 50%",
            )
