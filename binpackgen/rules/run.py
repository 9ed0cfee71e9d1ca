"""Ask the rules, and apply the profile's policies to what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date

from ..finding import Finding, Severity
from ..plan.model import Plan
from ..profile.load import LoadedProfile
from ..profile.models import Waiver
from ..profile.node import Node
from ..source import Span, path_text
from .catalogue import RULES, adjustable, rules_by_name
from .policy.crashed_rule import CRASHED
from .policy.expired_waiver import expired
from .rule import Draft, Judgement, PlanRule, PolicyRule, ProfileRule
from .templates import BUILT_IN_TEMPLATES


def check_profile(
    loaded: LoadedProfile, templates: Iterable[str] = frozenset(BUILT_IN_TEMPLATES)
) -> list[Finding]:
    """What the rules of stage `profile` say; `templates` are the names of all job templates there are."""
    draft = Draft(loaded, frozenset(templates))
    return [
        finding
        for rule in RULES
        if isinstance(rule, ProfileRule)
        for finding in _ask(rule.code, lambda rule=rule: rule.check(draft), loaded)  # type: ignore[misc]
    ]


def check_plan(plan: Plan) -> list[Finding]:
    """What the rules of stage `plan` say."""
    return [
        finding
        for rule in RULES
        if isinstance(rule, PlanRule)
        for finding in _ask(rule.code, lambda rule=rule: rule.check(plan), plan.loaded)  # type: ignore[misc]
    ]


def apply_policies(
    loaded: LoadedProfile, findings: Iterable[Finding], today: date, *, complete: bool = False
) -> list[Finding]:
    """`findings` with the profile's severities and waivers applied, and what is wrong with those.

    `today` decides which waivers still hold. Waivers that meet no finding are reported when `complete`, that
    is when every rule has had its say.
    """
    severities = _severities(loaded)
    waivers = list(_waivers(loaded, today))
    used: set[int] = set()
    judged: list[Finding] = []
    for finding in findings:
        severity = severities.get(finding.code, finding.severity.value)
        if severity == "ignore":
            continue
        reason: str | None = None
        for index, waiver, spans in waivers:
            if waiver.rule in (finding.code, finding.name) and (spans is None or finding.span in spans):
                used.add(index)
                reason = reason or waiver.reason
        judged.append(replace(finding, severity=Severity(severity), waived=reason))
    judgement = Judgement(loaded, today, complete, frozenset(used), adjustable())
    for rule in RULES:
        if isinstance(rule, PolicyRule):
            for finding in _ask(rule.code, lambda rule=rule: rule.check(judgement), loaded):  # type: ignore[misc]
                severity = severities.get(finding.code, finding.severity.value)
                if severity != "ignore":
                    judged.append(replace(finding, severity=Severity(severity)))
    return judged


def _ask(code: str, check: Callable[[], Iterator[Finding]], loaded: LoadedProfile) -> list[Finding]:
    """All findings of one rule; a rule that raises gives a finding of its own, and the others go on."""
    findings: list[Finding] = []
    try:
        findings.extend(check())
    except Exception as error:
        findings.append(CRASHED.of(code, error, Span.start_of(loaded.root.span.file)))
    return findings


def _severities(loaded: LoadedProfile) -> dict[str, str]:
    """Rule code to the severity that the policies give it; a code wins over a name."""
    severities: dict[str, str] = {}
    stated = loaded.profile.spec.policies.severities
    for name, severity in sorted(stated.items(), key=lambda item: item[0].startswith("BP")):
        rule = rules_by_name().get(name)
        if rule is not None and rule.is_adjustable():
            severities[rule.code] = severity
    return severities


def _waivers(loaded: LoadedProfile, today: date) -> Iterator[tuple[int, Waiver, set[Span] | None]]:
    """The waivers that hold today: position, waiver, and the places they are limited to (None: none)."""
    for index, waiver in enumerate(loaded.profile.spec.policies.waivers):
        rule = rules_by_name().get(waiver.rule)
        if rule is None or not rule.is_adjustable() or expired(waiver.until, today):
            continue
        yield index, waiver, _spans_below(loaded.root, waiver.at) if waiver.at is not None else None


def _spans_below(root: Node, at: str) -> set[Span]:
    """The places of everything at or below the path that is written `at`."""
    found: set[Span] = set()

    def walk(node: Node, path: tuple[str | int, ...], inside: bool) -> None:
        text = path_text(path)
        inside = inside or text == at
        if inside:
            found.add(node.span)
            if node.key_span is not None:
                found.add(node.key_span)
        elif not at.startswith(text):
            return
        children: Iterable[tuple[str | int, Node]] = ()
        if isinstance(node.value, dict):
            children = node.value.items()
        elif isinstance(node.value, list):
            children = enumerate(node.value)
        for step, child in children:
            walk(child, (*path, step), inside)

    walk(root, (), False)
    return found
