"""Pods that take all devices of a node, under a cap that exempts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from binpackgen.compilation import compile_profile
from binpackgen.errors import FindingsError

PROFILE = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: whole}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm, schedulerImage: "registry.example.com/kube-scheduler:cap"}
  nodePools:
    - {name: a100, count: 2, cpu: 64, memory: 256Gi, gpu: {type: a100, count: 8}}
  caps: {form: filter, headroom: {cpu: 4, memory: 16Gi}, exemptWholeNode: EXEMPT}
  priorityTiers:
    - {name: batch, value: 1000, default: true}
  jobs:
    - {name: big, template: single-gpu, namespace: ml, each: {cpu: 62, memory: 200Gi, gpu: {type: a100, count: COUNT}}, deadline: 1h, image: registry.example.com/train:1}
"""


def compiled(tmp_path: Path, *, exempt: bool, count: int) -> tuple[str, ...]:
    """The pools that the job of `count` GPUs and 62 of 64 cores can use."""
    file = tmp_path / "whole.yaml"
    file.write_text(PROFILE.replace("EXEMPT", str(exempt).lower()).replace("COUNT", str(count)))
    return compile_profile(str(file)).plan.jobs[0].pod_groups[0].pools


def test_a_pod_of_all_devices_may_use_the_headroom(tmp_path: Path) -> None:
    """62 cores of 64 leave 2, less than the cap of 4: the exemption is what lets it in."""
    assert compiled(tmp_path, exempt=True, count=8) == ("a100",)


@pytest.mark.parametrize(("exempt", "count"), [(False, 8), (True, 7)])
def test_without_exemption_or_one_device_short_it_fits_nowhere(
    tmp_path: Path, exempt: bool, count: int
) -> None:
    with pytest.raises(FindingsError, match=r"BP506 .*asks for 62 cpu of 60"):
        compiled(tmp_path, exempt=exempt, count=count)
