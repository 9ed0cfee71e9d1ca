"""One scheduling cycle, as kube-scheduler with `parallelism: 1` runs it: filter, score, choose.

    decide(state, pod, profile) -> Decision

Source: pkg/scheduler/schedule_one.go in kubernetes v1.34.4 and v1.37.2. With the default parallelism of 16 the
order in which feasible nodes are found depends on timing, and so does the choice among nodes of equal score;
`Decision.top` holds all of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .filters import FILTERS
from .model import ClusterState, Node, PodShape, SchedulerProfile
from .scores import SCORES, Cycle

#: Fewest nodes that are looked for, and the least share in percent that the adaptive rule goes down to.
FEWEST_NODES = 100
LEAST_PERCENTAGE = 5

#: First minor in which equal totals are settled by the shape of a heap instead of by chance.
HEAP_SINCE = 35


@dataclass(frozen=True, slots=True)
class Decision:
    """What a cycle decides. Nodes are indexes into the state.

    `feasible` is in the order in which the nodes were found; `scores` (weighted, by plugin) and `totals` are in
    the same order and empty where nothing is scored: with no feasible node, and with a single one. `top` are
    the nodes of the highest total. `node` is the one taken: None if no node is feasible, and if chance decides
    and no source of it was given. `next_start` is where the next cycle begins to search.
    """

    feasible: tuple[int, ...]
    scores: Mapping[str, tuple[int, ...]]
    totals: tuple[int, ...]
    top: tuple[int, ...]
    node: int | None
    next_start: int

    @property
    def is_tie(self) -> bool:
        """Whether several nodes have the highest total."""
        return len(self.top) > 1


def decide(
    cluster: ClusterState,
    pod: PodShape,
    profile: SchedulerProfile,
    start: int = 0,
    chance: random.Random | None = None,
) -> Decision:
    """The cycle of `pod`, searching from node `start` on; nothing is bound."""
    feasible, next_start = find_feasible(cluster, pod, profile, start)
    if len(feasible) <= 1:
        return Decision(feasible, {}, (), feasible, feasible[0] if feasible else None, next_start)
    scores = score(Cycle(pod, cluster, profile, feasible))
    totals = sum_up(scores, len(feasible))
    highest = max(totals)
    top = tuple(index for index, total in sorted(zip(feasible, totals, strict=True)) if total == highest)
    if profile.minor >= HEAP_SINCE:
        node: int | None = feasible[heap_winner(totals)]
    elif len(top) == 1:
        node = top[0]
    else:
        node = chance.choice(top) if chance else None
    return Decision(feasible, scores, totals, top, node, next_start)


def find_feasible(
    cluster: ClusterState, pod: PodShape, profile: SchedulerProfile, start: int = 0
) -> tuple[tuple[int, ...], int]:
    """The feasible nodes that a cycle finds, and the node with which the next one begins."""
    count = len(cluster.nodes)
    wanted = nodes_to_find(count, profile.percentage) if profile.weights else 1
    passes = [plugin(pod, cluster, profile) for name, plugin in FILTERS.items() if name in profile.filters]
    found: list[int] = []
    rejected = 0
    for offset in range(count):
        index = (start + offset) % count
        if not all(passed(index) for passed in passes):
            rejected += 1
        elif len(found) == wanted:
            # the search ends only when it meets one feasible node too many
            break
        else:
            found.append(index)
    return tuple(found), (start + len(found) + rejected) % count if count else 0


def rejected_by(cluster: ClusterState, pod: PodShape, profile: SchedulerProfile) -> list[str | None]:
    """For each node the first filter plugin that rejects it, None for feasible nodes."""
    passes = [
        (name, plugin(pod, cluster, profile)) for name, plugin in FILTERS.items() if name in profile.filters
    ]
    return [
        next((name for name, passed in passes if not passed(index)), None)
        for index in range(len(cluster.nodes))
    ]


def score(cycle: Cycle) -> dict[str, tuple[int, ...]]:
    """Weighted scores by plugin, without the plugins that sit this pod out."""
    scores: dict[str, tuple[int, ...]] = {}
    for name, plugin in SCORES.items():
        weight = cycle.profile.weights.get(name)
        if weight and (normalized := plugin(cycle)) is not None:
            scores[name] = tuple(value * weight for value in normalized)
    return scores


def sum_up(scores: Mapping[str, Sequence[int]], count: int) -> tuple[int, ...]:
    """Totals of `count` nodes."""
    totals = [0] * count
    for values in scores.values():
        totals = [total + value for total, value in zip(totals, values, strict=True)]
    return tuple(totals)


def nodes_to_find(count: int, percentage: int) -> int:
    """How many feasible nodes are enough among `count` nodes; `percentage` 0 is adaptive."""
    if count < FEWEST_NODES:
        return count
    share = percentage or max(LEAST_PERCENTAGE, 50 - count // 125)
    return max(FEWEST_NODES, count * share // 100)


def heap_winner(totals: Sequence[int]) -> int:
    """Position of the total that stands first after Go's heap.Init (container/heap, framework/sorted_nodes.go)."""
    heap = list(range(len(totals)))
    size = len(heap)
    for root in range(size // 2 - 1, -1, -1):
        parent = root
        while (child := 2 * parent + 1) < size:
            if child + 1 < size and totals[heap[child + 1]] > totals[heap[child]]:
                child += 1
            if totals[heap[child]] <= totals[heap[parent]]:
                break
            heap[parent], heap[child] = heap[child], heap[parent]
            parent = child
    return heap[0]


def scheduler_order(nodes: Iterable[Node]) -> list[Node]:
    """Nodes in the order in which the scheduler goes through them: by turns from each zone.

    Zones (region and zone labels) come in order of first sight, nodes within one in the order given, which is
    by name after a start of the scheduler. Source: pkg/scheduler/backend/cache/node_tree.go.
    """
    zones: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        zones.setdefault(_zone(node), []).append(node)
    longest = max(map(len, zones.values()), default=0)
    return [zone[turn] for turn in range(longest) for zone in zones.values() if turn < len(zone)]


def _zone(node: Node) -> tuple[str, str]:
    """Source: k8s.io/component-helpers v0.37.2, node/topology/helpers.go (GetZoneKey)."""
    return (
        node.labels.get(
            "failure-domain.beta.kubernetes.io/region", node.labels.get("topology.kubernetes.io/region", "")
        ),
        node.labels.get(
            "failure-domain.beta.kubernetes.io/zone", node.labels.get("topology.kubernetes.io/zone", "")
        ),
    )
