"""`binpackgen e2e` on real control planes: every scenario that a profile has what it takes for passes.

Each run is the user's own command in a child process; its JSON report is what is judged. A scenario passes only
when its negative control has missed a bar on the same work, so no run here can pass by measuring nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from binpackgen_e2e.binaries import binary, kubectl
from tests.conformance.tiers import ask

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent

ALL = ("verification", "packing", "topology", "jobset", "caps", "preemption", "faults")

#: Profile, Kubernetes, and the scenarios to run: on the newest minor all that the article's profile can, on the
#: oldest those whose outcome depends on the scheduler's version.
RUNS: list[tuple[str, str, tuple[str, ...]]] = [
    ("profiles/article.yaml", "1.37", ALL),
    ("profiles/article.yaml", "1.34", ("verification", "packing", "preemption")),
    ("tests/e2e/profiles/large.yaml", "1.37", ("packing", "sampling")),
    ("tests/e2e/profiles/jobset.yaml", "1.37", ("jobset",)),
    ("tests/e2e/profiles/caps-curve.yaml", "1.37", ("caps",)),
    ("tests/e2e/profiles/caps-filter.yaml", "1.37", ("caps",)),
    ("tests/e2e/profiles/queueing.yaml", "1.37", ("queueing",)),
]


def e2e(folder: Path, profile: str, *arguments: str) -> dict[str, Any]:
    """The JSON report of a run that passed; reports of all forms are written."""
    reports = [folder / f"report{suffix}" for suffix in (".json", ".xml", ".html", ".svg")]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "binpackgen", "e2e", str(ROOT / profile), *arguments),
            *(word for report in reports for word in ("--report", str(report))),
        ],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"exit {done.returncode}\n{_missed(reports[0])}\n{done.stderr[-4000:]}", pytrace=False)
    assert all(report.stat().st_size > 0 for report in reports)
    assert list(folder.glob("binpackgen-e2e-*")) == [], "a run that passed leaves no folder behind"
    report: dict[str, Any] = json.loads(reports[0].read_text())
    return report


def _missed(report: Path) -> str:
    """What the scenarios that did not pass found; the whole of a report would bury it."""
    if not report.exists():
        return "no report was written"
    failed = [one for one in json.loads(report.read_text())["scenarios"] if not one["passed"]]
    return "\n".join(
        line
        for one in failed
        for line in (
            f"{one['scenario']} did not pass: {one.get('error') or 'a bar was missed'}",
            *(f"  {measure}" for measure in one["measures"] if measure.get("holds") is False),
            *(f"  control: {measure}" for measure in (one.get("control") or {}).get("measures", ())),
            *(f"  {sentence}" for sentence in one["evidence"]),
        )
    )


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("profile", "minor", "scenarios"), RUNS, ids=lambda value: str(value))
def test_scenarios_pass_and_their_controls_fail(
    tmp_path: Path, profile: str, minor: str, scenarios: tuple[str, ...]
) -> None:
    for name in ("etcd", "kwok", "kueue-controller", "jobset-controller"):
        ask(lambda name=name: binary(name))  # type: ignore[misc]
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        ask(lambda name=name: binary(name, minor))  # type: ignore[misc]
    ask(kubectl)
    chosen = [word for name in scenarios for word in ("--scenario", name)]
    report = e2e(tmp_path, profile, "--kubernetes", minor, *chosen)
    assert list(scenarios) == [outcome["scenario"] for outcome in report["scenarios"]]
    assert all(outcome["passed"] for outcome in report["scenarios"])
