"""`binpackgen simulate`, `size` and `tune` on small profiles, and what they say about wrong use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from .conftest import Run

PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
FEW = ("--submissions", "40", "--seeds", "2")


def test_strategies_are_put_side_by_side(run: Run, profile: Path) -> None:
    """The compiled one first; figures as a table, a map below."""
    done = run("simulate", profile.name, *FEW, "--against", "default", "--against", "cpu=1,gpu=5,fit=3")

    assert (0, "lab on 2 nodes;") == (done.code, done.out[:15])
    header = next(line.split() for line in done.out.splitlines() if line.endswith("bound"))
    assert ["compiled", "default", "cpu=1,gpu=5,fit=3", "bound"] == header
    assert "nodes in use (mean)" in done.out
    assert "compiled: " in done.out


def test_json_has_every_figure_and_the_same_twice(run: Run, profile: Path) -> None:
    """Nothing but the seeds decides."""
    first = run("simulate", profile.name, *FEW, "-o", "json")
    second = run("simulate", profile.name, *FEW, "-o", "json")

    body = json.loads(first.out)
    assert first.out == second.out
    assert body["partial"] is None
    assert ["compiled", "default"] == [strategy["name"] for strategy in body["strategies"]]
    figures = {(figure["group"], figure["name"]): figure for figure in body["figures"]}
    saturation = figures["saturation", "GPU"]
    assert saturation["values"]["compiled"]["mean"] <= saturation["bound"]
    assert len(saturation["values"]["default"]["seeds"]) == 2


def test_todays_configuration_is_compared(run: Run, profile: Path, tmp_path: Path) -> None:
    """As the file that kube-scheduler reads."""
    (tmp_path / "today.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    done = run("simulate", profile.name, *FEW, "--against", "today.yaml", "-o", "json")

    names = [strategy["name"] for strategy in json.loads(done.out)["strategies"]]
    assert ["compiled", "today.yaml"] == names


def test_reports_are_whole_pages_without_scripts(run: Run, profile: Path, tmp_path: Path) -> None:
    """HTML and SVG that parse, with nothing that runs or loads."""
    done = run(
        "simulate", profile.name, *FEW, "--report", "out.html", "--report", "out.svg", "--report", "out.json"
    )

    page = (tmp_path / "out.html").read_text()
    assert done.code == 0
    assert "<script" not in page
    assert "src=" not in page
    assert page.rstrip().endswith("</html>")
    assert fromstring((tmp_path / "out.svg").read_text()).tag.endswith("svg")  # noqa: S314  our own
    assert json.loads((tmp_path / "out.json").read_text())["profile"] == "lab"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--against", "fastest"), "fastest: no such file, and not one of compiled, default, article, naive"),
        (("--against", "cpu=1,disk=2"), "'disk=2' is no weight"),
        (("--report", "out.pdf"), "the suffix must be one of .json, .html, .svg"),
        (("--price", "tpu=3"), "there is no pool tpu; there are gpu"),
        (("--price", "gpu=cheap"), "'cheap' is no price"),
        (("--nodes", "nodes.csv"), "--nodes needs --workload"),
        (("--workload", "x.csv", "--submissions", "2"), "not to --workload"),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_wrong_use_ends_with_two(run: Run, profile: Path, arguments: tuple[str, ...], part: str) -> None:
    """And says what is right."""
    done = run("simulate", profile.name, *arguments)

    assert done.code == 2
    assert part in done.err
    assert done.out == ""


def test_a_bad_trace_is_told_by_file_and_line(run: Run, profile: Path, tmp_path: Path) -> None:
    """Nothing is simulated of a trace that is not whole."""
    (tmp_path / "pods.csv").write_text(f"{PODS}a,1000,1024,0,0\nb,-1,1024,0,0\n")
    done = run("simulate", profile.name, "--workload", "pods.csv")

    assert done.code == 1
    assert "pods.csv:3" in done.err
    assert done.out == ""


def test_a_trace_runs_on_the_profiles_pools(run: Run, profile: Path, tmp_path: Path) -> None:
    """Its pods tolerate what those of the profile's templates would."""
    rows = "".join(f"p{i},4000,8192,1,1000\n" for i in range(10))
    (tmp_path / "pods.csv").write_text(PODS + rows)
    done = run("simulate", profile.name, "--workload", "pods.csv", "--seeds", "1", "-o", "json")

    figures = {(f["group"], f["name"]): f["values"] for f in json.loads(done.out)["figures"]}
    assert figures["saturation", "GPU"]["compiled"]["mean"] == 1.0


@pytest.mark.parametrize("package", ["numpy", "highspy"])
def test_a_missing_package_is_named(run: Run, profile: Path, tmp_path: Path, package: str) -> None:
    """With the command that installs it."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / f"{package}.py").write_text(
        f"raise ModuleNotFoundError(\"No module named '{package}'\", name='{package}')\n"
    )
    done = run("simulate", profile.name, *FEW, PYTHONPATH=str(tmp_path / "hidden"))

    assert done.code == 2
    assert f"the package {package} is not installed; run: pip install 'binpackgen[simulate]'" in done.err


def test_commands_that_do_not_simulate_import_none_of_it(tmp_path: Path, profile: Path) -> None:
    """No numpy, no studies."""
    code = (
        "import sys\nfrom binpackgen.cli import command\n"
        f"try: command.main(['check', {str(profile)!r}])\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith(('numpy', 'highspy', 'binpackgen.study'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_an_interrupt_leaves_what_is_known_marked_as_partial(profile: Path) -> None:
    """Exit code 130, no traceback, and no seed that did not come to its end."""
    arguments = ["simulate", profile.name, "--submissions", "5000", "--seeds", "100", "-o", "json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "binpackgen", *arguments],
        cwd=profile.parent,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell lets what it runs in the background ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    told = ""
    while "seed 3 of 100" not in told:
        told += process.stderr.readline()
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    body = json.loads(out)
    assert process.returncode == 130
    assert "interrupted" in body["partial"]
    assert 2 <= body["seeds"] < 100
    assert "Traceback" not in err


def test_a_size_is_told_with_its_bound(run: Run, profile: Path) -> None:
    """20 pods with a GPU, 8 a node: 3 nodes."""
    done = run("size", profile.name, "--backlog", "train=20", "-o", "json")

    body = json.loads(done.out)
    assert {"nodes": 3, "bound": 3.0, "oneFewerFails": True, "profile": 2} == body["pools"]["gpu"]
    assert (3, 3.0, False) == (body["nodes"], body["bound"], body["profileIsEnough"])
    text = run("size", profile.name, "--backlog", "20")
    assert "3 nodes, and no scheduler does with less (all pods at once)" in text.out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((), "either --backlog, or --load with --wait"),
        (("--load", "0.9"), "--load and --wait belong together"),
        (("--backlog", "nope=3"), "there is no job nope; there are train"),
        (("--backlog", "many"), "'many' is no number of runs"),
        (("--load", "0.9", "--wait", "soon"), "is no limit such as p95<=10m"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_size_of_nothing_is_refused(run: Run, profile: Path, arguments: tuple[str, ...], part: str) -> None:
    """With what to say."""
    done = run("size", profile.name, *arguments)

    assert done.code == 2
    assert part in done.err


MIXED = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm}
  packing: {cpuOnlyPods: anywhere}  # to be looked at
  nodePools:
    - {name: gpu, count: 4, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
    - {name: cpu, count: 4, cpu: 32, memory: 128Gi}
  jobs:
    - name: train
      template: single-gpu
      image: registry.example.com/ml/train:1.0
      each: {cpu: 7, memory: 30Gi, gpu: {type: a100, count: 1}}
    - name: etl
      template: etl
      image: registry.example.com/ml/etl:1.0
      each: {cpu: 4, memory: 16Gi}
"""
SEARCH = ("--candidates", "8", "--submissions", "40", "--seeds", "2", "--held-out", "4", "--workers", "1")


def test_tuning_ends_in_a_patch_that_applies(run: Run, tmp_path: Path) -> None:
    """A diff without `--write`; with it the profile that the diff makes, and the evidence beside it."""
    path = tmp_path / "lab.yaml"
    path.write_text(MIXED)
    shown = run("tune", "lab.yaml", *SEARCH, "--search-seed", "3")
    unchanged = path.read_text()
    written = run("tune", "lab.yaml", *SEARCH, "--search-seed", "3", "--write")

    assert (0, 0, MIXED) == (shown.code, written.code, unchanged)
    assert "-  packing: {cpuOnlyPods: anywhere}  # to be looked at" in shown.out
    assert "# to be looked at" in path.read_text()
    assert "cpuOnlyPods: cpu-pools" in path.read_text()
    assert json.loads((tmp_path / "lab.yaml.tuning.json").read_text())["isGain"] is True
    assert run("check", "lab.yaml", "--fail-on", "error").code == 0
    assert "held-out" in shown.err
