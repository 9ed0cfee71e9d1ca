"""The same hundred Jobs for kapitan, helm and cdk8s, each in its own way of writing them.

The peers live in a virtual environment of their own in the cache folder; one that cannot be had is left out
and named.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KAPITAN = "kapitan==0.36.3"
CDK8S = "cdk8s==2.70.115 pyyaml==6.0.3"

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: job-INDEX
  namespace: batch
  labels:
    app.kubernetes.io/name: job-INDEX
    kueue.x-k8s.io/queue-name: main
spec:
  suspend: true
  backoffLimit: 3
  activeDeadlineSeconds: 7200
  ttlSecondsAfterFinished: 86400
  podReplacementPolicy: Failed
  podFailurePolicy:
    rules:
    - action: Ignore
      onPodConditions:
      - type: DisruptionTarget
  template:
    metadata:
      labels:
        app.kubernetes.io/name: job-INDEX
    spec:
      schedulerName: batch-packer
      priorityClassName: low
      restartPolicy: Never
      nodeSelector:
        binpackgen.dev/gpu-type: a100
      tolerations:
      - key: nvidia.com/gpu
        value: present
        effect: NoSchedule
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: main
        image: registry.example.com/team/job:1.0
        env:
        - name: TEAM
          value: platform
        - name: STAGE
          value: production
        resources:
          requests:
            cpu: "CPU"
            memory: 16Gi
            nvidia.com/gpu: "1"
          limits:
            cpu: "CPU"
            memory: 16Gi
            nvidia.com/gpu: "1"
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
"""


@dataclass(frozen=True)
class Peer:
    """A command that makes the hundred Jobs, and where it runs."""

    name: str
    command: list[str]
    cwd: Path


def environment(cache: Path, pin: str) -> Path:
    """The programs of one peer, in an environment of its own since their pins exclude each other."""
    home = cache / "bench-peers" / pin.partition(" ")[0].replace("==", "-")
    done = home / "installed"
    if not done.exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin/python", "-m", "pip", "install", "-q", *pin.split()], check=True)
        done.touch()
    return home / "bin"


def peers(folder: Path, cache: Path, jobs: int) -> Iterator[Peer]:
    """Every peer that can be had here, ready to run in `folder`."""
    yield _kapitan(folder / "kapitan", environment(cache, KAPITAN), jobs)
    helm = _helm()
    if helm:
        yield _helm_chart(folder / "helm", helm, jobs)
    if shutil.which("node"):
        yield _cdk8s(folder / "cdk8s", environment(cache, CDK8S), jobs)


def _kapitan(folder: Path, programs: Path, jobs: int) -> Peer:
    template = JOB.replace("INDEX", "{{ index }}").replace("CPU", "{{ 2 + index % 5 }}")
    body = "{% for index in range(inventory.parameters.jobs) %}\n---\n" + template + "{% endfor %}\n"
    _write(folder / "templates/jobs.yaml", body)
    _write(
        folder / "inventory/targets/lab.yml",
        f"parameters:\n  jobs: {jobs}\n  kapitan:\n    vars:\n      target: lab\n    compile:\n"
        "    - input_type: jinja2\n      input_paths: [templates/jobs.yaml]\n      output_path: manifests\n",
    )
    (folder / "inventory/classes").mkdir(parents=True, exist_ok=True)
    return Peer("kapitan compile", [str(programs / "kapitan"), "compile"], folder)


def _helm() -> str | None:
    try:
        from binpackgen_e2e.binaries import helm

        return str(helm())
    except Exception as error:
        print(f"helm is left out: {error}", file=sys.stderr)
        return None


def _helm_chart(folder: Path, helm: str, jobs: int) -> Peer:
    template = JOB.replace("INDEX", "{{ $index }}").replace("CPU", "{{ add 2 (mod $index 5) }}")
    body = "{{- range $index := until (int .Values.jobs) }}\n---\n" + template + "{{- end }}\n"
    _write(folder / "Chart.yaml", "apiVersion: v2\nname: jobs\nversion: 0.1.0\n")
    _write(folder / "values.yaml", f"jobs: {jobs}\n")
    _write(folder / "templates/jobs.yaml", body)
    return Peer("helm template", [helm, "template", "lab", "."], folder)


def _cdk8s(folder: Path, programs: Path, jobs: int) -> Peer:
    code = f"""\
import yaml
from cdk8s import ApiObject, App, Chart, JsonPatch

TEMPLATE = {JOB!r}
app = App()
chart = Chart(app, "lab")
for index in range({jobs}):
    body = yaml.load(TEMPLATE.replace("INDEX", str(index)).replace("CPU", str(2 + index % 5)), yaml.CSafeLoader)
    job = ApiObject(chart, f"job-{{index}}", api_version=body["apiVersion"], kind=body["kind"])
    job.add_json_patch(JsonPatch.add("/spec", body["spec"]), JsonPatch.replace("/metadata", body["metadata"]))
app.synth()
"""
    _write(folder / "main.py", code)
    return Peer("cdk8s synth (Python)", [str(programs / "python"), "main.py"], folder)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
