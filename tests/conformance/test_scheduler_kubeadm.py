"""The kubeadm form, read by the real kubeadm: the manifest that it writes carries the flag and the hash."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.canonical import to_yaml
from binpackgen.plan.model import Plan
from binpackgen_e2e.binaries import binary
from tests.conformance.tiers import ask
from tests.targets.scheduler_factory import bodies, scheduler_plan

pytestmark = pytest.mark.timeout(1800)

FOLDER = "/etc/kubernetes/binpackgen"
FILE = f"{FOLDER}/kube-scheduler-config.yaml"


def run_kubeadm(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kubeadm = ask(lambda: binary("kubeadm", "1.37"))
    return subprocess.run(
        [kubeadm, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "KUBEADM_INIT_DRYRUN_DIR": str(folder)},
    )


def kubeadm_file(plan: Plan, folder: Path) -> Path:
    """The tree's kubeadm configuration with a version, its patches in `folder`."""
    found = bodies(plan)
    patches = folder / "patches"
    patches.mkdir()
    [patch] = found["scheduler/patches/kube-scheduler0+strategic.yaml"]
    (patches / "kube-scheduler0+strategic.yaml").write_text(to_yaml(patch))
    cluster, init = found["scheduler/kubeadm.yaml"]
    cluster = {**cluster, "kubernetesVersion": "v1.37.2"}
    assert init["patches"] == {"directory": f"{FOLDER}/patches"}
    file = folder / "kubeadm.yaml"
    file.write_text(f"{to_yaml(cluster)}---\n{to_yaml({**init, 'patches': {'directory': str(patches)}})}")
    return file


def manifest(plan: Plan, folder: Path) -> dict[str, Any]:
    """The static pod of the scheduler that kubeadm would write."""
    folder.mkdir()
    out = folder / "manifests"
    out.mkdir()
    file = kubeadm_file(plan, folder)
    run = run_kubeadm(out, "init", "phase", "control-plane", "scheduler", f"--config={file}", "--dry-run")
    assert run.returncode == 0, run.stderr
    pod: dict[str, Any] = yaml.safe_load((out / "kube-scheduler.yaml").read_text())
    return pod


def test_the_static_pod_reads_the_file(tmp_path: Path) -> None:
    """kubeadm passes --config, shows the folder to the pod, and applies the hash."""
    plan = scheduler_plan("kubeadm")

    pod = manifest(plan, tmp_path / "one")

    [container] = pod["spec"]["containers"]
    [patch] = bodies(plan)["scheduler/patches/kube-scheduler0+strategic.yaml"]
    assert f"--config={FILE}" in container["command"]
    assert {"name": "binpackgen", "mountPath": FOLDER, "readOnly": True} in container["volumeMounts"]
    assert {"name": "binpackgen", "hostPath": {"path": FOLDER, "type": "Directory"}} in pod["spec"]["volumes"]
    assert patch["metadata"]["annotations"] == pod["metadata"]["annotations"]
    assert container["image"] == "registry.k8s.io/kube-scheduler:v1.37.2"


def test_the_static_pod_changes_with_the_configuration_only(tmp_path: Path) -> None:
    """Case sc13: another weight is another manifest, so the kubelet restarts the pod; the same one is not."""
    one = manifest(scheduler_plan("kubeadm"), tmp_path / "one")
    again = manifest(scheduler_plan("kubeadm"), tmp_path / "again")
    other = manifest(scheduler_plan("kubeadm", packing={"pluginWeight": 10}), tmp_path / "other")

    assert one == again
    assert one != other


def test_the_static_pod_runs_an_own_image(tmp_path: Path) -> None:
    """A stated scheduler image replaces kubeadm's."""
    pod = manifest(scheduler_plan("kubeadm", image="example.com/kube-scheduler:1"), tmp_path / "one")

    assert pod["spec"]["containers"][0]["image"] == "example.com/kube-scheduler:1"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"scheduler": {"extraArgs": {"config": FILE}}},
            "cannot unmarshal object into Go struct field ControlPlaneComponent.scheduler.extraArgs",
        ),
        ({"apiVersion": "kubeadm.k8s.io/v1beta3"}, "your configuration file uses an old API spec"),
        ({"scheduler": {"extraArg": []}}, 'strict decoding error: unknown field "scheduler.extraArg"'),
    ],
)
def test_the_forms_that_people_paste_are_refused(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Negative controls, case kd03: a map in v1beta4, v1beta3 with 1.37, and a misspelt field."""
    cluster = {**bodies(scheduler_plan("kubeadm"))["scheduler/kubeadm.yaml"][0], **changed}
    file = tmp_path / "kubeadm.yaml"
    file.write_text(to_yaml({**cluster, "kubernetesVersion": "v1.37.2"}))

    run = run_kubeadm(tmp_path, "config", "validate", f"--config={file}")

    assert run.returncode != 0
    assert message in run.stderr.replace('\\"', '"')
