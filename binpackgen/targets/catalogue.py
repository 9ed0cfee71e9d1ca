"""Every target, in the order in which its documents are applied and listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path as FilePath

from ..document import Output
from ..plan.model import Plan
from . import device_plugin, kueue, nodes, priority_classes, resource_quotas, scheduler
from .jobs import compile_jobs
from .readme import compile_readme

Target = Callable[[Plan], Iterator[Output]]

TARGETS: tuple[Target, ...] = (
    scheduler.compile,
    nodes.compile,
    device_plugin.compile,
    priority_classes.compile,
    kueue.compile,
    resource_quotas.compile,
)


def compile_outputs(plan: Plan, templates: FilePath | None = None) -> list[Output]:
    """Everything that the targets make of a plan; the README comes last, it describes the others."""
    outputs = [output for target in TARGETS for output in target(plan)]
    outputs += compile_jobs(plan, templates)
    return [*outputs, compile_readme(plan, outputs)]
