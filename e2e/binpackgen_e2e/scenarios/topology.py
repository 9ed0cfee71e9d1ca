"""Topology: every job on its own GPU type, and a misspelt type caught before it is submitted, or diagnosed after."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from binpackgen.canonical import to_yaml
from binpackgen.compilation import compile_profile
from binpackgen.emit.folder import State, compare, write_tree
from binpackgen.emit.tree import render
from binpackgen.errors import FindingsError
from binpackgen.plan.model import Plan, PlannedJob, PodGroup
from binpackgen.report.packing_map import PackingMap
from binpackgen.rules.workloads.unknown_gpu_type import UnknownGpuType

from ..api import NODE, RESOURCE_FLAVOR, WORKLOAD, Object
from ..context import Context, is_bound
from ..diagnosis import diagnose_pod, diagnose_workload, kueue_says, scheduler_says
from ..maps import packing_map
from ..outcome import Measure, Outcome
from ..placing import bindings, group_of, until_bound, until_quiet
from ..work import mix
from ..workloads import Manifest, pod_templates
from .scenario import Scenario, all_of, none_of

#: Share of the cluster that the mix fills, and most pods of it.
LOAD, MOST_PODS = 0.4, 150
#: Seconds until all pods must be bound, beyond one for every ten pods; without selection, seconds without a
#: further placement after which the rest is given up.
PATIENCE, QUIET = 60.0, 3.0
#: Seconds until scheduler and Kueue must have said why a misspelt job waits, and how long it is watched then.
VERDICT, WATCHED = 20.0, 1.0

_QUEUE = "kueue.x-k8s.io/queue-name"


def lacks(plan: Plan) -> str:
    """A job that names a GPU type, and nodes of another type that could hold it by mistake."""
    if not any(_typed(job) for job in plan.jobs):
        return "a job that names a GPU type"
    if not any(_could_stray(plan, group) for job in plan.jobs for group in _typed(job)):
        return "a second GPU type, whose nodes could hold a job that names another"
    return ""


def run(context: Context) -> Outcome:
    """Place the mix, try misspelt types, and place the mix without any selection of nodes."""
    chosen = mix(context.plan, context.manifests, LOAD, MOST_PODS)
    order = list(chosen.items)
    context.random().shuffle(order)
    placed, evidence, after = _place(context, order, selecting=True)
    before_submit, caught = _before_submit(context)
    forced, diagnosed = _forced(context)
    control, strayed, control_map = _place(context, order, selecting=False)
    pods = sum(manifest.pods for manifest in order)
    return Outcome(
        SCENARIO.name,
        SCENARIO.title,
        0.0,
        measures=(*placed, *before_submit, *forced),
        control_name="no node selectors, no queues",
        control=control,
        evidence=(
            f"{len(order)} submissions, {pods} pods, up to {chosen.limit}",
            *evidence,
            *caught,
            *diagnosed,
            *(f"control: {line}" for line in strayed),
        ),
        maps=(after, control_map),
    )


SCENARIO = Scenario("topology", "Jobs run on the GPU type that they ask for", lacks, run)


def misspelt(value: str, known: set[str]) -> str:
    """A value one slip away from `value` that is none of the known ones: an end cut off, or a letter doubled."""
    candidates = (value[:-1], value + value[-1], value + "x", value + "y")
    return next(one for one in candidates if one and one not in known and one[-1].isalnum())


def without_selection(body: Object) -> Object:
    """A job that may go to any node: no selectors or affinity to nodes, no queue that would bring them; in place."""
    unqueued(body)
    for template in pod_templates(body):
        template["spec"].pop("nodeSelector", None)
        (template["spec"].get("affinity") or {}).pop("nodeAffinity", None)
    return body


def unqueued(body: Object) -> Object:
    """A job that starts at once, past its queue; in place."""
    body["metadata"]["labels"].pop(_QUEUE, None)
    body["spec"].pop("suspend", None)
    return body


def _typed(job: PlannedJob) -> Iterator[PodGroup]:
    return (group for group in job.pod_groups if group.gpu_type is not None)


def _could_stray(plan: Plan, group: PodGroup) -> bool:
    others = (pool for pool in plan.pools if pool.gpu_type != group.gpu_type)
    return any(pool.room.holds(group.request) for pool in others)


def _place(
    context: Context, order: list[Manifest], *, selecting: bool
) -> tuple[tuple[Measure, ...], tuple[str, ...], PackingMap]:
    """Submit all; how many pods and jobs came to the type that they ask for."""
    who = "with node selectors" if selecting else "without node selectors"
    context.progress.step(f"topology, {who}")
    jobs = {f"{manifest.name}-{index}": manifest for index, manifest in enumerate(order)}
    items = [manifest.instance(name) for name, manifest in jobs.items()]
    wanted = sum(manifest.pods for manifest in order)
    with context.clean_slate():
        since = context.recorder.now()[1]
        ledger = context.ledger()
        if selecting:
            context.submit(items)
            until_bound(context, who, jobs, wanted, PATIENCE + wanted / 10)
            bound = wanted
        else:
            context.submit(map(without_selection, items))
            bound = until_quiet(context, jobs, wanted, QUIET, PATIENCE + wanted / 10)
        ledger.read()
        changes = context.recorder.changes(since)
        result = packing_map(who, ledger)
    label = context.plan.spec.node_labels.gpu_type
    types = {node["metadata"]["name"]: node["metadata"]["labels"][label] for node in context.api.all(NODE)}
    typed = right = 0
    seen: dict[str, set[str]] = {}
    astray: list[str] = []
    for binding in bindings(changes):
        group = group_of(binding.pod, jobs[binding.submission])
        if group.gpu_type is None:
            continue
        typed += 1
        there = types[binding.node]
        seen.setdefault(f"{binding.submission} {group.role}", set()).add(there)
        if there == group.gpu_type:
            right += 1
        else:
            astray.append(f"pod {binding.name} asks for {group.gpu_type} and went to {binding.node}, {there}")
    mixed = sum(1 for there in seen.values() if len(there) > 1)
    evidence = [f"{bound} of {wanted} pods bound, {typed} of them of jobs that name a GPU type", *astray[:3]]
    measures = (
        all_of("pods on the GPU type of their job", right, typed),
        none_of("jobs on more than one GPU type", mixed),
    )
    return measures, tuple(evidence), result


def _before_submit(context: Context) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """Misspell every typed job once in the profile and once in its manifest, and see whether that is found."""
    plan = context.plan
    known = {pool.gpu_type for pool in plan.pools}
    jobs = [job for job in plan.jobs if any(_typed(job))]
    evidence: list[str] = []
    in_profile = 0
    for job in jobs:
        message = _finding(plan, job, known)
        in_profile += bool(message)
        evidence.append(message or f"a misspelt GPU type of job {job.name} in the profile is not found")
    in_tree, edited = _edited(context, known)
    return (
        all_of("misspelt GPU types found in the profile", in_profile, len(jobs)),
        all_of("misspelt GPU types found in the tree", in_tree, len(edited)),
    ), (*evidence[:2], *edited[:1])


def _finding(plan: Plan, job: PlannedJob, known: set[str]) -> str:
    """What compiling says about the profile with the job's GPU types misspelt; "" if it is not about that."""
    tree: Any = plan.loaded.root.plain()
    source = tree["spec"]["jobs"][job.at[-1]]
    wrong = ""
    for key in ("each", "master"):
        gpu = (source.get(key) or {}).get("gpu") or {}
        if gpu.get("type") in known:
            wrong = gpu["type"] = misspelt(gpu["type"], known)
    try:
        compile_profile("-", stdin=to_yaml(tree).encode())
    except FindingsError as error:
        for finding in error.findings:
            if finding.code == UnknownGpuType.code and f'"{wrong}"' in finding.message:
                fix = f": {finding.fix.title}" if finding.fix else ""
                return f"before submit: {finding.code} {finding.message}{fix}"
    return ""


def _edited(context: Context, known: set[str]) -> tuple[int, list[str]]:
    """Misspell the selectors in a copy of the tree; how many files `build --check` names, and what it says."""
    label = context.plan.spec.node_labels.gpu_type
    tree = render(context.plan, context.compilation.outputs)
    found, lines = 0, []
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / context.plan.name
        write_tree(tree, folder)
        for job in context.plan.jobs:
            path = f"jobs/{job.name}.yaml"
            text = (folder / path).read_text()
            for group in _typed(job):
                right = str(group.gpu_type)
                text = text.replace(f"{label}: {right}\n", f"{label}: {misspelt(right, known)}\n")
            if text == (folder / path).read_text():
                continue
            (folder / path).write_text(text)
            states = [one.state for one in compare(tree, folder) if one.path == path]
            found += State.EDITED in states
            lines.append(
                f"before submit: binpackgen build --check says {', '.join(states) or 'nothing'}: {path}"
            )
    return found, lines


def _forced(context: Context) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """Submit a misspelt job past its queue and through it, and say from the outside why it waits."""
    known = {pool.gpu_type for pool in context.plan.pools}
    manifest = min(
        (one for one in context.manifests if any(_typed(one.job))), key=lambda one: one.body["kind"]
    )
    right = next(str(group.gpu_type) for group in _typed(manifest.job))
    wrong = misspelt(right, known)
    sentences = []
    with context.clean_slate():
        sentences.append(_forced_on_scheduler(context, manifest, right, wrong))
        if manifest.job.queue is not None:
            sentences.append(_forced_on_kueue(context, manifest, right, wrong))
        time.sleep(WATCHED)
        bound = sum(1 for pod in context.pods() if _asks_for(pod, context, wrong) and is_bound(pod))
    named = sum(1 for one in sentences if wrong in one and f"did you mean {right}?" in one)
    return (
        none_of("misspelt pods bound", bound),
        all_of("misspelt types diagnosed", named, len(sentences)),
    ), tuple(f"forced: {one}" for one in sentences)


def _forced_on_scheduler(context: Context, manifest: Manifest, right: str, wrong: str) -> str:
    context.progress.step("topology, a misspelt GPU type on the scheduler")
    name = f"{manifest.name}-misspelt"
    context.submit([unqueued(_misspell(context, manifest.instance(name), right, wrong))])

    def told_off() -> Object | None:
        for pod in context.pods([name]):
            if _asks_for(pod, context, wrong) and scheduler_says(pod, context.events()):
                return pod
        return None

    context.recorder.until(f"the scheduler's word on {name}", lambda: told_off() is not None, VERDICT)
    pod = told_off()
    return diagnose_pod(pod, context.recorder.objects(NODE), context.events()) if pod else ""


def _forced_on_kueue(context: Context, manifest: Manifest, right: str, wrong: str) -> str:
    context.progress.step("topology, a misspelt GPU type on Kueue")
    name = f"{manifest.name}-misspelt-queued"
    context.submit([_misspell(context, manifest.instance(name), right, wrong)])

    def held_back() -> Object | None:
        for workload in context.recorder.objects(WORKLOAD):
            owners = {owner["name"] for owner in workload["metadata"].get("ownerReferences") or ()}
            if name in owners and kueue_says(workload):
                return workload
        return None

    context.recorder.until(f"Kueue's word on {name}", lambda: held_back() is not None, VERDICT)
    workload = held_back()
    return diagnose_workload(workload, context.api.all(RESOURCE_FLAVOR)) if workload else ""


def _misspell(context: Context, body: Object, right: str, wrong: str) -> Object:
    label = context.plan.spec.node_labels.gpu_type
    for template in pod_templates(body):
        selector = template["spec"].get("nodeSelector") or {}
        if selector.get(label) == right:
            selector[label] = wrong
    return body


def _asks_for(pod: Object, context: Context, value: str) -> bool:
    label = context.plan.spec.node_labels.gpu_type
    return bool((pod["spec"].get("nodeSelector") or {}).get(label) == value)
