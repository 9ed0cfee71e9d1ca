"""Small profiles to study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from binpackgen.compilation import compile_profile
from binpackgen.study.subject import Subject, read_subject

#: A GPU pool and a CPU pool. CPU-only pods that go anywhere strand GPUs: packing likes full nodes best.
PROFILE = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm}
  # how pods are placed
  PACKING
  nodePools:
    - {name: gpu, count: 4, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, reserved: {evictionMemory: 0}}
    - {name: cpu, count: 4, cpu: 32, memory: 128Gi, reserved: {evictionMemory: 0}}
  jobs:
    - name: train
      template: single-gpu
      image: registry.example.com/ml/train:1.0
      deadline: 1h
      each: {cpu: 8, memory: 32Gi, gpu: {type: a100, count: 1}}
    - name: etl
      template: etl
      image: registry.example.com/ml/etl:1.0
      deadline: 1h
      each: {cpu: 4, memory: 16Gi}
"""

Make = Callable[..., Subject]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A subject of PROFILE with this `packing` line."""

    def made(packing: str = "") -> Subject:
        path = tmp_path / "lab.profile.yaml"
        path.write_text(PROFILE.replace("PACKING", packing or "# nothing"))
        return read_subject(compile_profile(str(path)))

    return made
