"""Asking the rules: all of them, in any state, and fast on large profiles."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest

from binpackgen.document import Unsupported
from binpackgen.finding import Finding, Severity, blocking
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.rules import run
from binpackgen.rules.catalogue import RULES
from binpackgen.rules.platforms import unsupported_finding
from binpackgen.rules.rule import Draft, PlanRule, ProfileRule
from binpackgen.rules.scheduling.nodes_sampled import NodesSampled
from binpackgen.rules.workloads.unknown_queue import UnknownQueue
from tests.rules.rule_examples import TODAY, load, profile_text

JOB = '{name: etl, template: etl, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}'


def test_a_rule_that_raises_becomes_a_finding_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in one rule is reported with its place; every other rule still has its say."""

    class Broken(ProfileRule):
        code = "BP599"

        def check(self, draft: Draft) -> Iterator[Finding]:
            yield self.finding(draft.span(), "said before")
            raise ZeroDivisionError("division\nby zero.")

    class BrokenPlan(PlanRule):
        code = "BP598"

        def check(self, plan: Plan) -> Iterator[Finding]:
            raise KeyError(plan.name)

    monkeypatch.setattr(run, "RULES", (Broken(), BrokenPlan(), UnknownQueue(), NodesSampled()))
    loaded = load(profile_text(f"jobs: [{JOB.replace('etl,', 'etl, queue: nope,', 1)}]\n"))

    found = run.check_profile(loaded)
    assert ["BP599", "BP699", "BP502"] == [f.code for f in found]
    assert found[1].message.startswith(
        "rule BP599 stopped with ZeroDivisionError: division by zero (test_run.py, line "
    )
    assert blocking(found[1:2])
    assert ["BP699"] == [f.code for f in run.check_plan(compile_plan(loaded))]


def test_a_crashed_rule_can_be_consented_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """`severities: {crashed-rule: warning}` lets a build go on without the rule."""

    class Broken(ProfileRule):
        code = "BP599"

        def check(self, draft: Draft) -> Iterator[Finding]:
            raise ValueError

    loaded = load(profile_text("policies: {severities: {crashed-rule: warning}}\n"))
    with monkeypatch.context() as patch:
        patch.setattr(run, "RULES", (Broken(),))
        found = run.check_profile(loaded)

    assert [Severity.WARNING] == [f.severity for f in run.apply_policies(loaded, found, TODAY, complete=True)]


def test_templates_are_those_that_the_caller_knows() -> None:
    """Without a template folder the built-in names count; with one, its names do."""
    loaded = load(profile_text(f"jobs: [{JOB.replace('template: etl', 'template: mine')}]\n"))

    assert ["BP504"] == [f.code for f in run.check_profile(loaded)]
    assert [] == run.check_profile(loaded, {"mine", "etl"})


def test_the_built_in_template_names_are_those_of_the_template_folder() -> None:
    """The rules know every built-in template by its name, and no other."""
    jobs = pytest.importorskip("binpackgen.targets.jobs")

    assert jobs.template_names() == set(run.BUILT_IN_TEMPLATES)


@pytest.mark.parametrize(
    "job",
    [
        "template: single-gpu, each: {cpu: 1, memory: 1Gi, gpu: {count: 1}}",
        "template: pytorch-ddp, each: {cpu: 1, memory: 1Gi, gpu: {count: 1}}",
        "template: pytorch-ddp, workers: 2, each: {cpu: 1, memory: 1Gi, gpu: {count: 1}}",
        "template: master-workers, each: {cpu: 1, memory: 1Gi}",
        "template: array, completions: 9, each: {cpu: 1, memory: 1Gi}",
        "template: etl, each: {cpu: 1, memory: 1Gi}",
    ],
)
def test_what_rules_think_a_template_makes_is_what_it_makes(job: str) -> None:
    """Whether a job becomes a JobSet, whether its pods are indexed and what its replicated Jobs are called is
    read off the rendered manifest."""
    from binpackgen.document import Document
    from binpackgen.rules.templates import BUILT_IN_TEMPLATES, MASTER, WORKERS, makes_jobset
    from binpackgen.targets.jobs import compile_jobs

    plan = compile_plan(load(profile_text(f"jobs: [{{name: j, image: i, {job}}}]\n")))
    body = next(output.body for output in compile_jobs(plan) if isinstance(output, Document))
    source = plan.jobs[0].source

    assert makes_jobset(source) == (body["kind"] == "JobSet")
    if body["kind"] == "JobSet":
        assert {rjob["name"] for rjob in body["spec"]["replicatedJobs"]} <= {MASTER, WORKERS}
        assert BUILT_IN_TEMPLATES[source.template].master == (
            MASTER in {rjob["name"] for rjob in body["spec"]["replicatedJobs"]}
        )
    else:
        indexed = body["spec"].get("completionMode") == "Indexed"
        assert BUILT_IN_TEMPLATES[source.template].indexed == indexed


def test_what_a_control_plane_cannot_express_is_a_finding_where_the_profile_asks_for_it() -> None:
    """The finding stands at the value, or at the control plane where the value is a default."""
    plan = compile_plan(
        load(
            profile_text('kubernetes: {version: "1.37",\n  controlPlane: gke}\npacking: {schedulerName: a}\n')
        )
    )
    loss = Unsupported("a name.", "it has\none.", "second-scheduler", ("spec", "packing", "schedulerName"))
    stated = unsupported_finding(plan, loss)

    assert '"gke" cannot express a name: it has one' == stated.message
    assert ("BP801", "unsupported", Severity.ERROR, 7) == (
        stated.code,
        stated.name,
        stated.severity,
        stated.span.line,
    )
    at_default = Unsupported("x", "y", "z", ("spec", "caps", "form"))
    assert 6 == unsupported_finding(plan, at_default).span.line


def large_profile(pools: int, queues: int, jobs: int) -> str:
    """A profile of many pools of twenty GPU types, with a queue share and jobs for each."""
    rng = random.Random(5)
    lines = ["nodePools:"]
    lines += [
        f"  - {{name: p{i}, count: {rng.randint(1, 20)}, cpu: {rng.choice((32, 64, 96))}, memory: 256Gi"
        + (f", gpu: {{type: t{i % 20}, count: {rng.choice((4, 8))}}}}}" if i % 4 else "}")
        for i in range(pools)
    ]
    lines.append("queues:")
    lines += [
        f"  - {{name: q{i}, namespaces: [n{i}], quota: {{t{i % 20 or 1}: 0%, cpu: 0%}}, borrows: true}}"
        for i in range(queues)
    ]
    lines.append("jobs:")
    lines += [
        f"  - {{name: j{i}, template: pytorch-ddp, queue: q{i % queues}, workers: {rng.randint(1, 9)}, image: i, "
        f"each: {{cpu: {rng.randint(1, 30)}, memory: {rng.randint(4, 200)}Gi, gpu: {{count: {rng.choice((1, 2, 4))}}}}}}}"
        for i in range(jobs)
    ]
    return profile_text("\n".join(lines) + "\n")


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def test_rules_are_fast_on_large_profiles() -> None:
    """1,000 pools, 500 queues and 500 jobs take the rules about as long as a few dozen of each do in proportion:
    far less than planning them."""
    loaded = load(large_profile(1000, 500, 500))
    plan = compile_plan(loaded)

    assert cpu_seconds(lambda: run.check_profile(loaded)) < 2
    assert cpu_seconds(lambda: run.check_plan(plan)) < 4


def test_findings_come_in_the_same_order_every_time() -> None:
    """The order of findings follows from the profile alone."""
    loaded = load(large_profile(40, 20, 20))
    plan = compile_plan(loaded)

    assert run.check_profile(loaded) == run.check_profile(loaded)
    assert run.check_plan(plan) == run.check_plan(plan)
    assert len(RULES) > 80
