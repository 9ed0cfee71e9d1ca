from __future__ import annotations

import re
from collections.abc import Iterator

from ...finding import Finding
from ...plan.pools import NO_GPU
from ...plan.queues import CPU_FLAVOR, flavor_name
from ..rule import Draft, ProfileRule

_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class GpuTypesCollide(ProfileRule):
    """
    ## What it does
    Reports GPU types that cannot be told apart by the names that Kubernetes allows: two types that differ
    only in case or in punctuation, a type called `cpu` or `none`, and one that gives no name at all.

    ## Why it matters
    Each GPU type becomes a Kueue ResourceFlavor, whose name is lower case; `cpu` is the flavor of the nodes
    without GPUs, and `none` their GPU type label. Colliding types would share one quota.

    ## Fails
    ```yaml
    nodePools:
      - {name: old, count: 2, cpu: 32, memory: 128Gi, gpu: {type: A100, count: 4}}
      - {name: new, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 8}}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: old, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100-40gb, count: 4}}
      - {name: new, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100-80gb, count: 8}}
    ```

    ## Fix
    Rename one of the types, or give both pools the same type where their GPUs are the same.

    ## References
    kueue v0.17.0, config/components/crd/bases, ResourceFlavor names
    """

    code = "BP109"

    def check(self, draft: Draft) -> Iterator[Finding]:
        first: dict[str, tuple[str, int]] = {}
        for index, pool in enumerate(draft.spec.node_pools):
            if pool.gpu is None:
                continue
            gpu_type = pool.gpu.type
            flavor = flavor_name(gpu_type)
            known, at = first.setdefault(flavor, (gpu_type, index))
            span = draft.span("nodePools", index, "gpu", "type")
            if gpu_type == NO_GPU or flavor == CPU_FLAVOR:
                yield self.finding(
                    span,
                    f'GPU type "{gpu_type}" of pool "{pool.name}" is what nodes without GPUs are called',
                    "give the type another name",
                )
            elif not _DNS_NAME.fullmatch(flavor):
                yield self.finding(
                    span,
                    f'GPU type "{gpu_type}" of pool "{pool.name}" gives no name for a Kueue flavor',
                    "use letters, digits and single hyphens, such as a100",
                )
            elif known != gpu_type:
                yield self.finding(
                    span,
                    f'GPU types "{known}" and "{gpu_type}" both become the flavor "{flavor}" and would share one quota',
                    "spell both alike, or tell them apart",
                    ((draft.span("nodePools", at, "gpu", "type"), f"{known} stands here"),),
                )
