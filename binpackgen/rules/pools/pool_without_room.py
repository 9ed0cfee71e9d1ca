from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.pools import cpu_text, memory_text
from ...profile.models import Headroom, Resources
from ..rule import Draft, ProfileRule


class PoolWithoutRoom(ProfileRule):
    """
    ## What it does
    Reports pools on whose nodes reserves, DaemonSets and headroom leave jobs no cpu or no memory.

    ## Why it matters
    No job ever runs there, while quotas and simulations count the nodes. Mostly a unit is wrong, such as cpu
    in millicores without the m.

    ## Fails
    ```yaml
    nodePools:
      - {name: cpu, count: 2, cpu: 8, memory: 32Gi, overhead: {cpu: 6}}  # <-
    caps: {headroom: {cpu: 2, memory: 1Gi}}
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: cpu, count: 2, cpu: 8, memory: 32Gi, overhead: {cpu: 600m}}
    caps: {headroom: {cpu: 2, memory: 1Gi}}
    ```

    ## Fix
    Lower the reserves, the DaemonSets' requests or the headroom, or correct the pool's capacity.

    ## References
    kubernetes pkg/kubelet/cm/node_container_manager_linux.go, getNodeAllocatableAbsolute
    """

    code = "BP103"

    def check(self, draft: Draft) -> Iterator[Finding]:
        caps = draft.spec.caps
        for pool in draft.pools:
            if pool.room.cpu > 0 and pool.room.memory > 0:
                continue
            source = pool.source
            kept = caps.headroom if caps is not None and caps.form != "curve" else None
            short = "cpu" if pool.room.cpu <= 0 else "memory"
            parts: list[tuple[str, Resources | Headroom]] = [
                ("kubeReserved", source.reserved.kube),
                ("systemReserved", source.reserved.system),
                ("DaemonSets", source.overhead),
                *([("headroom", kept)] if kept else []),
            ]
            if short == "cpu":
                whole = cpu_text(pool.capacity.cpu)
                less = [(name, cpu_text(part.cpu.milli_value())) for name, part in parts]
            else:
                whole = memory_text(pool.capacity.memory)
                less = [(name, memory_text(part.memory.value())) for name, part in parts]
                less.append(("eviction threshold", memory_text(pool.eviction_memory)))
            terms = ", ".join(f"{text} {name}" for name, text in less if text != "0")
            yield self.finding(
                draft.span("nodePools", pool.at[-1], "name"),
                f'pool "{pool.name}" leaves jobs no {short}: {whole} less {terms or "nothing"}',
                f"lower what is kept from jobs, or correct the pool's {short}",
            )
