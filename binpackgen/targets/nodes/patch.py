"""Labels and taints of nodes that are named, sent through the API.

A patch holds labels alone: the taints of a node are one atomic list, so whoever applies a taint owns them all
and would remove those that Kubernetes sets (not-ready, unschedulable). `kubectl taint` adds one and leaves the
others.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...document import Because, Document, Output, TextFile, Unsupported
from ...plan.model import Plan, Pool
from ...source import Path
from .commands import selector, taint_command
from .kubelet import compile_reserved


def compile_pool(plan: Plan, pool: Pool) -> Iterator[Output]:
    """One labels-only patch per node, the command that taints the pool, and what the kubelet reserves."""
    if not pool.source.nodes:
        yield Unsupported(
            f"patches for the nodes of pool {pool.name}",
            "the pool names no nodes",
            "name them in nodes, or provisioning: kubelet",
            (*pool.at, "provisioning"),
        )
    for index, node in enumerate(pool.source.nodes):
        yield _patch(pool, node, index)
    if pool.source.nodes and pool.taints:
        text = (
            "# After the patches. A node's taints are one list: a patch would remove those that Kubernetes sets.\n"
            f"{taint_command(selector(plan, pool), pool.taints)}\n"
        )
        why = Because(f"taints of pool {pool.name}", ((*pool.at, "taints"),))
        yield TextFile(f"nodes/{pool.name}/commands.sh", text, why)
    yield from compile_reserved(plan, pool)


def _patch(pool: Pool, node: str, index: int) -> Document:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": dict(pool.labels)}}
    why = Because(
        f"kubectl apply --server-side --field-manager binpackgen -f nodes/{pool.name}/{node}.yaml adds the labels "
        "of the pool to a node that exists; it is not for GitOps, whose pruning would delete the node",
        ((*pool.at, "nodes", index),),
    )
    trace: dict[Path, Because] = {
        ("metadata", "labels"): Because(
            f"labels of pool {pool.name}", (("spec", "nodeLabels"), (*pool.at, "labels"))
        )
    }
    return Document(f"nodes/{pool.name}/{node}.yaml", body, why, trace, sync=False)
