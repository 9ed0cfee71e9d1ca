"""Placements read from the watch, and single pods of a job's template."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from binpackgen.compilation import compile_profile
from binpackgen.metrics.changes import Change
from binpackgen_e2e.placing import bindings, group_of, single_pod
from binpackgen_e2e.workloads import SUBMISSION, Manifest, manifests

Item = dict[str, Any]


@pytest.fixture(scope="module")
def article() -> dict[str, Manifest]:
    return {manifest.name: manifest for manifest in manifests(compile_profile("profiles/article.yaml"))}


def change(
    version: int,
    name: str,
    node: str,
    *,
    kind: Literal["ADDED", "MODIFIED", "DELETED"] = "MODIFIED",
    **more: Any,
) -> Change:
    labels = {} if more.get("stray") else {SUBMISSION: name}
    metadata = {"name": name, "namespace": "ai", "uid": more.get("uid", name), "labels": labels}
    spec = {"nodeName": node} if node else {}
    return Change(version, 0.0, kind, more.get("of", "Pod"), {"metadata": metadata, "spec": spec})


def test_a_pod_is_placed_once_with_the_change_that_gave_it_a_node() -> None:
    """Later changes of the pod, deletions, pods of no scenario and other kinds are no placements."""
    changes = [
        change(1, "a", "", kind="ADDED"),
        change(2, "b", "n1"),
        change(3, "a", "n2"),
        change(4, "a", "n2"),
        change(5, "stray", "n1", stray=True),
        change(6, "n1", "n1", of="Node"),
        change(7, "b", "n1", kind="DELETED"),
        change(8, "b", "n3", uid="second b"),
        change(9, "c", "n1", kind="DELETED"),
    ]
    found = [(one.version, one.name, one.submission, one.node) for one in bindings(changes)]
    assert [(2, "ai/b", "b", "n1"), (3, "ai/a", "a", "n2"), (8, "ai/b", "b", "n3")] == found


def test_a_pod_of_a_jobset_belongs_to_the_group_of_its_replicated_job(article: dict[str, Manifest]) -> None:
    """Masters and workers are told apart by JobSet's own label; pods of a Job are workers."""
    label = "jobset.sigs.k8s.io/replicatedjob-name"
    finetune = article["llm-finetune"]
    roles = [
        group_of({"metadata": {"labels": labels}}, manifest).role
        for manifest, labels in (
            (finetune, {label: "master"}),
            (finetune, {label: "workers"}),
            (article["eval"], {}),
        )
    ]
    assert ["master", "worker", "worker"] == roles


def test_a_single_pod_asks_for_what_the_jobs_pod_does(article: dict[str, Manifest]) -> None:
    """Without its Job and queue the pod is the template's, under its own name and in the job's namespace."""
    finetune = article["llm-finetune"]
    master, worker = finetune.job.pod_groups
    one = single_pod(finetune, worker, "one")
    template = finetune.body["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]
    assert {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "labels": {**template["metadata"]["labels"], SUBMISSION: "one"},
            "name": "one",
            "namespace": "research",
        },
        "spec": one["spec"],
    } == one
    assert template["spec"]["containers"][0]["resources"] == one["spec"]["containers"][0]["resources"]
    other = single_pod(finetune, master, "two", scheduler="another")
    assert ("another", None) == (other["spec"]["schedulerName"], other["spec"].get("nodeSelector"))
