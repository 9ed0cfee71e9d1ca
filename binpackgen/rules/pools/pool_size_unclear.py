from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class PoolSizeUnclear(ProfileRule):
    """
    ## What it does
    Reports pools that state neither a fixed size (`count`) nor a range (`max`, with or without `min`), that
    state both, or whose `min` is more than their `max`.

    ## Why it matters
    Quotas as shares of a pool, the share of nodes to score and the checks of jobs against pools all follow
    from the number of nodes.

    ## Fails
    ```yaml
    nodePools:
      - {name: cpu, min: 6, max: 4, cpu: 32, memory: 128Gi}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: cpu, min: 2, max: 4, cpu: 32, memory: 128Gi}
      - {name: more, count: 3, cpu: 32, memory: 128Gi}
    ```

    ## Fix
    State `count`, or `max` with or without `min`.

    ## References
    The profile reference, nodePools.count, min and max.
    """

    code = "BP102"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, pool in enumerate(draft.spec.node_pools):
            at = draft.span("nodePools", index, "name")
            if pool.count is not None:
                for key, value in (("min", pool.min), ("max", pool.max)):
                    if value is not None:
                        yield self.finding(
                            draft.key("nodePools", index, key),
                            f'pool "{pool.name}" has count {pool.count} and {key} {value}; is its size fixed or not',
                            f"remove count, or {key}",
                        )
                        break
            elif pool.max is None:
                stated = f"min {pool.min} and no max" if pool.min is not None else "neither count nor max"
                yield self.finding(
                    at,
                    f'pool "{pool.name}" has {stated}, so its number of nodes is not known',
                    "state count, or max",
                )
            elif pool.min is not None and pool.min > pool.max:
                yield self.finding(
                    draft.span("nodePools", index, "min"),
                    f'pool "{pool.name}" has min {pool.min}, more than its max {pool.max}',
                    f"state a min of at most {pool.max}",
                )
