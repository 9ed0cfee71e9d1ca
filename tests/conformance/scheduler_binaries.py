"""What a real kube-scheduler makes of a configuration: `--write-config-to` decodes, defaults and builds it.

The effective weights are merged here from what it writes, by the rules of its own runtime and without any
code of the compiler: an extension point's own list wins over multiPoint, `*` cuts multiPoint off, and a
weight of 0 is 1. Source: kubernetes v1.37.2, pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from binpackgen.canonical import to_yaml
from binpackgen.plan.model import Plan
from binpackgen_e2e.binaries import binary, versions
from tests.conformance.tiers import ask
from tests.targets.scheduler_factory import bodies

#: The oldest and the newest minor whose scheduler is pinned.
MINORS = tuple(dict.fromkeys((versions("kube-scheduler")[0], versions("kube-scheduler")[-1])))

#: Plugins with a node score, by minor: the plugins' Score methods in kubernetes v1.34.4 to v1.37.2. The weight
#: is what a stock scheduler gives them.
ALWAYS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
STOCK = {
    "1.34": ALWAYS,
    "1.35": {**ALWAYS, "DynamicResources": 2},
    "1.36": {**ALWAYS, "DynamicResources": 2},
    "1.37": {**ALWAYS, "DynamicResources": 2, "VolumeBinding": 1},
}

_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
users: [{name: none, user: {token: none}}]
"""


@dataclass(frozen=True)
class Answer:
    """What kube-scheduler wrote back, or why it refused."""

    written: dict[str, Any] | None
    message: str

    @property
    def profiles(self) -> dict[str, dict[str, Any]]:
        """The profiles that were built, by name."""
        assert self.written is not None, self.message
        return {profile["schedulerName"]: profile for profile in self.written["profiles"]}


def ask_scheduler(minor: str, text: str, folder: Path, built: Callable[[], Path] | None = None) -> Answer:
    """Run kube-scheduler of `minor` on a configuration; `KUBECONFIG` in it stands for a valid file.

    `built` makes another scheduler than the stock one.
    """
    scheduler = ask(built or (lambda: binary("kube-scheduler", minor)))
    kubeconfig, given, out = folder / "kubeconfig", folder / "config.yaml", folder / "out.yaml"
    kubeconfig.write_text(_KUBECONFIG)
    given.write_text(text.replace("KUBECONFIG", str(kubeconfig)))
    run = subprocess.run(
        # it would open its port before it writes, and runs side by side must not meet there
        [scheduler, f"--config={given}", f"--write-config-to={out}", "--secure-port=0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    written = yaml.safe_load(out.read_text()) if out.exists() else None
    out.unlink(missing_ok=True)
    assert (run.returncode == 0) == (written is not None), run.stderr
    return Answer(written, run.stderr.replace('\\"', '"'))


def as_the_scheduler_gets_it(plan: Plan) -> str:
    """The configuration file that reaches the scheduler of the plan's control plane, KUBECONFIG in it."""
    found = bodies(plan)
    if plan.control_plane == "talos":
        [body] = found["scheduler/talos.yaml"]
        config = (body["cluster"]["scheduler"] if "cluster" in body else body)["config"]
        # what Talos adds: internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        return to_yaml({**head, "clientConnection": {"kubeconfig": "KUBECONFIG"}, **config})
    if plan.control_plane in ("aks", "second-scheduler"):
        # the text as it stands: AKS adds the connection, a pod uses its account
        text: str = (
            found["scheduler/aks.yaml"][0]["spec"]["rawConfig"]
            if plan.control_plane == "aks"
            else found["scheduler/config-map.yaml"][0]["data"]["kube-scheduler-config.yaml"]
        )
        assert "clientConnection" not in text
        return f"{text}clientConnection: {{kubeconfig: KUBECONFIG}}\n"
    [body] = found["scheduler/kube-scheduler-config.yaml"]
    return to_yaml({**body, "clientConnection": {"kubeconfig": "KUBECONFIG"}})


def effective_weights(minor: str, profile: dict[str, Any]) -> dict[str, int]:
    """Weight of every plugin that scores in a profile that kube-scheduler wrote."""
    plugins = profile["plugins"]
    score, everywhere = plugins.get("score") or {}, plugins.get("multiPoint") or {}
    listed = {entry["name"]: entry.get("weight", 0) for entry in score.get("enabled") or ()}
    off = {entry["name"] for entry in score.get("disabled") or ()}
    off |= {entry["name"] for entry in everywhere.get("disabled") or ()}
    if "*" not in off:
        for entry in everywhere.get("enabled") or ():
            if entry["name"] not in off:
                listed.setdefault(entry["name"], entry.get("weight", 0))
    return {name: weight or 1 for name, weight in listed.items() if name in STOCK[minor]}


def arguments(profile: dict[str, Any], plugin: str) -> dict[str, Any]:
    """A plugin's arguments with all defaults, without their type."""
    [args] = [entry["args"] for entry in profile["pluginConfig"] if entry["name"] == plugin]
    return {key: value for key, value in args.items() if key not in ("apiVersion", "kind")}
