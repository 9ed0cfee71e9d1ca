"""Manifests of the profile's jobs: Job, CronJob and JobSet, from templates that people can replace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

from ...document import Output
from ...errors import FindingsError
from ...finding import Finding, in_order
from ...plan.model import Plan
from ...source import Span
from .skeletons import template_names

__all__ = ["compile_jobs", "template_names"]


def compile_jobs(plan: Plan, templates: FilePath | None = None) -> Iterator[Output]:
    """One manifest per job, at jobs/<job>.yaml.

    `templates` is a folder of the user's own: same names replace built-in templates. The files are no part of
    what GitOps tools sync: a Job is there to be created, and its spec is immutable. Raises FindingsError with
    BP510 for templates that cannot be used.
    """
    if not plan.jobs:
        return
    # jinja is imported only where there is something to render
    from .manifest import manifest
    from .render import BadTemplateError, Templates

    source = Templates(templates)
    made: list[Output] = []
    bad: dict[tuple[Span, str], Finding] = {}
    for job in plan.jobs:
        try:
            made += manifest(plan, job, source)
        except BadTemplateError as error:
            finding = bad.setdefault((error.finding.span, error.finding.message), error.finding)
            related = (*finding.related, (plan.span((*job.at, "template")), f'template of job "{job.name}"'))
            bad[finding.span, finding.message] = replace(finding, related=related)
    if bad:
        raise FindingsError(in_order(bad.values()))
    yield from made
