from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.queues import quota_keys
from ..rule import Draft, ProfileRule, suggestion


class UnknownQuotaKey(ProfileRule):
    """
    ## What it does
    Reports quotas for something that is no GPU type, no pool that is alone in its type, and not `cpu`.

    ## Why it matters
    The queue would have no quota for the nodes that were meant, and Kueue would admit none of its jobs there.

    ## Fails
    ```yaml
    queues:
      - name: research
        namespaces: [a]
        quota:
          a1000: 50%  # <-
    ```

    ## Passes
    ```yaml
    queues:
      - name: research
        namespaces: [a]
        quota:
          a100: 50%
          cpu: 100%
    ```

    ## Fix
    Name a GPU type in lower case, or `cpu` for all pools without GPUs. A pool has a quota of its own only if
    no other pool has its GPU type, since Kueue admits jobs to kinds of nodes.

    ## References
    The profile reference, queues.quota.
    """

    code = "BP402"

    def check(self, draft: Draft) -> Iterator[Finding]:
        keys = quota_keys(draft.flavors)
        flavor_of = {pool: flavor for flavor in draft.flavors for pool in flavor.pools}
        for index, queue in enumerate(draft.spec.queues):
            for key in queue.quota:
                if key in keys:
                    continue
                span = draft.key("queues", index, "quota", key)
                shared = flavor_of.get(key)
                if shared is not None:
                    yield self.finding(
                        span,
                        f'pool "{key}" shares its kind of node with {len(shared.pools) - 1} other pools '
                        f"({', '.join(name for name in shared.pools if name != key)}), so a quota is for all of them",
                        f"name the kind, {shared.name}",
                    )
                else:
                    yield self.finding(
                        span,
                        f'queue "{queue.name}" has a quota for "{key}", which is no GPU type and no pool',
                        suggestion(span, key, (flavor.name for flavor in draft.flavors), "kinds of nodes"),
                    )
