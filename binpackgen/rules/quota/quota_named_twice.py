from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.queues import quota_keys
from ..rule import Draft, ProfileRule


class QuotaNamedTwice(ProfileRule):
    """
    ## What it does
    Reports queues that state two quotas for one kind of node under two names: a pool and its GPU type.

    ## Why it matters
    A ClusterQueue lists each flavor once; Kueue refuses it otherwise, and which of the two was meant is not
    known.

    ## Fails
    ```yaml
    queues:
      - name: research
        namespaces: [a]
        quota:
          a100: 50%
          gpu: 25%  # <-
    ```

    ## Passes
    ```yaml
    queues:
      - name: research
        namespaces: [a]
        quota:
          a100: 75%
    ```

    ## Fix
    State one quota for the kind of node.

    ## References
    kueue v0.17.0, pkg/webhooks/clusterqueue_webhook.go
    """

    code = "BP403"

    def check(self, draft: Draft) -> Iterator[Finding]:
        keys = quota_keys(draft.flavors)
        for index, queue in enumerate(draft.spec.queues):
            first: dict[str, str] = {}
            for key in queue.quota:
                if key not in keys:
                    continue
                other = first.setdefault(keys[key].name, key)
                if other != key:
                    yield self.finding(
                        draft.key("queues", index, "quota", key),
                        f'queue "{queue.name}" has quotas for "{other}" and "{key}", which are the same nodes',
                        "state one quota for them",
                        ((draft.key("queues", index, "quota", other), "the other quota"),),
                    )
