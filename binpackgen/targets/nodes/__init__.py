"""Labels, taints and reserved resources of the nodes, in the form that the pool's provisioning takes."""

from __future__ import annotations

from collections.abc import Iterator

from ...document import Output
from ...plan.model import Plan
from . import feature_rule, karpenter, kubelet, patch

_BY_PROVISIONING = {
    "kubelet": kubelet.compile_pool,
    "karpenter": karpenter.compile_pool,
    "nfd": feature_rule.compile_pool,
    "patch": patch.compile_pool,
}


def compile(plan: Plan) -> Iterator[Output]:
    """What each pool's nodes need, in a folder per pool."""
    for pool in plan.pools:
        yield from _BY_PROVISIONING[pool.source.provisioning](plan, pool)
