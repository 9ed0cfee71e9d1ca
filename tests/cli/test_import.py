"""`binpackgen import`: what it prints, where, and with which exit code."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner, Result

from binpackgen.cli import command as binpackgen
from binpackgen.cli.import_ import command as import_command
from binpackgen.compilation import compile_profile
from binpackgen.plan.compile import compile_plan
from binpackgen.profile.load import load_profile
from binpackgen.profile.models import ControlPlane
from tests.conformance.tiers import trace

ROOT = Path(__file__).parents[2]

TABLE = """\
name,cpu,memory,gpu,gpu_type
gpu-1,64,256Gi,8,NVIDIA-A100-SXM4-80GB
gpu-2,64,256Gi,8,NVIDIA-A100-SXM4-80GB
cpu-1,31500m,128Gi,0,
"""
PROFILE = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata:
  name: lab
spec:
  kubernetes:
    version: "1.36"
    controlPlane: kubeadm
  nodePools:
    - name: a100-sxm4-80gb-8x
      count: 2
      cpu: 64
      memory: "256Gi"
      gpu:
        type: a100-sxm4-80gb
        count: 8
      reserved:
        evictionMemory: 0
    - name: cpu-32c-128g
      count: 1
      cpu: "31500m"
      memory: "128Gi"
      reserved:
        evictionMemory: 0
"""


def run(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(binpackgen, ["import", *arguments], input=stdin)


def node(name: str, **amounts: str) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {}},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts, "nodeInfo": {"kubeletVersion": "v1.35.0"}},
    }


def test_a_table_becomes_a_profile(tmp_path: Path) -> None:
    """The profile on standard output, everything else on standard error."""
    file = tmp_path / "nodes.csv"
    file.write_text(TABLE)
    result = run(str(file), "--name", "lab", "--kubernetes", "1.36", "--control-plane", "kubeadm")

    assert (0, PROFILE, "lab: 3 of 3 nodes in 2 pools, 16 GPUs\n") == (
        result.exit_code,
        result.stdout,
        result.stderr,
    )


def test_names_and_versions_have_defaults(tmp_path: Path) -> None:
    """The cluster is called as its file is, and has the version of its kubelets."""
    file = tmp_path / "Prod EU.nodes.json"
    file.write_text(json.dumps({"kind": "List", "items": [node("a", cpu="4", memory="8Gi")]}))
    profile = load_profile("-", run(str(file)).stdout.encode()).profile

    assert "prod-eu" == profile.metadata.name
    assert ("1.35", "second-scheduler") == (
        profile.spec.kubernetes.version,
        profile.spec.kubernetes.control_plane,
    )


def test_standard_input_is_read() -> None:
    """As in `kubectl get nodes -o json | binpackgen import`, compressed or not."""
    text = json.dumps(node("a", cpu="4", memory="8Gi"))
    result = run("--name", "lab", stdin=text)

    assert 0 == result.exit_code
    assert "lab: 1 of 1 nodes in 1 pools, 0 GPUs\n" == result.stderr
    assert result.stdout == run("-", "--name", "lab", stdin=gzip.compress(text.encode())).stdout


def test_findings_name_line_and_column(tmp_path: Path) -> None:
    """Exit code 1, nothing on standard output."""
    file = tmp_path / "nodes.csv"
    file.write_text("name,cpu,memory\na,4,16GB\n")
    result = run(str(file))
    expected = f"""\
error[BP009] invalid-value: memory: "16GB" is no quantity: did you mean 16Gi or 16G?
  --> {file}:2:5
"""

    assert (1, "") == (result.exit_code, result.stdout)
    assert result.stderr.startswith(expected)


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["--name", "No Name"], TABLE, '"No Name" is no DNS label'),
        (["--kubernetes", "latest"], TABLE, '"latest" is no Kubernetes version: write 1.37'),
        (["--control-plane", "nomad"], TABLE, "'nomad' is not one of"),
        (["/does/not/exist"], "", "error: /does/not/exist: No such file or directory"),
        (["--jobs", "/does/not/exist"], TABLE, "error: /does/not/exist: No such file or directory"),
        (["-"], '{"kind": "List", "items": []}', "error: none of the 0 nodes can take batch work"),
    ],
)
def test_what_cannot_be_done_has_exit_code_2(arguments: list[str], stdin: str, message: str) -> None:
    """A message and no traceback, nothing on standard output."""
    result = run(*arguments, stdin=stdin)

    assert (2, "") == (result.exit_code, result.stdout)
    assert message in result.stderr


def test_a_cluster_of_control_planes_has_nodes_but_no_pool() -> None:
    """What was left out is said before the error."""
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    lonely = {**node("cp", cpu="4", memory="8Gi"), "spec": {"taints": [taint]}}
    result = run(stdin=json.dumps(lonely))

    assert 2 == result.exit_code
    assert result.stderr == (
        "left out, control plane: 1 node (cp)\n"
        "error: none of the 1 nodes can take batch work; a profile needs one\n"
    )


def test_the_choices_are_those_of_the_profile() -> None:
    """The option repeats the model's list so that `--help` does not have to import it."""
    option = next(parameter for parameter in import_command.params if parameter.name == "control_plane")

    assert get_args(ControlPlane) == tuple(option.type.choices)


PUBLIC = (
    "data/csv of hkust-adsl/kubernetes-scheduler-simulator at 8f3d6417 (pod lists compressed with gzip -9 -n)"
)


def openb_arguments() -> list[str]:
    nodes = trace("openb/openb_node_list_all_node.csv", PUBLIC)
    pods = trace("openb/openb_pod_list_default.csv.gz", PUBLIC)
    return [str(nodes), "--name", "openb", "--kubernetes", "1.37", "--jobs", str(pods)]


def test_the_profile_of_the_public_cluster_is_what_import_makes() -> None:
    """profiles/openb.yaml is never edited by hand; what it leaves out is said with numbers."""
    result = run(*openb_arguments())

    assert (ROOT / "profiles" / "openb.yaml").read_text("utf-8") == result.stdout
    assert (
        result.stderr
        == """\
job cpu-only: 364 of 1088 pods without GPUs have its shape, 24 other shapes are left out
job gpu1: 857 of 3910 pods with 1 GPU have its shape, 58 other shapes are left out
job gpu2: 7 of 16 pods with 2 GPUs have its shape, 4 other shapes are left out
job gpu4: 9 of 15 pods with 4 GPUs have its shape, 2 other shapes are left out
job gpu8: 18 of 44 pods with 8 GPUs have its shape, 4 other shapes are left out
3078 of 8152 pods ask for a part of a GPU and are left out; devices are requested whole
1 of 8152 pods asks for no cpu or no memory and is left out
openb: 1523 of 1523 nodes in 27 pools, 6212 GPUs
"""
    )


def test_the_profile_of_the_public_cluster_has_its_nodes() -> None:
    """Counted by other means: every line of the node list is in the plan, with its amounts."""
    lines = trace("openb/openb_node_list_all_node.csv", PUBLIC).read_text().splitlines()[1:]
    expected = Counter(
        (int(cpu), int(memory) * 2**20, int(gpus), model.lower() or "none")
        for _, cpu, memory, gpus, model in (line.split(",") for line in lines)
    )
    plan = compile_plan(load_profile(str(ROOT / "profiles" / "openb.yaml")))
    planned: Counter[tuple[int, int, int, str]] = Counter()
    for pool in plan.pools:
        size = pool.allocatable
        planned[size.cpu, size.memory, size.device_count, pool.gpu_type] += pool.nodes_max

    assert expected == planned
    assert (1523, 27) == (expected.total(), len(planned))


def test_the_profile_of_the_public_cluster_builds_without_findings() -> None:
    """What import prints is a start that nothing is wrong with."""
    assert () == compile_profile(str(ROOT / "profiles" / "openb.yaml")).findings


def test_a_profile_of_every_kind_of_node_can_be_built() -> None:
    """Whole, shared and sliced GPUs and other makers' have no finding that blocks."""
    kinds: list[tuple[dict[str, str], dict[str, str]]] = [
        ({"nvidia.com/gpu": "8"}, {}),
        ({"nvidia.com/gpu": "32"}, {"nvidia.com/gpu.replicas": "4"}),
        ({"nvidia.com/gpu.shared": "16"}, {"nvidia.com/gpu.replicas": "2"}),
        ({"nvidia.com/gpu": "56"}, {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}),
        ({"nvidia.com/mig-1g.10gb": "28", "nvidia.com/mig-3g.40gb": "8"}, {"nvidia.com/gpu.count": "1"}),
        ({"amd.com/gpu": "8"}, {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}),
        ({}, {"team": "on"}),
    ]
    items = []
    for number, (devices, labels) in enumerate(kinds):
        items.append(node(f"n{number}", cpu="64", memory="256Gi", **devices))
        items[-1]["metadata"]["labels"] = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", **labels}
    text = run(stdin=json.dumps({"kind": "List", "items": items})).stdout

    assert len(kinds) == len(compile_profile("-", stdin=text.encode()).plan.pools)


def big_cluster(count: int) -> str:
    """A list as long as a large cluster's, each node with the labels and images that real ones have."""
    items = []
    for number in range(count):
        memory = 263921132 + number * 37 % 2000
        amounts = {"cpu": "64", "memory": f"{memory}Ki", "pods": "110", "ephemeral-storage": "1843269236Ki"}
        labels = {f"feature.node.kubernetes.io/cpu-cpuid.F{n}": "true" for n in range(20)}
        if number % 3:
            amounts["nvidia.com/gpu"] = "8"
            labels["nvidia.com/gpu.product"] = "NVIDIA-A100-SXM4-80GB" if number % 3 == 1 else "Tesla-T4"
        one = node(f"node-{number}", **amounts)
        one["metadata"]["labels"] = {**labels, "kubernetes.io/hostname": f"node-{number}"}
        one["status"]["allocatable"] = {**amounts, "cpu": "63770m", "memory": f"{memory - 1048576}Ki"}
        one["status"]["images"] = [
            {"names": [f"registry.example.com/team/image-{n}@sha256:{'0' * 64}"]} for n in range(5)
        ]
        items.append(one)
    return json.dumps({"kind": "List", "items": items}, indent=4)


def test_ten_thousand_nodes_take_seconds() -> None:
    """Three seconds of CPU at most, and the profile has three pools."""
    text = big_cluster(10_000)
    start = time.process_time()
    result = run("--name", "big", stdin=text)
    spent = time.process_time() - start

    assert "big: 10000 of 10000 nodes in 3 pools, 53328 GPUs" == result.stderr.splitlines()[-1]
    assert spent < 3


def test_help_imports_nothing_heavy() -> None:
    """pydantic and PyYAML are loaded when the command runs, not when its help is shown."""
    script = (
        "import sys; sys.argv = ['binpackgen', 'import', '--help']\n"
        "from binpackgen.cli import command\n"
        "try: command()\n"
        "except SystemExit: pass\n"
        "print(sorted({'pydantic', 'yaml', 'jinja2', 'jsonschema'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "[]" == shown.stdout.splitlines()[-1]
