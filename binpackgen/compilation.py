"""The whole way from a file to outputs: load, ask the rules, plan, ask again, run the targets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path as FilePath

from .document import Document, TextFile, Unsupported
from .errors import FindingsError
from .finding import Finding, blocking, in_order
from .plan.compile import compile_plan
from .plan.model import Plan
from .profile.load import load_profile
from .rules.platforms import unsupported_finding
from .rules.run import apply_policies, check_plan, check_profile
from .targets.catalogue import compile_outputs
from .targets.jobs import template_names


@dataclass(frozen=True)
class Compilation:
    """A profile's plan, what the targets made of it, and all findings (none blocks)."""

    plan: Plan
    outputs: tuple[Document | TextFile, ...]
    losses: tuple[Unsupported, ...]
    findings: tuple[Finding, ...]


def compile_profile(
    file: str, *, stdin: bytes | None = None, templates: FilePath | None = None, today: date | None = None
) -> Compilation:
    """Compile one profile (`-` is `stdin`).

    Raises FindingsError with everything that is known by then: all findings about the text; else all about
    references and the plan. A profile without blocking findings gives a Compilation.
    """
    loaded = load_profile(file, stdin)
    day = today or date.today()  # noqa: DTZ011  (waivers end with the day where the user sits)
    findings = check_profile(loaded, template_names(templates))
    judged = apply_policies(loaded, findings, day)
    if blocking(judged):
        raise FindingsError(in_order(judged))
    plan = compile_plan(loaded)
    findings += check_plan(plan)
    outputs = compile_outputs(plan, templates)
    losses = [output for output in outputs if isinstance(output, Unsupported)]
    if not plan.spec.policies.accept_loss:
        findings += [unsupported_finding(plan, loss) for loss in losses]
    judged = apply_policies(loaded, findings, day, complete=True)
    if blocking(judged):
        raise FindingsError(in_order(judged))
    return Compilation(
        plan,
        tuple(output for output in outputs if not isinstance(output, Unsupported)),
        tuple(losses),
        tuple(in_order(judged)),
    )
