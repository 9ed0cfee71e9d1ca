"""Severities and waivers: what a profile may change about findings, and what it may not."""

from __future__ import annotations

from datetime import date

from binpackgen.finding import Finding, Severity, blocking
from binpackgen.plan.compile import compile_plan
from binpackgen.rules.run import apply_policies, check_plan, check_profile
from tests.rules.rule_examples import TODAY, findings_of, judged, load, profile_text

#: A profile with one warning that is a matter of opinion (and errors in none of its parts).
OPEN = """\
nodePools:
  - {name: gpu, count: 4, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
  - {name: cpu, count: 2, cpu: 32, memory: 128Gi}
packing: {cpuOnlyPods: anywhere}
jobs:
  - {name: etl, template: etl, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}
"""


def shown(fragment: str) -> list[tuple[str, str, str | None]]:
    """(code, severity, waiver's reason) of each finding."""
    return [(f.code, f.severity.value, f.waived) for f in judged(profile_text(fragment))]


def test_without_policies_findings_stand_as_the_rules_have_them() -> None:
    """The control: one warning."""
    assert [("BP204", "warning", None)] == shown(OPEN)


def test_a_severity_is_set_by_code_or_by_name() -> None:
    """A severity replaces the rule's, whichever way the rule is named; off drops the finding."""
    assert [("BP204", "error", None)] == shown(OPEN + "policies: {severities: {BP204: error}}\n")
    assert [("BP204", "note", None)] == shown(
        OPEN + "policies: {severities: {gpu-pools-open-to-cpu-pods: note}}\n"
    )
    assert [] == shown(OPEN + "policies: {severities: {BP204: ignore}}\n")


def test_a_code_wins_over_a_name() -> None:
    """A profile that names one rule both ways gets what it says of the code, in any order."""
    for pair in (
        "BP204: note, gpu-pools-open-to-cpu-pods: ignore",
        "gpu-pools-open-to-cpu-pods: ignore, BP204: note",
    ):
        assert [("BP204", "note", None)] == shown(f"{OPEN}policies: {{severities: {{{pair}}}}}\n")


def test_a_raised_severity_blocks() -> None:
    """A warning made an error forbids the build."""
    assert blocking(judged(profile_text(OPEN + "policies: {severities: {BP204: error}}\n")))
    assert not blocking(judged(profile_text(OPEN)))


def test_a_waived_finding_keeps_its_severity_and_does_not_block() -> None:
    """A waiver hides nothing: the finding is there with the reason, and blocks no more."""
    policies = "policies: {severities: {BP204: error}, waivers: [{rule: BP204, reason: trial until June}]}\n"

    assert [("BP204", "error", "trial until June")] == shown(OPEN + policies)
    assert not blocking(judged(profile_text(OPEN + policies)))


def test_a_waiver_holds_to_its_last_day() -> None:
    """`until` is the last day of the waiver: it holds on that day and not on the next."""
    loaded = load(
        profile_text(OPEN + 'policies: {waivers: [{rule: BP204, reason: r, until: "2026-03-31"}]}\n')
    )
    findings = check_profile(loaded) + check_plan(compile_plan(loaded))

    def on(day: date) -> list[tuple[str, str | None]]:
        return [(f.code, f.waived) for f in apply_policies(loaded, findings, day, complete=True)]

    assert [("BP204", "r")] == on(date(2026, 3, 31))
    assert [("BP204", None), ("BP604", None)] == on(date(2026, 4, 1))


def test_a_day_that_does_not_exist_ends_nothing() -> None:
    """A last day such as February 31st is reported, and the waiver does not hold."""
    policies = 'policies: {waivers: [{rule: BP204, reason: r, until: "2026-02-31"}]}\n'

    assert [("BP204", "warning", None), ("BP604", "warning", None)] == shown(OPEN + policies)
    assert (
        "the calendar has no 2026-02-31, so the waiver has no effect"
        == findings_of(OPEN + policies, "BP604")[0].message
    )


def test_a_waiver_with_a_path_is_for_that_place_alone() -> None:
    """`at` limits a waiver to findings at or below a path."""
    pools = """\
nodePools:
  - {name: a, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, taints: []}
  - {name: b, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, taints: []}
policies:
  waivers:
    - {rule: gpu-pool-without-taint, reason: r, at: "%s"}
"""
    expected = {
        "spec.nodePools[1]": [None, "r"],
        "spec.nodePools[0].taints": ["r", None],
        "spec.nodePools": ["r", "r"],
        "spec": ["r", "r"],
        "spec.nodePools[1].name": [None, None],
        "spec.nodePools[10]": [None, None],
        "spec.node": [None, None],
        "nonsense": [None, None],
    }
    for at, waived in expected.items():
        assert waived == [f.waived for f in findings_of(pools % at, "BP115")], at


def test_a_waiver_that_meets_no_finding_is_reported_only_when_all_rules_were_asked() -> None:
    """Before there is a plan nobody knows whether a waiver will be needed."""
    loaded = load(profile_text("policies: {waivers: [{rule: BP204, reason: r}]}\n"))

    assert [] == apply_policies(loaded, [], TODAY)
    assert ["BP603"] == [f.code for f in apply_policies(loaded, [], TODAY, complete=True)]


def test_unknown_rules_are_reported_where_they_are_named() -> None:
    """Severities at the key, waivers at the rule, each with the nearest name."""
    fragment = """\
policies:
  severities:
    BP2O4: note
    quota-exceeds-pool: note
  waivers:
    - {rule: pod-fits-nopool, reason: r}
"""
    found = findings_of(fragment, "BP601")

    assert [7, 8, 10] == sorted(f.span.line for f in found)
    assert {"BP204", "quota-exceeds-pools", "pod-fits-no-pool"} <= {
        f.fix.title.removeprefix("did you mean ").rstrip("?") for f in found if f.fix
    }


def test_errors_without_which_there_is_no_plan_cannot_be_softened() -> None:
    """A reference that does not hold stands whatever the policies say, and the policy is reported."""
    fragment = """\
policies:
  severities: {unknown-queue: ignore, BP006: note}
  waivers: [{rule: BP502, reason: r}]
jobs:
  - {name: etl, template: etl, queue: nope, image: "example.com/etl:1", each: {cpu: 4, memory: 16Gi}}
"""
    found = judged(profile_text(fragment))

    assert [("BP502", Severity.ERROR, None)] == [
        (f.code, f.severity, f.waived) for f in found if f.code == "BP502"
    ]
    assert ["BP602"] * 3 == [f.code for f in found if f.code != "BP502"]


def test_findings_about_policies_have_severities_too() -> None:
    """What the policies say of their own rules counts."""
    unused = "policies: {waivers: [{rule: BP204, reason: r}], severities: {unused-waiver: %s}}\n"

    assert [("BP603", "error", None)] == shown(unused % "error")
    assert [] == shown(unused % "ignore")


def test_the_clock_is_never_read() -> None:
    """The same findings, judged for the same day, come out the same: the day is an argument."""
    loaded = load(profile_text(OPEN))
    findings: list[Finding] = check_profile(loaded) + check_plan(compile_plan(loaded))

    assert apply_policies(loaded, findings, TODAY) == apply_policies(loaded, findings, TODAY)
