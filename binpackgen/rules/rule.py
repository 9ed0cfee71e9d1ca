"""What a rule is: a code, a docstring that is its page, and a check that yields findings."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import ClassVar, Literal

from ..finding import Edit, Finding, Fix, Severity
from ..plan.model import Flavor, Plan, Pool
from ..plan.pools import plan_cap, plan_pools
from ..plan.queues import plan_flavors
from ..profile.load import LoadedProfile
from ..profile.models import Job, PodShape, Spec
from ..source import Path, Span
from .templates import BUILT_IN_TEMPLATES

#: How many known names a fix lists.
_LISTED = 8

#: Plain words that YAML readers take for something other than text.
_NOT_TEXT = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null"})


class Rule:
    """Base of all rules.

    A subclass states `code`, `severity` and a docstring with the headings What it does, Why it matters,
    Fails, Passes, Fix and References; its name is the file's name with hyphens. Rules of stage `profile` ask
    whether references hold and values make sense before a plan can be made; rules of stage `plan` judge the
    plan; `policy` judges the profile's own policies, `output` what the targets could not express. A rule
    never prints, reads files or the clock, or raises for a bad profile.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    stage: ClassVar[Literal["profile", "plan", "policy", "output"]] = "plan"

    @classmethod
    def name(cls) -> str:
        """The rule's name: the module's file name with hyphens."""
        return cls.__module__.rpartition(".")[2].replace("_", "-")

    @classmethod
    def category(cls) -> str:
        """The rule's subject: the folder that it stands in."""
        return cls.__module__.rpartition(".")[0].rpartition(".")[2]

    @classmethod
    def is_adjustable(cls) -> bool:
        """Whether policies may soften or waive it.

        Errors of stage `profile` are no opinions: no plan can be made of what they name.
        """
        return not (cls.stage == "profile" and cls.severity is Severity.ERROR)

    def finding(
        self,
        span: Span,
        message: str,
        fix: str | Fix | None = None,
        related: tuple[tuple[Span, str], ...] = (),
        severity: Severity | None = None,
    ) -> Finding:
        """A finding of this rule, with the rule's severity unless another is given."""
        return Finding(
            self.code,
            self.name(),
            severity or self.severity,
            message,
            span,
            Fix(fix) if isinstance(fix, str) else fix,
            related,
        )


@dataclass(frozen=True)
class Draft:
    """A loaded profile before there is a plan, with what several rules look up in it."""

    loaded: LoadedProfile
    templates: frozenset[str] = frozenset(BUILT_IN_TEMPLATES)

    @property
    def spec(self) -> Spec:
        """The profile as it was stated."""
        return self.loaded.profile.spec

    @property
    def minor(self) -> int:
        """Kubernetes minor version."""
        return int(self.spec.kubernetes.version.split(".")[1])

    def span(self, *path: str | int) -> Span:
        """Where the value at `path` below spec is written."""
        return self.loaded.span(("spec", *path))

    def key(self, *path: str | int) -> Span:
        """Where the key at the end of `path` below spec is written."""
        return key_span(self.loaded, ("spec", *path))

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The pools with their amounts."""
        return plan_pools(self.spec, plan_cap(self.spec))

    @cached_property
    def pools_by_type(self) -> dict[str, list[Pool]]:
        """The pools that have GPUs, by GPU type."""
        found: dict[str, list[Pool]] = {}
        for pool in self.pools:
            if pool.source.gpu is not None:
                found.setdefault(pool.gpu_type, []).append(pool)
        return found

    @cached_property
    def flavors(self) -> tuple[Flavor, ...]:
        """The kinds of nodes that quotas are about."""
        return plan_flavors(self.spec, self.pools)

    @cached_property
    def tier_names(self) -> tuple[str, ...]:
        """Names of the priority tiers."""
        return tuple(tier.name for tier in self.spec.priority_tiers)

    @cached_property
    def queue_names(self) -> tuple[str, ...]:
        """Names of the queues."""
        return tuple(queue.name for queue in self.spec.queues)

    def pod_shapes(self) -> Iterator[tuple[int, Job, str, PodShape]]:
        """Every stated pod shape: position of the job, the job, the key (each or master), the shape."""
        for index, job in enumerate(self.spec.jobs):
            yield index, job, "each", job.each
            if job.master is not None:
                yield index, job, "master", job.master

    def gpu_pools(self, gpu_type: str | None) -> list[Pool]:
        """The pools that a request for this GPU type, or for any (None), is about."""
        if gpu_type is not None:
            return self.pools_by_type.get(gpu_type, [])
        return [pool for pools in self.pools_by_type.values() for pool in pools]


class ProfileRule(Rule):
    """A rule about the profile alone."""

    stage = "profile"

    def check(self, draft: Draft) -> Iterator[Finding]:
        """Findings about a profile whose shape is right."""
        raise NotImplementedError

    def repeated_names(
        self,
        draft: Draft,
        at: tuple[str, ...],
        named: Iterable[tuple[Hashable, str]],
        consequence: str,
        fix: str,
    ) -> Iterator[Finding]:
        """A finding at the name of each entry of the list at `at` whose key an earlier one has.

        `named` has a key and a description, such as `pool "a"`, per entry.
        """
        first: dict[Hashable, int] = {}
        for index, (key, described) in enumerate(named):
            other = first.setdefault(key, index)
            if other == index:
                continue
            span = draft.span(*at, other, "name")
            yield self.finding(
                draft.span(*at, index, "name"),
                f"{described} is already defined at line {span.line}{consequence}",
                fix,
                ((span, "first defined here"),),
            )


class PlanRule(Rule):
    """A rule about the plan."""

    stage = "plan"

    def check(self, plan: Plan) -> Iterator[Finding]:
        """Findings about a plan whose references hold."""
        raise NotImplementedError


@dataclass(frozen=True)
class Judgement:
    """How the profile's policies were applied: on which day, and which waivers met a finding.

    `adjustable` has every code and name there is, with whether policies may soften it. `complete` says that
    every rule has had its say, so that a waiver without a finding has none to come.
    """

    loaded: LoadedProfile
    today: date
    complete: bool
    used: frozenset[int]
    adjustable: Mapping[str, bool]


class PolicyRule(Rule):
    """A rule about the profile's policies, asked after they were applied."""

    stage = "policy"

    def check(self, judgement: Judgement) -> Iterator[Finding]:
        """Findings about severities and waivers."""
        raise NotImplementedError


def key_span(loaded: LoadedProfile, path: Path) -> Span:
    """Where the key at the end of `path` is written; for facts about the key and not its value."""
    node, reached = loaded.root.nearest(path)
    if reached == path and node.key_span is not None:
        return node.key_span
    return loaded.span(path)


def suggestion(span: Span, given: str, known: Iterable[str], what: str) -> Fix:
    """The fix of a name that nothing has: the nearest known name, else all known ones.

    `span` covers the name as it is written; `what` is what the names are of, in plural.
    """
    names = sorted(set(known))
    close = difflib.get_close_matches(given, names, 1, 0.6)
    if close:
        return Fix(f"did you mean {close[0]}?", (Edit(span, scalar_text(close[0])),))
    if not names:
        return Fix(f"define it; the profile has no {what}")
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return Fix(f"known {what}: {', '.join(names[:_LISTED])}{more}")


def scalar_text(value: str) -> str:
    """`value` as YAML that every reader takes for that text: plain where that is safe, else quoted."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(?:[-./][A-Za-z0-9]+)*", value) and value.lower() not in _NOT_TEXT:
        return value
    return json.dumps(value, ensure_ascii=False)
