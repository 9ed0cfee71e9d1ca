"""The NodeUtilizationCap plugin: its own Go tests, and the real scheduler that has it reading what is emitted."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.canonical import to_yaml
from binpackgen.plan.model import Plan
from binpackgen_e2e.binaries import PROGRAMS, UnavailableError, binary
from tests.conformance.scheduler_binaries import (
    Answer,
    arguments,
    as_the_scheduler_gets_it,
    ask_scheduler,
    effective_weights,
)
from tests.conformance.tiers import ask
from tests.targets.scheduler_factory import scheduler_plan

# a binary that is not in the cache is built first
pytestmark = pytest.mark.timeout(1800)

PLUGIN = "NodeUtilizationCap"
#: The minor whose scheduler the plugin is built into.
MINOR = "1.37"


def capped_plan(control_plane: str, **caps: Any) -> Plan:
    caps = {"form": "filter", "headroom": {"cpu": 2, "memory": "8Gi"}, **caps}
    return scheduler_plan(control_plane, MINOR, image="example.com/kube-scheduler:1", caps=caps)


def ask_capped(text: str, folder: Path) -> Answer:
    """What the scheduler that has the plugin makes of a configuration."""
    return ask_scheduler(MINOR, text, folder, lambda: binary("node-utilization-cap"))


def changed(text: str, **args: Any) -> str:
    """The configuration with other arguments for the plugin."""
    body = yaml.safe_load(text)
    [entry] = [e for p in body["profiles"] for e in p.get("pluginConfig", ()) if e["name"] == PLUGIN]
    entry["args"] = args
    return to_yaml(body)


@pytest.mark.parametrize("control_plane", ["kubeadm", "kind", "rke2", "talos", "second-scheduler"])
@pytest.mark.parametrize(
    "caps",
    [
        {},
        {"exemptWholeNode": True},
        {"headroom": {"cpu": "1500m"}},
        {"headroom": {"memory": "100Mi"}, "exemptWholeNode": True},
    ],
    ids=["both", "exempt", "cpu", "memory"],
)
def test_the_scheduler_takes_what_is_emitted(
    control_plane: str, caps: dict[str, Any], tmp_path: Path
) -> None:
    """Every form of the cap on every control plane that can have it; the plugin filters, and nothing else moves."""
    plan = capped_plan(control_plane, **caps)
    text = as_the_scheduler_gets_it(plan)

    answer = ask_capped(text, tmp_path)

    profile = answer.profiles[plan.scheduler.name]
    [given] = [p for p in yaml.safe_load(text)["profiles"] if p["schedulerName"] == plan.scheduler.name]
    assert [PLUGIN] == [entry["name"] for entry in profile["plugins"]["filter"]["enabled"]]
    assert arguments(given, PLUGIN) == arguments(profile, PLUGIN)
    assert {s.plugin: s.weight for s in plan.scheduler.scorers} == effective_weights(MINOR, profile)
    others = [p for name, p in answer.profiles.items() if name != plan.scheduler.name]
    assert PLUGIN not in str(others)


def test_what_it_wrote_is_taken_again(tmp_path: Path) -> None:
    """The configuration with all defaults, as the scheduler writes it, is one it starts with."""
    plan = capped_plan("kubeadm", exemptWholeNode=True)
    first = ask_capped(as_the_scheduler_gets_it(plan), tmp_path)
    assert first.written is not None, first.message

    assert first.written == ask_capped(to_yaml(first.written), tmp_path).written


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"minFree": {"cpu": "2"}, "headroom": {"cpu": "2"}}, 'unknown field "headroom"'),
        ({"minfree": {"cpu": "2"}}, 'unknown field "minfree"'),
        ({"minFree": {"cpu": "-2"}}, "minFree.cpu: -2 is not above 0"),
        ({"minFree": {}}, "minFree: names no resource"),
        ({"minFree": {"cpu": "two"}}, "quantities must match the regular expression"),
        ({"minFree": {"gpu": "1"}}, "minFree.gpu: the scheduler keeps no count of this resource on nodes"),
    ],
    ids=["unknown", "case", "negative", "empty", "word", "resource"],
)
def test_wrong_arguments_are_refused(args: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Control: a mistake in the arguments keeps the scheduler from starting, and its message says which."""
    text = as_the_scheduler_gets_it(capped_plan("kubeadm"))

    refused = ask_capped(changed(text, **args), tmp_path)

    assert refused.written is None
    assert f"arguments of {PLUGIN}: " in refused.message
    assert message in refused.message


def test_the_stock_scheduler_refuses_it(tmp_path: Path) -> None:
    """Control: the same file, read by the scheduler without the plugin."""
    refused = ask_scheduler(MINOR, as_the_scheduler_gets_it(capped_plan("kubeadm")), tmp_path)

    assert refused.written is None
    assert f'FilterPlugin "{PLUGIN}" does not exist' in refused.message


def test_it_is_the_pinned_version() -> None:
    """The binary says the Kubernetes version it is built from, as upstream's does."""
    ours = ask(lambda: binary("node-utilization-cap"))
    stock = ask(lambda: binary("kube-scheduler", MINOR))

    versions = [
        subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        for path in (stock, ours)
    ]

    assert versions[0] == versions[1]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_go_programs_pass_their_own_tests(name: str) -> None:
    """gofmt has nothing to change, go.mod nothing to add, `go vet` nothing to say, and the Go tests pass."""
    folder = PROGRAMS[name].folder
    if shutil.which("go") is None:
        ask(lambda: no_go(name))
    environment = os.environ | {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    for command in (["gofmt", "-l", "."], ["go", "vet", "./..."], ["go", "test", "-count=1", "./..."]):
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert command[0] != "gofmt" or done.stdout == ""


def no_go(name: str) -> None:
    raise UnavailableError(f"the Go tests of {name}", "there is no go on PATH")
