from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Amount, FlavorQuota, Plan, PlannedQueue
from ...plan.pools import cpu_text, memory_text
from ..rule import PlanRule, key_span

#: How many of the quotas are shown as related places.
_SHOWN = 5


class QuotaExceedsPools(PlanRule):
    """
    ## What it does
    Reports kinds of nodes for which the quotas of all queues together are more than the nodes hold for jobs,
    with autoscaled pools at their largest.

    ## Why it matters
    Kueue does not know the nodes. It admits jobs up to the quotas, and their pods then wait in the scheduler,
    where no queue order and no fair share applies.

    ## Fails
    ```yaml
    queues:
      - {name: research, namespaces: [a], quota: {a100: 75%}}
      - {name: product, namespaces: [b], quota: {a100: 50%}}  # <-
    ```

    ## Passes
    ```yaml
    queues:
      - {name: research, namespaces: [a], quota: {a100: 50%}}
      - {name: product, namespaces: [b], quota: {a100: 50%}, borrows: true}
    ```

    ## Fix
    Let quotas add up to at most 100 % and let queues borrow what others leave unused.

    ## References
    kueue v0.17.0, docs on ClusterQueue: quota above capacity is not detected
    """

    code = "BP404"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        stated: dict[str, list[tuple[PlannedQueue, FlavorQuota]]] = defaultdict(list)
        for queue in plan.queues:
            for quota in queue.quotas:
                stated[quota.flavor].append((queue, quota))
        for flavor in plan.flavors:
            quotas = stated[flavor.name]
            total = Amount(0, 0)
            for _, quota in quotas:
                total = total.plus(quota.nominal)
            over = [
                f"{have} of {room} {name}" for name, have, room, more in _compare(total, flavor.room) if more
            ]
            if not over:
                continue
            _, last = quotas[-1]
            related = tuple(
                (key_span(plan.loaded, quota.at), f'quota of queue "{queue.name}"')
                for queue, quota in quotas[:-1][:_SHOWN]
            )
            nodes = sum(pool.nodes_max for pool in plan.pools if pool.gpu_type == flavor.gpu_type)
            yield self.finding(
                key_span(plan.loaded, last.at),
                f'{len(quotas)} quotas for "{flavor.name}" add up to {", ".join(over)} that its {nodes} nodes hold for jobs, '
                "so admitted jobs wait in the scheduler",
                "lower quotas to 100 % together, and let queues borrow",
                related,
            )


def _compare(total: Amount, room: Amount) -> Iterator[tuple[str, str, str, bool]]:
    """Name, total, room and whether the total is more, for every resource."""
    yield "cpu", cpu_text(total.cpu), cpu_text(room.cpu), total.cpu > room.cpu
    yield "memory", memory_text(total.memory), memory_text(room.memory), total.memory > room.memory
    for name, count in sorted(total.devices.items()):
        have = room.devices.get(name, 0)
        yield name, str(count), str(have), count > have
