"""Containers: the profile's jobs on real kubelets, with devices that a plugin offers, run to their end."""

from __future__ import annotations

from collections.abc import Iterator

from binpackgen.plan.model import Plan
from binpackgen.report.packing_map import PackingMap

from ..api import JOB, Object
from ..context import Context, has_ended, is_bound
from ..maps import packing_map
from ..outcome import Measure, Outcome
from ..workloads import Manifest
from .scenario import HIT_RATE, Scenario, above, all_of, at_most, told

#: Seconds until pods are bound, and until their containers have ended.
_BOUND, _ENDED = 60.0, 120.0


def lacks(plan: Plan) -> str:
    """Nothing to submit without jobs; nothing to count without devices."""
    if not any(group.request.devices for job in plan.jobs for group in job.pod_groups):
        return "a job that asks for devices"
    return ""


def run(context: Context) -> Outcome:
    """Devices of one node's worth per pool must come to rest on one node; the default profile uses both."""
    order = list(_one_node_each(context))
    context.random().shuffle(order)
    packed, evidence, after = _place(context, order, None, "packing scheduler")
    control, _, control_map = _place(
        context, order, context.cluster.control_scheduler, "default scheduler profile"
    )
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=packed,
        control_name="default scheduler profile",
        control=control,
        evidence=evidence,
        maps=(after, control_map),
    )


SCENARIO = Scenario("containers", "Real containers fill one node and leave the other", lacks, run, ("kind",))


def _one_node_each(context: Context) -> Iterator[Manifest]:
    """Jobs in turn, as long as each pool's devices of one node hold them."""
    left = {pool.name: dict(pool.allocatable.devices) for pool in context.plan.pools}
    with_devices = [one for one in context.manifests if one.job.pod_groups[0].request.devices]
    added = True
    while added:
        added = False
        for manifest in with_devices:
            [group] = manifest.job.pod_groups
            wanted = group.request.times(group.count).devices
            pool = left[group.pools[0]]
            if all(pool.get(name, 0) >= count for name, count in wanted.items()):
                for name, count in wanted.items():
                    pool[name] -= count
                added = True
                yield manifest


def _place(
    context: Context, order: list[Manifest], scheduler: str | None, who: str
) -> tuple[tuple[Measure, ...], tuple[str, ...], PackingMap]:
    context.progress.step(who)
    pods = sum(manifest.pods for manifest in order)
    names = [f"{manifest.name}-{index}" for index, manifest in enumerate(order)]
    with context.clean_slate():
        ledger = context.ledger()
        for manifest, name in zip(order, names, strict=True):
            context.submit([manifest.instance(name, scheduler=scheduler)])
        seconds = context.recorder.until(
            f"{who}: {pods} pods bound",
            lambda: sum(map(is_bound, context.pods(names))) >= pods,
            _BOUND,
            lambda: context.progress.count(sum(map(is_bound, context.pods(names))), pods, "pods bound"),
        )
        ledger.read()
        golden, after = ledger.golden(), packing_map(who, ledger)
        used = ledger.nodes_in_use()
        context.recorder.until(
            f"{who}: {len(order)} jobs at their end",
            lambda: sum(map(_has_finished, context.recorder.objects(JOB))) >= len(order),
            _ENDED,
            lambda: context.progress.count(sum(map(has_ended, context.pods(names))), pods, "pods ended"),
        )
        ended = context.pods(names)
        completed = [pod for pod in ended if _exit_codes(pod) == [0]]
        given = [_devices_given(context, pod) for pod in ended]
        right = sum(
            1 for pod, devices in zip(ended, given, strict=True) if len(set(devices)) == _devices_asked(pod)
        )
        succeeded = sum(1 for job in context.recorder.objects(JOB) if _has_condition(job, "Complete"))
    pools = sorted({manifest.job.pod_groups[0].pools[0] for manifest in order})
    measures = (
        above("hit rate", golden.preferred_hit_rate.rate, HIT_RATE),
        *(at_most(f"nodes in use, {pool}", used.get(pool, 0), 1) for pool in pools),
        all_of("containers that ended with 0", len(completed), pods),
        all_of("containers that got the devices they asked for", right, pods),
        all_of("jobs complete", succeeded, len(order)),
        told("time to bind all pods", seconds, "s"),
    )
    sample = ended[0]
    evidence = (
        f"{sample['metadata']['name']} ran on {sample['spec']['nodeName']} with devices {', '.join(given[0])}",
    )
    return measures, evidence, after


def _exit_codes(pod: Object) -> list[int]:
    statuses = pod["status"].get("containerStatuses") or ()
    return [one["state"].get("terminated", {}).get("exitCode", -1) for one in statuses]


def _devices_asked(pod: Object) -> int:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return sum(int(amount) for name, amount in requests.items() if "/" in name)


def _devices_given(context: Context, pod: Object) -> list[str]:
    """The devices that a container found in its environment, as its log tells."""
    metadata = pod["metadata"]
    log = context.api.raw(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log").decode()
    [line] = [line for line in log.splitlines() if line.startswith("devices:")] or [""]
    return [name for name in line.removeprefix("devices:").strip().split(",") if name]


def _has_finished(job: Object) -> bool:
    return _has_condition(job, "Complete") or _has_condition(job, "Failed")


def _has_condition(job: Object, kind: str) -> bool:
    conditions = job.get("status", {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)
