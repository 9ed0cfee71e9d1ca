"""The kind cluster of a run: the compiled configuration, the user's patch, the host, and jobs that fit."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from binpackgen.compilation import compile_profile
from binpackgen.errors import BinpackgenError
from binpackgen_e2e.kind import preflight
from binpackgen_e2e.kind.configuration import merge, write_configuration
from binpackgen_e2e.kind.light import light, scales
from binpackgen_e2e.nodes import node
from binpackgen_e2e.workloads import manifests

ARTICLE = str(Path(__file__).resolve().parents[3] / "profiles" / "article.yaml")


def test_each_pool_has_two_workers_and_the_control_plane_mounts_the_scheduler(tmp_path: Path) -> None:
    """Whatever control plane the profile states: article's is kubeadm."""
    path = write_configuration(compile_profile(ARTICLE).plan, tmp_path, None)
    body = yaml.safe_load(path.read_text())
    pools = [one["labels"]["binpackgen.dev/pool"] for one in body["nodes"] if one["role"] == "worker"]
    assert ["v100", "v100", "a100", "a100", "cpu", "cpu"] == pools
    [control] = [one for one in body["nodes"] if one["role"] == "control-plane"]
    [mount] = control["extraMounts"]
    assert (tmp_path / mount["hostPath"] / "kube-scheduler-config.yaml").is_file()
    assert (tmp_path / "scheduler" / "patches").is_dir()


def test_a_patch_adds_to_maps_and_lists_and_replaces_the_rest(tmp_path: Path) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text("networking: {ipFamily: ipv4}\nkubeadmConfigPatches: [a]\n")
    body = yaml.safe_load(write_configuration(compile_profile(ARTICLE).plan, tmp_path, patch).read_text())
    assert {"ipFamily": "ipv4"} == body["networking"]
    assert ["a"] == body["kubeadmConfigPatches"]
    assert {"a": {"b": 1, "c": 2}, "d": [1, 2], "e": 3} == merge(
        {"a": {"b": 1}, "d": [1], "e": 0}, {"a": {"c": 2}, "d": [2], "e": 3}
    )


@pytest.mark.parametrize("text", ["- a list\n", "a: [\n", ""])
def test_a_patch_that_is_no_map_is_refused_with_its_file(tmp_path: Path, text: str) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text(text)
    with pytest.raises(BinpackgenError, match=r"patch\.yaml"):
        write_configuration(compile_profile(ARTICLE).plan, tmp_path, patch)


def test_low_inotify_limits_are_said_before_a_cluster_of_several_nodes() -> None:
    """Reported case kd01: 128 instances are too few for nine nodes; one that can't be read is said, too."""
    limits = {"fs.inotify.max_user_instances": 128, "fs.inotify.max_user_watches": 524288}
    assert [
        "fs.inotify.max_user_instances is 128, kind advises 512 for 9 nodes; "
        "run: sysctl -w fs.inotify.max_user_instances=512"
    ] == preflight.warnings(limits, 9)
    assert [] == preflight.warnings(
        {"fs.inotify.max_user_instances": 512, "fs.inotify.max_user_watches": 524288}, 9
    )
    assert [] == preflight.warnings(limits, 1)
    [unread] = preflight.warnings({**limits, "fs.inotify.max_user_instances": None}, 9)
    assert "can't be read" in unread


def test_limits_are_read_from_the_host_and_none_where_they_are_not(tmp_path: Path) -> None:
    (tmp_path / "fs" / "inotify").mkdir(parents=True)
    (tmp_path / "fs" / "inotify" / "max_user_instances").write_text("128\n")
    expected = {"fs.inotify.max_user_instances": 128, "fs.inotify.max_user_watches": None}
    assert expected == preflight.host_limits(tmp_path)


def test_a_kubelets_log_names_the_host_as_the_cause() -> None:
    """Reported case kd01: inotify instances, though the text speaks of open files."""
    log = 'E0301 kubelet.go:1530] "Failed to start cAdvisor" err="inotify_init: too many open files"\n'
    assert "no inotify instances left" in preflight.cause_in(log)
    assert "max_user_instances=512" in preflight.cause_in(log)
    assert preflight.cause_in("E0301 accept: too many open files\n") == ""


def test_light_jobs_ask_for_the_same_shares_of_a_smaller_node() -> None:
    """A node with an eighth of the pool's cpu: the same devices, an eighth of the cpu less what is kept back."""
    compiled = compile_profile(ARTICLE)
    small = []
    for pool in compiled.plan.pools:
        item = node(pool, f"{pool.name}-0")
        allocatable = item["status"]["allocatable"]
        allocatable["cpu"] = f"{pool.allocatable.cpu // 8}m"
        small.append(item)
    jobs = {one.name: one for one in light(manifests(compiled), scales(compiled.plan, small), "image:1")}
    [container] = jobs["resnet50-train"].body["spec"]["template"]["spec"]["containers"]
    requests = container["resources"]["requests"]
    assert {"cpu": "1600m", "nvidia.com/gpu": "4"} == {
        name: amount for name, amount in requests.items() if name != "memory"
    }
    assert requests == container["resources"]["limits"]
    assert [] == jobs["resnet50-train"].body["spec"]["template"]["spec"]["volumes"]


def test_a_jobset_becomes_a_job_per_group() -> None:
    compiled = compile_profile(ARTICLE)
    nodes = [node(pool, f"{pool.name}-0") for pool in compiled.plan.pools]
    jobs = light(manifests(compiled), scales(compiled.plan, nodes), "image:1")
    groups = {one.name: one.pods for one in jobs if one.name.startswith("llm-finetune")}
    assert {"llm-finetune-master": 1, "llm-finetune-worker": 4} == groups
    assert all(one.body["kind"] == "Job" for one in jobs)
