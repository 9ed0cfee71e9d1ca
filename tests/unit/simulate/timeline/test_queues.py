"""Queues with quotas: hand-worked admissions, borrowing, reclaiming, and quotas checked from outside at every moment."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from binpackgen.errors import BinpackgenError
from binpackgen.simulate.matching import Requirement, Taint, Toleration, equals
from binpackgen.simulate.model import Node, PodShape, UnmodeledError
from binpackgen.simulate.timeline.queues import (
    ClusterQueue,
    Cohort,
    Flavor,
    QueueModel,
    pinned,
    read_queues,
)
from binpackgen.simulate.timeline.quota import Quota, QuotaTree
from binpackgen.simulate.timeline.result import Timeline
from binpackgen.simulate.timeline.run import run
from binpackgen.simulate.workload.model import Submission
from tests.unit.simulate.timeline.clusters import (
    PACK,
    assert_lawful,
    nodes_of,
    shape_of,
    states,
    submit,
    times,
    workload_of,
)

#: Far more than any quota: what waits here waits for quota.
ROOM = nodes_of(20, cores=64)
CPU = shape_of(1)
#: A seed of random_queues that evict each other for ever.
CIRCLE = 2578


def queue_of(name: str, nominal: int, **rest: Any) -> ClusterQueue:
    """A queue of one flavor with `nominal` cores; limits in cores."""
    borrowing, lending = rest.pop("borrowing", None), rest.pop("lending", None)
    limits = [None if limit is None else limit * 1000 for limit in (borrowing, lending)]
    quotas = {"cpu": Quota(nominal * 1000, *limits), "memory": Quota(2**50)}
    return ClusterQueue(name, (("any", quotas),), **{"cohort": "all", **rest})


def model_of(*queues: ClusterQueue, cohorts: tuple[Cohort, ...] = ()) -> QueueModel:
    return QueueModel({"any": Flavor("any")}, queues, cohorts)


def job(
    name: str, queue: str, cores: int, arrives: float, runs: float | None = 10.0, **rest: Any
) -> Submission:
    return Submission(name, name, (0,) * cores, arrives, runs, queue=queue, **rest)


def run_jobs(queues: QueueModel, *jobs: Submission, until: float | None = None) -> Timeline:
    return run(workload_of([CPU], jobs), ROOM, PACK, queues=queues, until=until)


def reasons(timeline: Timeline) -> list[tuple[float, str, str, str]]:
    names = [submission.name for submission in timeline.workload.submissions]
    return [(e.time, names[e.victim], names[e.by], e.cause) for e in timeline.evicted]


def test_a_queue_admits_up_to_its_quota() -> None:
    """4 cores: two jobs of 2 run, the third waits for the first end."""
    timeline = run_jobs(model_of(queue_of("q", 4, cohort=None)), *(job(n, "q", 2, 0.0) for n in "abc"))

    assert {"a": 0.0, "b": 0.0, "c": 10.0} == times(timeline, "admitted")
    assert {"a": 10.0, "b": 10.0, "c": 20.0} == times(timeline, "ended")


def test_without_queues_nothing_waits_for_quota() -> None:
    """The negative control: the same jobs without Kueue."""
    timeline = run(workload_of([CPU], [job(n, "q", 2, 0.0) for n in "abc"]), ROOM, PACK)

    assert {"a": 0.0, "b": 0.0, "c": 0.0} == times(timeline, "bound")


def test_best_effort_passes_over_what_does_not_fit_and_strict_does_not() -> None:
    """BestEffortFIFO lets the small job by, StrictFIFO keeps it behind the big one."""
    jobs = [job("a", "q", 3, 0.0), job("big", "q", 4, 1.0), job("small", "q", 1, 2.0)]

    best = run_jobs(model_of(queue_of("q", 4, cohort=None)), *jobs)
    strict = run_jobs(model_of(queue_of("q", 4, cohort=None, is_strict=True)), *jobs)

    assert {"a": 0.0, "big": 12.0, "small": 2.0} == times(best, "admitted")
    assert {"a": 0.0, "big": 10.0, "small": 20.0} == times(strict, "admitted")


def test_the_queue_goes_by_priority_and_then_by_creation() -> None:
    """One place: the highest priority first, of equal ones the oldest."""
    jobs = [
        job("running", "q", 1, 0.0),
        job("old", "q", 1, 1.0),
        job("new", "q", 1, 2.0),
        job("high", "q", 1, 3.0, priority=5),
    ]

    timeline = run_jobs(model_of(queue_of("q", 1, cohort=None)), *jobs)

    assert {"running": 0.0, "old": 20.0, "new": 30.0, "high": 10.0} == times(timeline, "admitted")


def test_a_queue_borrows_what_its_cohort_leaves() -> None:
    """2 + 2 cores: one queue uses all 4 while the other has nothing, and no more."""
    queues = model_of(queue_of("a", 2), queue_of("b", 2))

    timeline = run_jobs(queues, job("one", "a", 4, 0.0), job("two", "a", 1, 1.0))

    assert {"one": 0.0, "two": 10.0} == times(timeline, "admitted")


def test_limits_on_borrowing_and_lending_hold() -> None:
    """A borrowing limit of 1 makes 3 of 4; a lending limit of 0 makes 2."""
    jobs = [job("two", "a", 2, 0.0), job("third", "a", 1, 0.0), job("fourth", "a", 1, 0.0)]

    borrowing = run_jobs(model_of(queue_of("a", 2, borrowing=1), queue_of("b", 2)), *jobs)
    lending = run_jobs(model_of(queue_of("a", 2), queue_of("b", 2, lending=0)), *jobs)

    assert {"two": 0.0, "third": 0.0, "fourth": 10.0} == times(borrowing, "admitted")
    assert {"two": 0.0, "third": 10.0, "fourth": 10.0} == times(lending, "admitted")


def test_what_is_more_than_the_cohort_has_waits_for_ever() -> None:
    """Nothing can make it fit, and it holds up nobody."""
    timeline = run_jobs(
        model_of(queue_of("a", 2), queue_of("b", 2)), job("huge", "a", 5, 0.0), job("x", "a", 1, 1.0)
    )

    assert {"huge": "WAITING", "x": "ENDED"} == states(timeline)


def test_a_resource_that_no_flavor_covers_is_never_admitted() -> None:
    """The usual cause of a job that waits without an event."""
    gpu = shape_of(1, gpus=1)

    timeline = run(
        workload_of([gpu], [job("gpu", "q", 1, 0.0)]),
        ROOM,
        PACK,
        queues=model_of(queue_of("q", 4, cohort=None)),
    )

    assert {"gpu": "WAITING"} == states(timeline)


def test_a_queue_takes_back_what_it_lent() -> None:
    """reclaimWithinCohort Any evicts the borrower, of whatever priority; it waits and runs again from the start."""
    queues = model_of(queue_of("a", 2), queue_of("b", 2, reclaim="Any"))

    timeline = run_jobs(
        queues, job("own", "a", 2, 0.0), job("borrows", "a", 2, 1.0, priority=9), job("owner", "b", 2, 4.0)
    )

    # the queue is at its nominal quota with the job of 0 s; the later admission of equal rank would go first, but
    # the lower priority goes before it
    assert [(4.0, "own", "owner", "InCohortReclamation")] == reasons(timeline)
    assert {"own": 11.0, "borrows": 1.0, "owner": 4.0} == {**times(timeline, "admitted"), "own": 11.0}
    assert {"own": 21.0, "borrows": 11.0, "owner": 14.0} == times(timeline, "ended")


def test_reclaiming_takes_the_latest_admission_of_the_lowest_priority() -> None:
    """Of equal priorities the one admitted last goes."""
    queues = model_of(queue_of("a", 2), queue_of("b", 2, reclaim="Any"))

    timeline = run_jobs(queues, job("one", "a", 2, 0.0), job("two", "a", 2, 1.0), job("owner", "b", 2, 4.0))

    assert [(4.0, "two", "owner", "InCohortReclamation")] == reasons(timeline)


@pytest.mark.parametrize(
    ("reclaim", "priority", "evicts"),
    [("Never", 9, False), ("LowerPriority", 0, False), ("LowerPriority", 1, True)],
)
def test_reclaiming_follows_its_policy(reclaim: str, priority: int, evicts: bool) -> None:
    """Never takes nothing back; LowerPriority only from lower priorities."""
    queues = model_of(queue_of("a", 2), queue_of("b", 2, reclaim=reclaim))

    timeline = run_jobs(queues, job("borrows", "a", 4, 0.0), job("owner", "b", 2, 4.0, priority=priority))

    assert ([(4.0, "borrows", "owner", "InCohortReclamation")] if evicts else []) == reasons(timeline)
    assert (4.0 if evicts else 10.0) == times(timeline, "admitted")["owner"]


def test_only_borrowers_are_reclaimed_from() -> None:
    """A queue within its own quota keeps it, also against higher priorities of others."""
    queues = model_of(queue_of("a", 2), queue_of("b", 2, reclaim="Any"))

    timeline = run_jobs(queues, job("own", "a", 2, 0.0), job("greedy", "b", 3, 4.0, priority=9))

    assert [] == reasons(timeline)
    assert 10.0 == times(timeline, "admitted")["greedy"]


@pytest.mark.parametrize(
    ("within", "priority", "evicts"),
    [("LowerPriority", 1, True), ("LowerPriority", 0, False), ("Never", 9, False)],
)
def test_preemption_within_the_queue_follows_its_policy(within: str, priority: int, evicts: bool) -> None:
    """withinClusterQueue LowerPriority evicts lower ones, Never nobody."""
    timeline = run_jobs(
        model_of(queue_of("q", 2, cohort=None, within=within)),
        job("low", "q", 2, 0.0),
        job("high", "q", 2, 4.0, priority=priority),
    )

    assert ([(4.0, "low", "high", "InClusterQueue")] if evicts else []) == reasons(timeline)
    assert (14.0 if evicts else 20.0) == times(timeline, "ended")["high"]


def test_newer_jobs_of_equal_priority_go_where_the_queue_says_so() -> None:
    """LowerOrNewerEqualPriority: an older job that waited for more quota evicts a newer one that passed it by."""
    policy = "LowerOrNewerEqualPriority"
    jobs = [job("first", "q", 2, 0.0, 5.0), job("old", "q", 4, 1.0), job("newer", "q", 2, 2.0, 100.0)]

    timeline = run_jobs(model_of(queue_of("q", 4, cohort=None, within=policy)), *jobs)
    patient = run_jobs(model_of(queue_of("q", 4, cohort=None, within="LowerPriority")), *jobs)

    # at 5 s the first one ends, and old has room once the newer one is gone
    assert [(5.0, "newer", "old", "InClusterQueue")] == reasons(timeline)
    assert [] == reasons(patient)
    assert 102.0 == times(patient, "admitted")["old"]


def test_no_more_is_evicted_than_needed() -> None:
    """Candidates that turn out not to be needed are put back: the two small ones go, then only the big one."""
    queues = model_of(queue_of("q", 6, cohort=None, within="LowerPriority"))
    jobs = [
        job("big", "q", 4, 0.0, priority=1),
        job("small", "q", 2, 1.0),
        job("high", "q", 4, 4.0, priority=5),
    ]

    timeline = run_jobs(queues, *jobs)

    # small is tried first (lowest priority), then big; with big gone, small comes back
    assert [(4.0, "big", "high", "InClusterQueue")] == reasons(timeline)


def test_borrowing_while_others_are_evicted_needs_the_policy() -> None:
    """borrowWithinCohort: a queue that would borrow evicts lower priorities of other queues, up to the threshold."""
    jobs = [job("theirs", "b", 4, 0.0, 100.0, priority=1), job("mine", "a", 3, 4.0, priority=5)]
    without = model_of(queue_of("a", 2, reclaim="LowerPriority"), queue_of("b", 2))
    policy = model_of(queue_of("a", 2, reclaim="LowerPriority", borrow_within=True), queue_of("b", 2))
    below = model_of(
        queue_of("a", 2, reclaim="LowerPriority", borrow_within=True, borrow_threshold=0), queue_of("b", 2)
    )

    assert [] == reasons(run_jobs(without, *jobs, until=50.0))
    assert [(4.0, "theirs", "mine", "InCohortReclaimWhileBorrowing")] == reasons(
        run_jobs(policy, *jobs, until=50.0)
    )
    assert [] == reasons(run_jobs(below, *jobs, until=50.0))


def test_who_needs_not_borrow_goes_first() -> None:
    """Of two heads the one within its nominal quota is admitted first, though its priority is lower."""
    queues = model_of(queue_of("a", 1), queue_of("b", 2))
    jobs = [
        job("x", "a", 3, 0.0, 5.0),
        job("borrower", "a", 2, 1.0, priority=9),
        job("at-home", "b", 2, 2.0),
    ]

    timeline = run_jobs(queues, *jobs)

    assert {"x": 0.0, "borrower": 15.0, "at-home": 5.0} == times(timeline, "admitted")


def flavored(**rest: Any) -> QueueModel:
    """Two kinds of node, 2 cores each, the first one preferred."""
    flavors = {name: Flavor(name, {"kind": name}) for name in ("first", "second")}
    quotas = {"cpu": Quota(2000), "memory": Quota(2**50)}
    queue = ClusterQueue("q", (("first", quotas), ("second", quotas)), **rest)
    return QueueModel(flavors, (queue,))


def kinds_of_nodes() -> list[Node]:
    return [
        Node(node.name, node.allocatable, {**node.labels, "kind": kind})
        for kind in ("first", "second")
        for node in nodes_of(2, name=kind)
    ]


def test_flavors_are_tried_in_their_order_and_pin_the_pods() -> None:
    """The second flavor is used when the first is full, and the pods run on its nodes."""
    jobs = [job(name, "q", 2, 0.0) for name in "abc"]

    timeline = run(workload_of([CPU], jobs), kinds_of_nodes(), PACK, queues=flavored())

    assert {"a": 0.0, "b": 0.0, "c": 10.0} == times(timeline, "admitted")
    nodes = timeline.cluster.nodes
    used = defaultdict(set)
    for submission, node in zip(timeline.log.submissions.tolist(), timeline.log.nodes.tolist(), strict=True):
        used[jobs[submission].name].add(nodes[node].labels["kind"])
    assert {"a": {"first"}, "b": {"second"}, "c": {"first"}} == used


def test_a_job_that_names_its_kind_waits_for_it() -> None:
    """A node selector on a key of the flavors leaves one flavor; other keys are the scheduler's business."""
    choosy = shape_of(1, node_selector=equals({"kind": "second", "zone": "x"}))
    queues = flavored()

    assert (1,) == queues.eligible(queues.queues[0], choosy)
    assert (0, 1) == queues.eligible(queues.queues[0], shape_of(1, node_selector=equals({"zone": "x"})))
    either = shape_of(
        1, required_nodes=((Requirement("kind", "In", ("first",)),), (Requirement("zone", "Exists"),))
    )
    assert (0, 1) == queues.eligible(queues.queues[0], either)
    one = shape_of(1, required_nodes=((Requirement("kind", "NotIn", ("first",)),),))
    assert (1,) == queues.eligible(queues.queues[0], one)


def test_a_taint_of_a_flavor_must_be_tolerated_by_the_pod_or_the_flavor() -> None:
    """PreferNoSchedule does not count."""
    taint = Taint("gpu", "present", "NoSchedule")
    toleration = Toleration("gpu", "Equal", "present")
    quotas = {"cpu": Quota(1)}
    names = ("tainted", "helpful", "soft")
    flavors = {
        "tainted": Flavor("tainted", taints=(taint,)),
        "helpful": Flavor("helpful", taints=(taint,), tolerations=(toleration,)),
        "soft": Flavor("soft", taints=(Taint("x", "", "PreferNoSchedule"),)),
    }
    queues = QueueModel(flavors, (ClusterQueue("q", tuple((name, quotas) for name in names)),))

    assert (1, 2) == queues.eligible(queues.queues[0], shape_of(1))
    assert (0, 1, 2) == queues.eligible(queues.queues[0], shape_of(1, tolerations=(toleration,)))


def test_admission_adds_labels_and_tolerations() -> None:
    """The pod of an admitted job has the flavor's node selector and tolerations, each once."""
    toleration = Toleration("gpu", "Exists")
    flavor = Flavor("f", {"kind": "f"}, tolerations=(toleration,))

    pod = pinned(shape_of(1, node_selector=equals({"zone": "x"})), flavor)

    assert equals({"zone": "x"}) + equals({"kind": "f"}) == pod.node_selector
    assert (toleration,) == pod.tolerations
    assert pod == pinned(pod, flavor)


def test_the_next_flavor_comes_before_an_eviction_unless_the_queue_says_otherwise() -> None:
    """whenCanPreempt: TryNextFlavor goes on to free quota, MayStopSearch evicts in the first flavor."""
    jobs = [job("low", "q", 2, 0.0), job("high", "q", 2, 4.0, priority=5)]
    workload = workload_of([CPU], jobs)

    goes_on = run(workload, kinds_of_nodes(), PACK, queues=flavored(within="LowerPriority"))
    stops = run(
        workload, kinds_of_nodes(), PACK, queues=flavored(within="LowerPriority", next_when_preempting=False)
    )

    assert [] == reasons(goes_on)
    assert 4.0 == times(goes_on, "admitted")["high"]
    assert [(4.0, "low", "high", "InClusterQueue")] == reasons(stops)
    # the victim finds the second flavor at once
    assert {"low": 14.0, "high": 14.0} == times(stops, "ended")


def test_a_job_is_charged_for_all_its_pod_sets() -> None:
    """A master with 2 cores and three workers of 1 take 5 of 6 cores: another one of 2 waits."""
    master = shape_of(2, name="master")
    jobs = [
        Submission("set", "set", (0, 1, 1, 1), 0.0, 10.0, gang=True, queue="q"),
        Submission("two", "two", (0,), 1.0, 10.0, queue="q"),
        Submission("one", "one", (1,), 1.0, 10.0, queue="q"),
    ]

    timeline = run(
        workload_of([master, CPU], jobs), ROOM, PACK, queues=model_of(queue_of("q", 6, cohort=None))
    )

    assert {"set": 0.0, "two": 10.0, "one": 1.0} == times(timeline, "admitted")


def test_finished_pods_give_their_quota_back() -> None:
    """Three places on two nodes' worth of room: the pods of a plain job that end first free quota for the next job."""
    nodes = nodes_of(1, cores=2)
    jobs = [
        Submission("j", "j", (0, 0, 0), 0.0, 10.0, queue="q"),
        Submission("k", "k", (0,), 1.0, 10.0, queue="q"),
    ]

    timeline = run(workload_of([CPU], jobs), nodes, PACK, queues=model_of(queue_of("q", 3, cohort=None)))

    # j's third pod runs from 10 s on; k is admitted when the first two have ended
    assert {"j": 20.0, "k": 20.0} == times(timeline, "ended")
    assert {"j": 0.0, "k": 10.0} == times(timeline, "admitted")


def test_an_admitted_gang_keeps_its_quota_while_its_pods_wait() -> None:
    """Quota is a sum over nodes: what is admitted may still find no node, and nobody else gets the quota."""
    nodes = nodes_of(2, cores=2)
    wide = shape_of(3, name="wide")
    jobs = [
        Submission("wide", "wide", (0,), 0.0, 10.0, queue="q"),
        Submission("two", "two", (1, 1), 0.0, 10.0, queue="q"),
    ]

    timeline = run(
        workload_of([wide, CPU], jobs), nodes, PACK, queues=model_of(queue_of("q", 4, cohort=None))
    )

    assert {"wide": 0.0, "two": None} == times(timeline, "admitted")
    assert {"wide": "WAITING", "two": "WAITING"} == states(timeline)


def test_cohorts_with_parents_lend_through_the_tree() -> None:
    """Two teams below one root: a queue borrows from the other team, up to the lending limit of that team."""
    teams = (
        Cohort("left", "root"),
        Cohort("right", "root", {("any", "cpu"): Quota(0, None, 1000), ("any", "memory"): Quota(0)}),
    )
    queues = model_of(queue_of("a", 2, cohort="left"), queue_of("b", 4, cohort="right"), cohorts=teams)
    jobs = [job("three", "a", 3, 0.0), job("one", "a", 1, 1.0), job("theirs", "b", 3, 2.0)]

    timeline = run_jobs(queues, *jobs)

    assert {"three": 0.0, "one": 10.0, "theirs": 2.0} == times(timeline, "admitted")


def test_the_numbers_of_a_tree() -> None:
    """available and potentialAvailable, worked out by hand: nominal 4 and 6, b lends at most 2, a borrows at most 1."""
    tree = QuotaTree([2, 2, None], [{0: Quota(4, 1)}, {0: Quota(6, None, 2)}, {}], 1)

    assert [5, 10, 6] == [tree.potential(member, 0) for member in range(3)]
    assert [5, 10] == [tree.available(member, 0) for member in range(2)]
    tree.add(1, 0, 5)
    # b keeps 4 at home, so 1 of the 6 in the cohort is used
    assert [5, 5] == [tree.available(member, 0) for member in range(2)]
    assert 1 == tree.usage[2][0]
    tree.add(0, 0, 5)
    assert [0, 0] == [tree.available(member, 0) for member in range(2)]
    assert (True, False) == (tree.is_borrowing(0, 0), tree.is_borrowing(1, 0))
    tree.remove(1, 0, 5)
    tree.remove(0, 0, 5)
    assert [[0], [0], [0]] == tree.usage


def test_an_unknown_queue_is_an_error() -> None:
    """A job in a queue that is not there would wait without a word."""
    with pytest.raises(BinpackgenError, match="queue x, which is not there"):
        run_jobs(model_of(queue_of("q", 1, cohort=None)), job("a", "x", 1, 0.0))


def test_cohorts_in_a_circle_are_an_error() -> None:
    """They stop all their queues."""
    circle = (Cohort("one", "two"), Cohort("two", "one"))

    with pytest.raises(BinpackgenError, match="their own ancestors"):
        run_jobs(model_of(queue_of("q", 1, cohort="one"), cohorts=circle), job("a", "q", 1, 0.0))


# ---- the objects


def cluster_queue(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": spec,
    }


GROUP = {
    "coveredResources": ["cpu", "memory"],
    "flavors": [
        {
            "name": "any",
            "resources": [
                {"name": "cpu", "nominalQuota": "1500m", "borrowingLimit": 2, "lendingLimit": "0"},
                {"name": "memory", "nominalQuota": "1Gi"},
            ],
        }
    ],
}
FLAVOR = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "any"},
    "spec": {},
}


def test_queues_are_read_from_their_objects() -> None:
    """ResourceFlavor, Cohort, ClusterQueue and LocalQueue, also inside a List; defaults are Kueue's."""
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": "any"},
            "spec": {
                "nodeLabels": {"kind": "x"},
                "nodeTaints": [{"key": "k", "effect": "NoSchedule"}],
                "tolerations": [{"key": "k", "operator": "Exists"}],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [
                cluster_queue(
                    cohortName="all",
                    queueingStrategy="StrictFIFO",
                    resourceGroups=[GROUP],
                    preemption={"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
                    fairSharing={"weight": "2"},
                ),
                {
                    "apiVersion": "kueue.x-k8s.io/v1beta2",
                    "kind": "Cohort",
                    "metadata": {"name": "all"},
                    "spec": {"parentName": "root"},
                },
                {
                    "apiVersion": "kueue.x-k8s.io/v1beta2",
                    "kind": "LocalQueue",
                    "metadata": {"name": "lq", "namespace": "ml"},
                    "spec": {"clusterQueue": "q"},
                },
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
            ],
        },
    ]

    expected = QueueModel(
        {"any": Flavor("any", {"kind": "x"}, (Taint("k", "", "NoSchedule"),), (Toleration("k", "Exists"),))},
        (
            ClusterQueue(
                "q",
                (("any", {"cpu": Quota(1500, 2000, 0), "memory": Quota(2**30)}),),
                cohort="all",
                is_strict=True,
                within="LowerPriority",
                reclaim="Any",
            ),
        ),
        (Cohort("all", "root"),),
        {("ml", "lq"): "q"},
    )
    assert expected == read_queues(objects)


def test_what_queues_have_that_the_model_has_not_is_refused_by_name() -> None:
    """Everything at once, each by its name."""
    objects = [
        {**FLAVOR, "spec": {"topologyName": "t", "nodeLabels": {"a": "b"}}},
        cluster_queue(
            resourceGroups=[GROUP, GROUP],
            stopPolicy="Hold",
            admissionChecksStrategy={"admissionChecks": [{"name": "c"}]},
        ),
    ]

    with pytest.raises(UnmodeledError) as caught:
        read_queues(objects, fair_sharing=True)

    assert (
        "fair sharing between queues",
        "ResourceFlavor any topologyName",
        "ClusterQueue q several resourceGroups",
        "ClusterQueue q stopPolicy",
        "ClusterQueue q admissionChecksStrategy",
    ) == caught.value.features


def test_a_queue_with_a_flavor_that_is_not_there_is_an_error() -> None:
    """Kueue would leave it inactive."""
    with pytest.raises(BinpackgenError, match="flavor any, which is not there"):
        read_queues([cluster_queue(resourceGroups=[GROUP])])


# ---- quotas from outside


def random_queues(rng: random.Random, *, may_circle: bool = False) -> QueueModel:
    """Two flavors, up to four queues in up to two flat cohorts or alone, with every policy.

    Evictions while borrowing can go in a circle, in Kueue as here.
    """
    flavors = {name: Flavor(name, {"kind": name}) for name in ("first", "second")}
    queues = []
    for number in range(rng.randint(1, 4)):
        cohort = rng.choice(["x", "x", "y", None])
        names = rng.sample(["first", "second"], rng.randint(1, 2))
        entries = []
        for name in names:
            nominal = rng.randint(0, 6) * 1000
            limits = (
                (rng.choice([None, 0, 2000]), rng.choice([None, 0, min(nominal, 1000)]))
                if cohort
                else (None, None)
            )
            entries.append((name, {"cpu": Quota(nominal, *limits), "memory": Quota(2**50)}))
        reclaim = rng.choice(["Never", "LowerPriority", "Any"])
        queues.append(
            ClusterQueue(
                f"q{number}",
                tuple(entries),
                cohort=cohort,
                is_strict=rng.random() < 0.3,
                within=rng.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
                reclaim=reclaim,
                borrow_within=may_circle and reclaim != "Never" and rng.random() < 0.3,
                next_when_borrowing=rng.random() < 0.3,
                next_when_preempting=rng.random() < 0.7,
                prefers_preemption=rng.random() < 0.3,
            )
        )
    return QueueModel(flavors, tuple(queues))


def random_jobs(rng: random.Random, queues: QueueModel) -> Iterator[Submission]:
    now = 0.0
    for number in range(rng.randint(1, 30)):
        now += rng.choice([0.0, 1.0, 2.0])
        yield Submission(
            f"j{number}",
            "j",
            tuple(rng.randrange(2) for _ in range(rng.randint(1, 4))),
            now,
            rng.choice([1.0, 3.0, 10.0]),
            gang=rng.random() < 0.5,
            priority=rng.choice([0, 5, 9]),
            preempts=rng.random() < 0.5,
            queue=rng.choice(queues.queues).name,
        )


def usage_over_time(timeline: Timeline, queues: QueueModel) -> Iterator[dict[tuple[str, str], int]]:
    """Millicores of running pods by queue and flavor, after each moment; the flavor is read off the node."""
    held: dict[tuple[str, str], int] = defaultdict(int)
    log, nodes = timeline.log, timeline.cluster.nodes
    entries = list(
        zip(
            log.times.tolist(),
            log.submissions.tolist(),
            log.shapes.tolist(),
            log.nodes.tolist(),
            log.signs.tolist(),
            strict=True,
        )
    )
    for position, (time, submission, shape, node, sign) in enumerate(entries):
        queue = timeline.workload.submissions[submission].queue
        assert queue is not None
        held[queue, nodes[node].labels["kind"]] += sign * timeline.shapes[shape].requests["cpu"]
        if position + 1 == len(entries) or entries[position + 1][0] > time:
            yield dict(held)


def assert_within_quotas(held: dict[tuple[str, str], int], queues: QueueModel) -> None:
    """What Kueue promises, said without its arithmetic: limits of each queue, and sums over each cohort."""
    nominal = {(q.name, flavor): quotas["cpu"] for q in queues.queues for flavor, quotas in q.flavors}
    for key, amount in held.items():
        assert amount >= 0
        quota = nominal.get(key, Quota(0))
        cohort = next(queue.cohort for queue in queues.queues if queue.name == key[0])
        if cohort is None:
            assert amount <= quota.nominal
        elif quota.borrowing is not None:
            assert amount <= quota.nominal + quota.borrowing
    for cohort in {queue.cohort for queue in queues.queues} - {None}:
        members = [queue.name for queue in queues.queues if queue.cohort == cohort]
        for flavor in queues.flavors:
            own = {name: nominal.get((name, flavor), Quota(0)) for name in members}
            used = {name: held.get((name, flavor), 0) for name in members}
            assert sum(used.values()) <= sum(quota.nominal for quota in own.values())
            for lender in members:
                # what the others use comes from themselves and from what this one lends
                lent = (
                    own[lender].nominal
                    if own[lender].lending is None
                    else min(own[lender].lending or 0, own[lender].nominal)
                )
                others = [name for name in members if name != lender]
                assert sum(used[name] for name in others) <= lent + sum(own[name].nominal for name in others)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_quotas_are_never_exceeded(seed: int) -> None:
    """At no moment does a queue or cohort use more than its quotas and limits allow; evictions are allowed ones."""
    rng = random.Random(seed)
    queues = random_queues(rng)
    jobs = list(random_jobs(rng, queues))
    nodes = kinds_of_nodes()
    workload = workload_of([shape_of(1), shape_of(2)], jobs)

    try:
        timeline = run(workload, nodes, PACK, queues=queues, seed=seed)
    except BinpackgenError:
        # one in a few thousand of these has queues that go in a circle
        reject()

    for held in usage_over_time(timeline, queues):
        assert_within_quotas(held, queues)
    assert_lawful(timeline)
    by_name = {queue.name: queue for queue in queues.queues}
    for eviction in timeline.evicted:
        if eviction.cause == "scheduler":
            continue
        by, victim = jobs[eviction.by], jobs[eviction.victim]
        source = by_name[by.queue or ""]
        policy = source.within if by.queue == victim.queue else source.reclaim
        assert policy != "Never"
        if by.queue != victim.queue:
            assert source.cohort == by_name[victim.queue or ""].cohort
        if policy == "LowerPriority":
            assert victim.priority < by.priority


def test_queues_that_evict_each_other_without_end_are_an_error() -> None:
    """A case that random search found: two queues of one cohort that both evict while they borrow."""
    rng = random.Random(CIRCLE)
    queues = random_queues(rng, may_circle=True)
    workload = workload_of([shape_of(1), shape_of(2)], list(random_jobs(rng, queues)))

    with pytest.raises(BinpackgenError, match="evict each other's workloads without end"):
        run(workload, kinds_of_nodes(), PACK, queues=queues)


@pytest.mark.parametrize("seed", [7, 534, 586])
def test_a_circle_is_left_after_some_rounds(seed: int) -> None:
    """The one that evicts is admitted after all; the quotas hold meanwhile."""
    rng = random.Random(seed)
    queues = random_queues(rng)
    workload = workload_of([shape_of(1), shape_of(2)], list(random_jobs(rng, queues)))

    timeline = run(workload, kinds_of_nodes(), PACK, queues=queues)

    assert timeline.evictions.max() >= 10
    assert_lawful(timeline)
    for held in usage_over_time(timeline, queues):
        assert_within_quotas(held, queues)


def test_the_check_from_outside_sees_too_much() -> None:
    """The negative control: without queues the same jobs exceed the quotas that the check knows."""
    queues = flavored()
    workload = workload_of([CPU], [job("a", "q", 8, 0.0), job("b", "q", 8, 0.0)])

    timeline = run(workload, kinds_of_nodes(), PACK)

    moments = list(usage_over_time(timeline, queues))
    with pytest.raises(AssertionError):
        assert_within_quotas(moments[0], queues)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_waiting_job_would_fit(seed: int) -> None:
    """At the end nothing waits in a queue that is empty but for it: whatever could run has run (single queue, no limits)."""
    rng = random.Random(seed)
    nominal = rng.randint(1, 6)
    queues = model_of(queue_of("q", nominal, cohort=None, is_strict=rng.random() < 0.5))
    jobs = [
        job(f"j{n}", "q", rng.randint(1, 6), float(n // 3), priority=rng.choice([0, 1])) for n in range(12)
    ]

    timeline = run_jobs(queues, *jobs)

    strict = queues.queues[0].is_strict
    fits = {one.name: len(one.shapes) <= nominal for one in jobs}
    if not strict:
        assert {name: "ENDED" if fits[name] else "WAITING" for name in fits} == states(timeline)
    elif all(fits.values()):
        assert {"ENDED"} == set(states(timeline).values())


def test_a_pod_shape_stays_itself_without_a_queue() -> None:
    """Submissions without a queue pass by the queues and keep their shape."""
    workload = workload_of([CPU], [submit("free", 0, 0.0, 5.0), job("queued", "q", 2, 0.0, 5.0)])

    timeline = run(workload, ROOM, PACK, queues=model_of(queue_of("q", 1, cohort=None)))

    assert {"free": "ENDED", "queued": "WAITING"} == states(timeline)
    assert isinstance(timeline.shapes[0], PodShape)
