from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.pools import cpu_text, memory_text
from ..rule import Draft, ProfileRule


class CapExceedsNode(ProfileRule):
    """
    ## What it does
    Reports a cap in curve form whose headroom is as large as a node.

    ## Why it matters
    The curve would fall from the start: the scheduler spreads on every node. (In the other forms such a node
    has no room left, which pool-without-room reports.)

    ## Fails
    ```yaml
    nodePools:
      - {name: cpu, count: 2, cpu: 4, memory: 32Gi}
    caps:
      headroom: {cpu: 4}  # <-
      form: curve
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: cpu, count: 2, cpu: 64, memory: 256Gi}
    caps:
      headroom: {cpu: 4}
      form: curve
    ```

    ## Fix
    State a headroom that the smallest node can spare.

    ## References
    The profile reference, caps.
    """

    code = "BP803"

    def check(self, draft: Draft) -> Iterator[Finding]:
        caps = draft.spec.caps
        if caps is None or caps.form != "curve":
            return
        for pool in draft.pools:
            have = pool.allocatable
            for name, keep, there, text in (
                ("cpu", caps.headroom.cpu.milli_value(), have.cpu, cpu_text),
                ("memory", caps.headroom.memory.value(), have.memory, memory_text),
            ):
                if keep and keep * 100 > there * 99:
                    yield self.finding(
                        draft.span("caps", "headroom"),
                        f'a headroom of {text(keep)} {name} is all that a node of pool "{pool.name}" has ({text(there)})',
                        "state a headroom that the smallest node can spare",
                        ((draft.span("nodePools", pool.at[-1], "name"), "the pool"),),
                    )
                    return
