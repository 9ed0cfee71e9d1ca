"""One run: compile, bring a cluster up, put the tree on it, and go through the scenarios."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from binpackgen.compilation import Compilation
from binpackgen.errors import BinpackgenError
from binpackgen.targets.scheduler.configuration import scheduler_configuration

from .api import EVENT, JOB, NODE, POD, WORKLOAD
from .context import Context, context
from .deploy import deploy
from .nodes import nodes_of, overhead_pods
from .outcome import Outcome, Run
from .processes.control_plane import ControlPlane, Settings
from .processes.supervisor import Supervisor
from .recorder import Recorder
from .report.progress import Progress
from .scenarios.scenario import Scenario

WATCHED = (NODE, POD, JOB, WORKLOAD, EVENT)


class Options(NamedTuple):
    """How to run. `kubernetes` as "1.37"; `scenarios` in their order; `keep_logs` also after success."""

    kubernetes: str
    scenarios: tuple[Scenario, ...]
    seed: int = 0
    keep_logs: bool = False


@contextmanager
def process_cluster(
    compilation: Compilation, options: Options, progress: Progress, supervisor: Supervisor
) -> Iterator[Context]:
    """A control plane of processes with the profile's nodes and tree on it."""
    plan = compilation.plan
    settings = Settings(
        options.kubernetes,
        scheduler_configuration(plan).body,
        fair_sharing=plan.spec.queueing.fair_sharing,
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


def run_on_processes(compilation: Compilation, options: Options, progress: Progress) -> Run:
    """Run the scenarios on a control plane of processes. Raises BinpackgenError where it doesn't come up."""
    start = time.monotonic()
    with Supervisor() as supervisor:
        try:
            with process_cluster(compilation, options, progress, supervisor) as prepared:
                outcomes = tuple(run_scenarios(prepared, options.scenarios))
        except BaseException:
            progress.line(f"logs: {supervisor.keep()}")
            raise
        run = Run(compilation.plan.name, "processes", options.kubernetes, outcomes, time.monotonic() - start)
        if options.keep_logs or not run.passed:
            run = run._replace(logs=str(supervisor.keep()))
        return run


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
