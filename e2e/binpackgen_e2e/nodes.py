"""Nodes of the profile's pools, as objects: what their kubelets would report."""

from __future__ import annotations

from collections.abc import Iterator

from binpackgen.plan.model import Amount, Plan, Pool

from .api import Object

#: Pods that a kubelet takes, its default.
MOST_PODS = 110


def nodes_of(plan: Plan) -> Iterator[Object]:
    """All nodes that the pools can have, named POOL-0, POOL-1, …"""
    for pool in plan.pools:
        width = len(str(pool.nodes_max - 1))
        for index in range(pool.nodes_max):
            yield node(pool, f"{pool.name}-{index:0{width}}")


def node(pool: Pool, name: str) -> Object:
    """A node for kwok to bring up and keep alive: capacity, and allocatable after the reserve."""
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        **pool.labels,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {
            "taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in pool.taints],
        },
        "status": {
            "capacity": amounts(pool.capacity),
            "allocatable": amounts(pool.allocatable),
        },
    }


def overhead_pods(plan: Plan) -> Iterator[Object]:
    """One bound pod a node that requests what the profile states for DaemonSets."""
    for item in nodes_of(plan):
        pool = plan.pool(item["metadata"]["name"].rpartition("-")[0])
        if pool.overhead.cpu or pool.overhead.memory:
            requests = {"cpu": f"{pool.overhead.cpu}m", "memory": str(pool.overhead.memory)}
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"daemons-{item['metadata']['name']}", "namespace": "kube-system"},
                "spec": {
                    "nodeName": item["metadata"]["name"],
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "all", "image": "none", "resources": {"requests": requests}}],
                },
            }


def amounts(amount: Amount) -> dict[str, str]:
    """An amount as a node states it."""
    devices = {name: str(count) for name, count in amount.devices.items()}
    return {"cpu": f"{amount.cpu}m", "memory": str(amount.memory), "pods": str(MOST_PODS), **devices}
