"""The real command line in a child process, with a scrubbed environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `binpackgen ARGS` in an empty folder."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}

    def call(*arguments: str, stdin: str = "", cwd: Path = tmp_path, **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "binpackgen", *arguments],
            cwd=cwd,
            env={**keep, **environment},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


PROFILE = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm}
  nodePools:
    - {name: gpu, count: 2, cpu: 64, memory: 256Gi, gpu: {type: a100, count: 8}}
  priorityTiers:
    - {name: high, value: 1000}
    - {name: low, value: 10, default: true}
  queues:
    - {name: main, namespaces: [ml], quota: {a100: 100%}}
  jobs:
    - name: train
      template: single-gpu
      queue: main
      image: registry.example.com/ml/train:1.0
      each: {cpu: 6, memory: 24Gi, gpu: {type: a100, count: 1}}
"""


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A good profile in the folder that `run` runs in."""
    path = tmp_path / "lab.profile.yaml"
    path.write_text(PROFILE)
    return path
