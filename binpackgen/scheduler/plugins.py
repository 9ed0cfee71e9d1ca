"""The score plugins that kube-scheduler turns on by itself, per Kubernetes minor.

Sources: pkg/scheduler/apis/config/v1/default_plugins.go and the plugins' Score methods of each minor; the
weights of 1.34 to 1.37 are compared in the tests with what real kube-scheduler binaries write back.
"""

from __future__ import annotations

from typing import NamedTuple

#: Minors that the compiler knows; a newer one is treated like the newest with a warning.
OLDEST_MINOR = 31
NEWEST_MINOR = 37

FIT = "NodeResourcesFit"
NODE_AFFINITY = "NodeAffinity"
BALANCED = "NodeResourcesBalancedAllocation"


class ScorePlugin(NamedTuple):
    """A score plugin that is on by default.

    `since` is the first minor in which it scores with default feature gates. `span` is the most by which its
    scores of two nodes can differ. `speaks_for` says whose wish its
    score carries: the pod's author ("pod"), or nobody's but the scheduler's own ("cluster").
    `against_packing` and `cost_of_off` complete sentences in `explain` and in the README of a tree.
    """

    name: str
    weight: int
    speaks_for: str
    against_packing: str
    cost_of_off: str
    since: int = OLDEST_MINOR
    span: int = 100


SCORE_PLUGINS: tuple[ScorePlugin, ...] = (
    ScorePlugin(
        "TaintToleration",
        3,
        "pod",
        "prefers nodes without PreferNoSchedule taints that the pod does not tolerate",
        "PreferNoSchedule taints have no effect on these pods",
    ),
    ScorePlugin(
        NODE_AFFINITY,
        2,
        "pod",
        "prefers the nodes that a pod's preferred node affinity names",
        "preferred node affinity has no effect on these pods",
    ),
    ScorePlugin(
        FIT,
        1,
        "pod",
        "is packing itself",
        "nothing packs",
    ),
    ScorePlugin(
        "VolumeBinding",
        1,
        "cluster",
        "prefers nodes whose storage classes have most capacity left",
        "dynamic local volumes are no longer balanced over the nodes' storage",
        since=37,
    ),
    ScorePlugin(
        "PodTopologySpread",
        2,
        "pod",
        "spreads pods over nodes and zones",
        "topologySpreadConstraints with ScheduleAnyway have no effect on these pods",
    ),
    ScorePlugin(
        "InterPodAffinity",
        2,
        "pod",
        "pulls pods to, or pushes them from, pods that their affinity names",
        "preferred pod affinity has no effect on these pods",
    ),
    ScorePlugin(
        "DynamicResources",
        2,
        "cluster",
        "prefers nodes that satisfy the earlier alternatives of a device request",
        "alternatives in ResourceClaims are taken in any order",
        since=35,
    ),
    ScorePlugin(
        BALANCED,
        1,
        "cluster",
        "prefers nodes on which cpu and memory are equally full, mostly the emptier ones",
        "cpu and memory of a node fill at different speeds where job shapes are lopsided",
        span=50,  # balanced_allocation.go: 50..100 in every minor, since the deviation is at most a half
    ),
    ScorePlugin(
        "ImageLocality",
        1,
        "cluster",
        "prefers nodes that already hold the pod's images",
        "an image may be pulled again on the node that packing chooses",
    ),
)


def known_minor(minor: int) -> int:
    """The minor whose facts apply to `minor`."""
    return min(max(minor, OLDEST_MINOR), NEWEST_MINOR)


def default_scorers(minor: int) -> tuple[ScorePlugin, ...]:
    """The score plugins that `minor` has on by default, in the scheduler's order."""
    return tuple(plugin for plugin in SCORE_PLUGINS if plugin.since <= known_minor(minor))
