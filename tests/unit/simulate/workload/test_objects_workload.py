"""Workloads from Kubernetes objects: pods, jobs and nodes as kubectl prints them, and manifests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.errors import FindingsError
from binpackgen.finding import Severity
from binpackgen.simulate.matching import Requirement
from binpackgen.simulate.model import HOSTNAME
from binpackgen.simulate.workload.model import Submission
from binpackgen.simulate.workload.objects import read_objects
from binpackgen.simulate.workload.templates import JOBSET_NAME, of_instance

Object = dict[str, Any]


def node(name: str, **labels: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "2"}},
    }


def spec_of(cpu: str = "1", gpus: int = 0, **rest: Any) -> Object:
    requests = {"cpu": cpu, "memory": "1Gi"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    return {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}], **rest}


def pod(name: str, created: str | None = "2026-01-01T00:00:00Z", **rest: Any) -> Object:
    metadata = {"name": name, "namespace": "ml", **rest.pop("metadata", {})}
    if created:
        metadata["creationTimestamp"] = created
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": rest.pop("spec", spec_of()),
        "status": rest.pop("status", {"phase": "Pending"}),
    }


def owner(kind: str, name: str) -> Object:
    return {"ownerReferences": [{"kind": kind, "name": name, "controller": True}]}


def job(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml", **spec.pop("metadata", {})},
        "spec": {"template": {"spec": spec.pop("pod", spec_of())}, **spec.pop("own", {})},
        "status": spec.pop("status", {}),
    }


def jobset(name: str, pods: Object | None = None, labels: Object | None = None) -> Object:
    def replicated(part: str, count: int) -> Object:
        template = {"metadata": {"labels": {"part": part}}, "spec": pods or spec_of()}
        return {
            "name": part,
            "template": {
                "spec": {
                    "parallelism": count,
                    "completions": count,
                    "activeDeadlineSeconds": 60,
                    "template": template,
                }
            },
        }

    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "ml", "labels": labels or {}},
        "spec": {"replicatedJobs": [replicated("master", 1), replicated("workers", 2)]},
    }


def write(folder: Path, *objects: Object, name: str = "cluster.json") -> list[str]:
    path = folder / name
    body = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    path.write_text(json.dumps(body, indent=4) if name.endswith("json") else yaml.safe_dump_all(objects))
    return [str(path)]


def submissions(folder: Path, *objects: Object) -> tuple[Submission, ...]:
    return read_objects(write(folder, *objects)).workload.submissions


def complaints(folder: Path, files: list[str], **options: Any) -> list[str]:
    with pytest.raises(FindingsError) as caught:
        read_objects(files, **options)
    return [
        f"{finding.span.file.removeprefix(f'{folder}/')}:{finding.span.line} {finding.code} {finding.message}"
        for finding in caught.value.findings
    ]


def test_pods_arrive_when_they_were_created(tmp_path: Path) -> None:
    """Those that have ended ran as long as their containers; the others stay. Bound ones are placed anew."""
    ended = {
        "phase": "Succeeded",
        "startTime": "2026-01-01T00:01:00Z",
        "containerStatuses": [
            {"name": "main", "state": {"terminated": {"finishedAt": "2026-01-01T00:03:00Z"}}}
        ],
    }
    running = {"phase": "Running", "startTime": "2026-01-01T00:01:00Z"}
    bound = spec_of(gpus=1, nodeName="n-0", priority=7, preemptionPolicy="Never")

    found = submissions(
        tmp_path,
        node("n-0"),
        pod("late", "2026-01-01T00:10:00Z", spec=bound, status=running),
        pod("early", "2026-01-01T00:00:00Z", status=ended),
    )

    assert (
        Submission("ml/early", "CPU", (1,), 0.0, 120.0),
        Submission("ml/late", "1 GPU", (0,), 600.0, None, priority=7, preempts=False),
    ) == found


def test_pods_of_a_jobset_are_a_gang(tmp_path: Path) -> None:
    """One submission from the first creation on; without an end of all of them it stays."""
    labels = {"labels": {JOBSET_NAME: "train", "app.kubernetes.io/name": "train"}}
    found = submissions(
        tmp_path,
        pod("train-0", "2026-01-01T00:00:05Z", metadata=labels),
        pod("train-1", "2026-01-01T00:00:00Z", metadata=labels),
        pod("other", "2026-01-01T00:00:00Z"),
        jobset("train"),
    )

    assert {
        "ml/other": Submission("ml/other", "CPU", (0,), 0.0),
        "ml/train": Submission("ml/train", "train", (0, 0), 0.0, gang=True),
    } == {one.name: one for one in found}


def test_manifests_count_where_their_pods_are_not_there(tmp_path: Path) -> None:
    """A Job with the pods that it runs side by side, a JobSet as a gang, a CronJob once; to their deadlines."""
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "ml"},
        "spec": {"schedule": "0 2 * * *", "jobTemplate": {"spec": {"template": {"spec": spec_of()}}}},
    }
    array = job("array", own={"parallelism": 4, "completions": 200, "activeDeadlineSeconds": 3600})
    few = job("few", own={"parallelism": 4, "completions": 2})

    found = submissions(tmp_path, array, few, cron, jobset("train"))

    assert {
        "ml/array": Submission("ml/array", "array", (0, 0, 0, 0), 0.0, 3600.0),
        "ml/few": Submission("ml/few", "few", (0, 0), 0.0),
        "ml/nightly": Submission("ml/nightly", "nightly", (0,), 0.0),
        # the Service in front of a JobSet makes its pods another shape
        "ml/train": Submission("ml/train", "train", (1, 1, 1), 0.0, 60.0, gang=True),
    } == {one.name: one for one in found}


def test_nothing_is_counted_twice(tmp_path: Path) -> None:
    """A Job whose pods are there, a JobSet's Jobs, and a CronJob whose Jobs are there make no submissions of their own."""
    found = submissions(
        tmp_path,
        job("with-pods"),
        pod("with-pods-x", metadata=owner("Job", "with-pods")),
        jobset("set"),
        job("set-workers-0", metadata=owner("JobSet", "set")),
        job("nightly-1", metadata=owner("CronJob", "nightly")),
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "nightly", "namespace": "ml"},
            "spec": {"jobTemplate": {"spec": {"template": {"spec": spec_of()}}}},
        },
    )

    assert ["ml/nightly-1", "ml/set", "ml/with-pods-x"] == sorted(one.name for one in found)


def test_a_job_that_is_done_ran_as_long_as_its_status_says(tmp_path: Path) -> None:
    """Also where its pods are gone."""
    status = {"startTime": "2026-01-01T00:00:10Z", "completionTime": "2026-01-01T00:01:10Z"}
    done = job("done", status=status, metadata={"creationTimestamp": "2026-01-01T00:00:00Z"})

    assert (Submission("ml/done", "done", (0,), 0.0, 60.0),) == submissions(tmp_path, done)


def test_pods_that_belong_to_their_node_stay(tmp_path: Path) -> None:
    """Pods of DaemonSets and static pods are no submissions; the cluster has them on their nodes."""
    daemon = pod("agent", spec=spec_of("500m", nodeName="n-1"), metadata=owner("DaemonSet", "agent"))
    static = pod("proxy", spec=spec_of("250m", nodeName="n-1"), metadata=owner("Node", "n-1"))
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n-0"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    waiting = pod(
        "agent-2", spec=spec_of(affinity={"nodeAffinity": required}), metadata=owner("DaemonSet", "agent")
    )

    reading = read_objects(write(tmp_path, node("n-0"), node("n-1"), daemon, static, waiting, pod("job")))

    assert ["ml/job"] == [one.name for one in reading.workload.submissions]
    assert reading.cluster is not None
    assert [1000, 750] == [used["cpu"] for used in reading.cluster.requested]


def test_queues_and_tiers_come_from_labels_and_classes(tmp_path: Path) -> None:
    """A local queue leads to its cluster queue; without one the label's value is the queue. Classes have values."""
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    tier = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100, "preemptionPolicy": "Never"}
    usual = {"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 5, "globalDefault": True}
    local = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "lq", "namespace": "ml"},
        "spec": {"clusterQueue": "team"},
    }
    queued = job("a", metadata={"labels": labels}, pod=spec_of(priorityClassName="high"))

    with_local = submissions(tmp_path, queued, job("b"), tier, usual, local)
    without = submissions(tmp_path, queued, tier)

    assert [("ml/a", "team", 100, False), ("ml/b", None, 5, True)] == [
        (one.name, one.queue, one.priority, one.preempts) for one in with_local
    ]
    assert "lq" == without[0].queue


def test_equal_pods_share_a_shape(tmp_path: Path) -> None:
    """Labels by which nothing selects are no difference, nor are names; requests and selectors are."""
    pods = [
        pod(f"p{n}", metadata={"labels": {"batch.kubernetes.io/job-completion-index": str(n)}})
        for n in range(50)
    ]
    other = pod("q", spec=spec_of(nodeSelector={"kind": "x"}))

    workload = read_objects(write(tmp_path, *pods, other)).workload

    assert 2 == len(workload.shapes)
    assert {} == workload.shapes[0].labels


def test_labels_that_something_selects_stay(tmp_path: Path) -> None:
    """A budget or an affinity makes two pods different by them."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "pdb", "namespace": "ml"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    pods = [pod(app, metadata={"labels": {"app": app, "other": app}}) for app in "xy"]

    workload = read_objects(write(tmp_path, *pods, budget)).workload

    assert [{"app": "x"}, {"app": "y"}] == [shape.labels for shape in workload.shapes]


def test_a_spread_that_never_bites_costs_nothing(tmp_path: Path) -> None:
    """What is left of it is that nodes have the topology key; the Service's default spread is off, as it was."""
    constraint = {
        "maxSkew": 2**31 - 1,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {JOBSET_NAME: "train"}},
    }
    idle = jobset("idle", spec_of(topologySpreadConstraints=[constraint]))
    bites = jobset("bites", spec_of(topologySpreadConstraints=[{**constraint, "maxSkew": 2}]))

    idle_shape, *rest = read_objects(write(tmp_path, idle)).workload.shapes
    biting = read_objects(write(tmp_path, bites)).workload.shapes

    assert [] == rest
    assert ((), None) == (idle_shape.spread, idle_shape.owner_selector)
    assert (Requirement(HOSTNAME, "Exists"),) == idle_shape.node_selector
    assert 2 == biting[0].spread[0].max_skew


def test_another_jobset_of_the_same_manifest_has_its_own_name(tmp_path: Path) -> None:
    """Terms on the JobSet's name follow it; shapes without such terms are shared."""
    anti = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {JOBSET_NAME: "set"}}}
        ]
    }
    shape = read_objects(
        write(tmp_path, jobset("set", spec_of(affinity={"podAntiAffinity": anti})))
    ).workload.shapes[0]
    plain = read_objects(write(tmp_path, job("plain"))).workload.shapes[0]

    other = of_instance(shape, "set-7")

    assert "set-7" == other.labels[JOBSET_NAME]
    assert (Requirement(JOBSET_NAME, "In", ("set-7",)),) == other.required_anti[0].selector
    assert plain is of_instance(plain, "plain-7")


def test_claims_are_a_note(tmp_path: Path) -> None:
    """Once a claim, with the place that names it first."""
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "pvc"}},
        {"name": "tmp", "emptyDir": {}},
    ]

    reading = read_objects(
        write(tmp_path, job("a", pod=spec_of(volumes=volumes)), job("b", pod=spec_of(volumes=volumes)))
    )

    assert [
        ("BP030", Severity.NOTE, "claim pvc is taken to be bound and to be reachable from every node")
    ] == [(finding.code, finding.severity, finding.message) for finding in reading.findings]


def test_pods_that_fit_nowhere_are_a_warning_with_their_line(tmp_path: Path) -> None:
    """The line is where the object begins in the file."""
    files = write(tmp_path, node("n-0"), pod("fits"), pod("huge", spec=spec_of("64")))

    reading = read_objects(files)

    lines = Path(files[0]).read_text().splitlines()
    finding = reading.findings[0]
    assert ("BP025", Severity.WARNING) == (finding.code, finding.severity)
    assert "pods as those of Pod ml/huge fit on no node" == finding.message
    assert '"name": "huge"' in "".join(lines[finding.span.line - 1 : finding.span.line + 5])


def test_everything_wrong_is_said_at_once_with_its_line(tmp_path: Path) -> None:
    """JSON and YAML: objects of a wrong form, of features that are not modeled, twice, or with unknown names."""
    files = write(
        tmp_path,
        node("n-0"),
        node("n-0"),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        pod("b", spec=spec_of("one")),
        pod("c", spec=spec_of(hostNetwork=True)),
        pod("d", created="yesterday"),
        pod("e", spec=spec_of(priorityClassName="unknown")),
        job("f", own={"parallelism": 10**9}),
        pod("b"),
    )
    files += write(tmp_path, pod("y"), {"kind": "Pod", "spec": []}, {"x": 1}, name="more.yaml")

    found = complaints(tmp_path, files)

    text = [line.split(" ", 1)[1].replace(f"{tmp_path}/", "") for line in found]
    assert [
        "BP024 Node n-0 stands in cluster.json:5 already",
        "BP022 Pod a has no spec",
        "BP022 Pod ml/b is not in the form of its kind: one is no quantity",
    ] == [text[0], text[1], text[2].split(":")[0] + ": one is no quantity"]
    assert "BP027 Pod ml/c: the simulation does not model spec.hostNetwork" == text[3]
    assert text[4].startswith("BP022 Pod ml/d is not in the form of its kind: ")
    assert "BP029 Pod ml/e has priority class unknown, which is not among the objects" == text[5]
    assert (
        "BP022 Job ml/f is not in the form of its kind: 1,000,000,000 pods side by side, where a job may have 100,000"
        == text[6]
    )
    assert text[7].startswith("BP024 Pod ml/b stands in cluster.json:")
    assert [line.split(":")[0] for line in found] == ["cluster.json"] * 8 + ["more.yaml"] * 2
    lines = [int(line.split(":")[1].split(" ")[0]) for line in found[:8]]
    assert sorted(set(lines)) == lines
    assert "BP022 Pod without a name has no metadata" in text[8]
    assert "BP020 this is no Kubernetes object: it has no kind" == text[9]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "x:1 BP020 the file has no objects"),
        ("{", "x:1 BP020 the text is no JSON: Expecting property name enclosed in double quotes"),
        (
            '{"kind": "List",\n "items": [{]}',
            "x:2 BP020 the text is no JSON: Expecting property name enclosed in double quotes",
        ),
        ("a: [", "x:2 BP020 the text is no YAML"),
        ("[1, 2]", "x:1 BP020 this is no Kubernetes object: it has no kind"),
        ("just text", "x:1 BP020 this is no Kubernetes object: it has no kind"),
        ('{"kind": "List", "items": []}', "x:1 BP020 the file has no objects"),
        (
            '{"kind": "ConfigMap", "metadata": {"name": "x"}}',
            "x:1 BP028 there is no pod and no job among the objects",
        ),
        ("[" * 100_000, "x:1 BP020 the text"),
    ],
)
def test_files_that_are_no_objects(tmp_path: Path, text: str, expected: str) -> None:
    """Empty, broken, of something else, or absurdly nested: findings, not exceptions."""
    (tmp_path / "x").write_text(text)

    found = complaints(tmp_path, [str(tmp_path / "x")])

    assert found[0].startswith(expected)


def test_missing_files_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Of several files all are told."""
    (tmp_path / "b").write_bytes(b"kind: Pod\n\xff\n")

    assert [
        "a:1 BP020 the file cannot be read: No such file or directory",
        "b:2 BP020 the file is no UTF-8 text",
    ] == complaints(tmp_path, [str(tmp_path / "a"), str(tmp_path / "b")])


def test_nodes_can_be_asked_for(tmp_path: Path) -> None:
    """A cluster without nodes is wrong only for those who need one."""
    files = write(tmp_path, pod("a"))

    assert [
        "cluster.json:1 BP026 there is no node among the objects, so nothing can be placed"
    ] == complaints(tmp_path, files, needs_nodes=True)
    assert 1 == len(read_objects(files).workload.submissions)


def test_standard_input_and_lists_of_a_kind(tmp_path: Path) -> None:
    """`kubectl get pods -o json | …`; the entries of a PodList need not say what they are."""
    one = pod("a")
    del one["kind"]
    body = {"apiVersion": "v1", "kind": "PodList", "items": [one]}

    reading = read_objects(["-"], stdin=json.dumps(body).encode())

    assert ["ml/a"] == [submission.name for submission in reading.workload.submissions]


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    """Times without quotes are times in YAML."""
    objects = (node("n-0"), pod("a"), pod("b", "2026-01-01T00:00:30Z"), job("c"))
    from_json = read_objects(write(tmp_path, *objects)).workload
    text = yaml.safe_dump_all(objects).replace("'2026-01-01T00:00:30Z'", "2026-01-01T00:00:30Z")
    (tmp_path / "x.yaml").write_text(text)

    from_yaml = read_objects([str(tmp_path / "x.yaml")]).workload

    assert from_json[1:] == from_yaml[1:]


def test_amounts_below_zero_are_said(tmp_path: Path) -> None:
    """Of pods and of nodes; a negative request would make room."""
    small = node("n-0")
    small["status"]["allocatable"]["cpu"] = "-4"
    files = write(tmp_path, small, pod("a", spec=spec_of("-1")))

    found = [line.partition("BP022 ")[2] for line in complaints(tmp_path, files)]

    assert [
        "Node n-0 is not in the form of its kind: cpu -4000: an amount is not negative",
        "Pod ml/a is not in the form of its kind: cpu -1000: an amount is not negative",
    ] == found
