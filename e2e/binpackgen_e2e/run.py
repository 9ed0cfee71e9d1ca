"""One run: compile, bring a cluster up, put the tree on it, and go through the scenarios."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from binpackgen.compilation import Compilation
from binpackgen.errors import BinpackgenError
from binpackgen.plan.model import Plan
from binpackgen.report.progress import Progress
from binpackgen.targets.scheduler.configuration import scheduler_configuration

from .api import JOB, NODE, POD, WORKLOAD
from .binaries import versions
from .caps import scheduler_program
from .context import Context, context
from .control_profiles import control_profiles
from .deploy import deploy
from .kind.cluster import kind_cluster
from .nodes import nodes_of, overhead_pods
from .options import Options
from .outcome import Outcome, Run
from .processes.control_plane import ControlPlane, Settings
from .processes.supervisor import Supervisor
from .recorder import Recorder
from .scenarios.catalogue import SCENARIOS
from .scenarios.scenario import Scenario

WATCHED = (NODE, POD, JOB, WORKLOAD)


def chosen_scenarios(names: Sequence[str], plan: Plan, backend: str) -> tuple[Scenario, ...]:
    """The scenarios of those names, or all that the profile and the backend have what it takes for.

    Raises BinpackgenError for a name that there is not, and for a scenario that was named and can't run.
    """
    known = {scenario.name: scenario for scenario in SCENARIOS}
    listing = "; ".join(f"{scenario.name}: {scenario.title}" for scenario in SCENARIOS)
    for name in names:
        if name not in known:
            raise BinpackgenError(f"there is no scenario {name}; there are {listing}")
        if lacks := _lacks(known[name], plan, backend):
            raise BinpackgenError(f"scenario {name} needs {lacks}")
    if names:
        return tuple(known[name] for name in dict.fromkeys(names))
    return tuple(scenario for scenario in SCENARIOS if not _lacks(scenario, plan, backend))


def nearest_version(plan: Plan) -> str:
    """The pinned Kubernetes version nearest to the profile's, as "1.37"."""
    pinned = versions("kube-apiserver")
    return min(pinned, key=lambda one: abs(int(one.partition(".")[2]) - plan.minor))


def _lacks(scenario: Scenario, plan: Plan, backend: str) -> str:
    if backend not in scenario.backends:
        return f"--backend {' or '.join(scenario.backends)}"
    return scenario.lacks(plan)


def run(compilation: Compilation, options: Options, scenarios: Sequence[Scenario], progress: Progress) -> Run:
    """Bring a cluster up and run the scenarios on it.

    Raises BinpackgenError where it doesn't come up. Nothing of it is left, but for the logs after a failure.
    """
    start = time.monotonic()
    with Supervisor() as supervisor:
        try:
            cluster = kind_cluster if options.backend == "kind" else process_cluster
            with cluster(compilation, options, progress, supervisor) as prepared:
                outcomes = tuple(run_scenarios(prepared, scenarios))
        except BinpackgenError:
            progress.line(f"logs: {supervisor.keep()}")
            raise
        finished = Run(
            compilation.plan.name,
            options.backend,
            options.kubernetes,
            outcomes,
            time.monotonic() - start,
        )
        if options.keep_logs or not finished.passed:
            finished = finished._replace(logs=str(supervisor.keep()))
        return finished


@contextmanager
def process_cluster(
    compilation: Compilation, options: Options, progress: Progress, supervisor: Supervisor
) -> Iterator[Context]:
    """A control plane of processes with the profile's nodes and tree on it."""
    plan = compilation.plan
    settings = Settings(
        options.kubernetes,
        scheduler_configuration(plan).body,
        scheduler=scheduler_program(plan),
        fair_sharing=plan.spec.queueing.fair_sharing,
        controls=tuple(control_profiles(plan)),
    )
    cluster = ControlPlane(supervisor, settings)
    progress.step("starting the control plane")
    cluster.start()
    progress.step(f"applying the tree and {plan.nodes_max} nodes")
    deploy(compilation, cluster.api, cluster.kubectl, cluster.kubeconfig, supervisor.folder)
    for item in (*nodes_of(plan), *overhead_pods(plan)):
        cluster.api.create(item)
    recorder = Recorder(cluster.api, WATCHED, cluster.check)
    try:
        recorder.until("nodes ready", lambda: all(map(_is_ready, recorder.objects(NODE))), 60.0)
        yield context(compilation, cluster, recorder, progress, cluster, options.seed)
    finally:
        recorder.close()


def run_scenarios(prepared: Context, scenarios: Sequence[Scenario]) -> Iterator[Outcome]:
    """Outcomes in order; a scenario that fails to end says why, and the next one is tried."""
    for scenario in scenarios:
        start = time.monotonic()
        prepared.progress.step(f"{scenario.name}: {scenario.title}")
        try:
            outcome = scenario.run(prepared)
        except BinpackgenError as error:
            outcome = Outcome(scenario.name, scenario.title, 0.0, error=str(error))
        yield outcome._replace(seconds=time.monotonic() - start)


def _is_ready(node: dict[str, object]) -> bool:
    status = node.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions or ())
