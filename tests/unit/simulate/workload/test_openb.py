"""Lists of pods and nodes as CSV: what they become, and what is said about wrong ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from binpackgen.errors import FindingsError
from binpackgen.finding import Severity
from binpackgen.simulate.matching import Requirement
from binpackgen.simulate.model import HOSTNAME, Node
from binpackgen.simulate.workload.model import Submission
from binpackgen.simulate.workload.openb import GPU, MIB, MODEL, Fractions, read_openb
from tests.conformance.tiers import trace

SOURCE = "github.com/hkust-adsl/kubernetes-scheduler-simulator, data/csv"

HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
PODS = f"""{HEADER}
a,4000,1024,1,1000,,LS,Running,100,250,150
b,2000,512,0,0,,BE,Running,90,190,
c,4000,1024,1,460,,LS,Running,120,220,120
d,8000,2048,2,1000,T4|P100,LS,Running,130,230,130
e,4000,1024,1,1000,,LS,Running,140,240,140
"""
NODES = """sn,cpu_milli,memory_mib,gpu,model
n-0,64000,262144,2,P100
n-1,96000,786432,0,
"""


def write(folder: Path, pods: str | bytes = PODS, nodes: str | None = NODES) -> tuple[str, str | None]:
    """Both lists as files."""
    path = folder / "pods.csv"
    path.write_bytes(pods if isinstance(pods, bytes) else pods.encode())
    if nodes is None:
        return str(path), None
    (folder / "nodes.csv").write_text(nodes)
    return str(path), str(folder / "nodes.csv")


def said(error: FindingsError, folder: Path) -> list[str]:
    """Findings as FILE:LINE CODE message."""
    return [
        f"{finding.span.file.removeprefix(f'{folder}/')}:{finding.span.line} {finding.code} {finding.message}"
        for finding in error.findings
    ]


def complaints(folder: Path, pods: str | bytes = PODS, nodes: str | None = NODES) -> list[str]:
    with pytest.raises(FindingsError) as caught:
        read_openb(*write(folder, pods, nodes))
    return said(caught.value, folder)


def test_pods_become_submissions(tmp_path: Path) -> None:
    """Arrivals count from the first creation of a pod in the view; a pod runs from its scheduling to its deletion."""
    reading = read_openb(*write(tmp_path))

    expected = (
        Submission("b", "CPU", (1,), 0.0, 100.0),
        Submission("a", "1 GPU", (0,), 10.0, 100.0),
        Submission("d", "2 GPUs", (2,), 40.0, 100.0),
        Submission("e", "1 GPU", (0,), 50.0, 100.0),
    )
    assert expected == reading.workload.submissions
    assert () == reading.findings
    assert "pods.csv, CPU and whole-GPU pods" == reading.workload.source


def test_shapes_have_requests_and_models(tmp_path: Path) -> None:
    """Cores in millicores, memory in bytes, whole devices; a model is a required node label."""
    shapes = read_openb(*write(tmp_path)).workload.shapes

    assert {"cpu": 4000, "memory": 1024 * MIB, GPU: 1} == shapes[0].requests
    assert {"cpu": 4000, "memory": 1024 * MIB} == shapes[0].scoring_requests
    assert {"cpu": 2000, "memory": 512 * MIB} == shapes[1].requests
    assert ((Requirement(MODEL, "In", ("P100", "T4")),),) == shapes[2].required_nodes
    assert shapes[0].required_nodes is None


def test_nodes_have_their_model_as_a_label(tmp_path: Path) -> None:
    """A node without devices has neither the resource nor the label."""
    expected = (
        Node(
            "n-0",
            {"cpu": 64000, "memory": 262144 * MIB, "pods": 250, GPU: 2},
            {HOSTNAME: "n-0", MODEL: "P100"},
        ),
        Node("n-1", {"cpu": 96000, "memory": 786432 * MIB, "pods": 250}, {HOSTNAME: "n-1"}),
    )

    assert expected == read_openb(*write(tmp_path)).workload.nodes


@pytest.mark.parametrize(("fractions", "names"), [("drop", "bade"), ("round-up", "bacde")])
def test_shares_of_a_device_are_left_out_or_rounded_up(
    tmp_path: Path, fractions: Fractions, names: str
) -> None:
    """A stock scheduler hands out whole devices; a rounded share is the shape of a whole one."""
    workload = read_openb(*write(tmp_path), fractions=fractions).workload

    assert list(names) == [submission.name for submission in workload.submissions]
    assert 3 == len(workload.shapes)


def test_a_list_without_times_arrives_at_once_and_stays(tmp_path: Path) -> None:
    """As the multigpu lists are."""
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1024,1,1000\nb,1000,1024,0,0\n"

    workload = read_openb(*write(tmp_path, pods)).workload

    assert [(0.0, None), (0.0, None)] == [(one.arrives, one.runs) for one in workload.submissions]


def test_columns_may_stand_in_any_order(tmp_path: Path) -> None:
    """They are found by name; a byte order mark is no part of one."""
    pods = "\ufeffgpu_milli,num_gpu,other,memory_mib,cpu_milli,name\n1000,1,x,1024,1000,a\n"

    assert "a" == read_openb(*write(tmp_path, pods)).workload.submissions[0].name


@pytest.mark.parametrize("name", ["pods.csv.gz", "-"])
def test_gzip_is_known_by_its_bytes(tmp_path: Path, name: str) -> None:
    """From a file or standard input, whatever the name."""
    data = gzip.compress(PODS.encode())
    (tmp_path / "pods.csv.gz").write_bytes(data)

    reading = read_openb("-" if name == "-" else str(tmp_path / name), stdin=data)

    assert 4 == len(reading.workload.submissions)
    assert () == reading.workload.nodes


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    """Both lists, with lines; nothing is read past in silence."""
    pods = f"""{HEADER}
a,4000,1024,1,1000,,LS,Running,100,250,150
a,4000,1024,1,1000,,LS,Running,100,250,150
b,-1,nan,1e3,1000,,LS,Running,100,250,150
c,1000,99999999999,1,1000,,LS,Running,100,250,150
d,1000,1024,2,500,,LS,Running,100,250,150
e,1000,1024,1,1000,V100,LS,Running,100,250,150
f,1000,1024
g,1000,1024,1,1000,,LS,Running,300,250,
h,1000,1024,1,1000,,LS,Running,x,250,
i,1000,1024,1,0,,LS,Running,100,250,
j,,1024,1,1000,,LS,Running,100,inf,
"""
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,P100\nn-0,64000,x,2,P100\n"

    assert [
        'nodes.csv:3 BP022 memory_mib is "x", which is no number',
        'nodes.csv:3 BP024 node "n-0" stands in line 2 already',
        'pods.csv:3 BP024 pod "a" stands in line 2 already',
        "pods.csv:4 BP022 cpu_milli is -1, which is negative",
        'pods.csv:4 BP022 memory_mib is "nan", which is no number',
        "pods.csv:4 BP022 num_gpu is 1e3, which is not written as a whole number",
        "pods.csv:5 BP022 memory_mib is 99999999999, more than 1,073,741,824",
        "pods.csv:6 BP022 2 devices of 500 thousandths each: only a single device can be shared",
        "pods.csv:7 BP023 no node has a GPU of model V100; the nodes have P100",
        "pods.csv:8 BP022 3 fields where the header has 11",
        "pods.csv:9 BP022 created at 300, scheduled at 300, deleted at 250: out of order",
        'pods.csv:10 BP022 creation_time is "x", which is no number',
        "pods.csv:11 BP022 a device of which 0 thousandths are asked for",
        "pods.csv:12 BP022 cpu_milli is empty",
        'pods.csv:12 BP022 deletion_time is "inf", which is no number',
    ] == complaints(tmp_path, pods, nodes)


def test_the_same_wrong_shape_is_said_of_every_row_and_then_counted(tmp_path: Path) -> None:
    """Twenty are told one by one; the rest is one finding at the last line."""
    rows = "".join(f"p{n},-5,1024,1,1000,,LS,Running,1,2,1\n" for n in range(1000))

    found = complaints(tmp_path, f"{HEADER}\n{rows}")

    assert 21 == len(found)
    assert "pods.csv:2 BP022 cpu_milli is -5, which is negative" == found[0]
    assert (
        "pods.csv:1001 BP022 980 more of the same, the last one: cpu_milli is -5, which is negative"
        == found[-1]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name,cpu_milli,num_gpu,gpu_milli\n",
            "pods.csv:1 BP021 no column memory_mib; there are: name, cpu_milli, num_gpu, gpu_milli",
        ),
        (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time\n",
            "pods.csv:1 BP021 no column deletion_time, scheduled_time; there are: "
            "name, cpu_milli, memory_mib, num_gpu, gpu_milli, creation_time",
        ),
        (
            "name,name,cpu_milli,memory_mib,num_gpu,gpu_milli\n",
            'pods.csv:1 BP021 column "name" stands in the header twice',
        ),
        ("", "pods.csv:1 BP020 the file is empty"),
        (HEADER + "\n", "pods.csv:1 BP028 the list has no pods in this view (CPU and whole-GPU pods)"),
        (b"\xff\xfe", "pods.csv:1 BP020 the file is no UTF-8 text"),
        (f'{HEADER}\na,"x\n', "pods.csv:2 BP020 the text is no CSV: unexpected end of data"),
        (gzip.compress(PODS.encode() * 1000)[:-50], "pods.csv:"),
        (b"\x1f\x8bnonsense", "pods.csv:1 BP020 the file is cut short or damaged here"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str | bytes, message: str) -> None:
    """Missing columns, an empty file, no text, no CSV, gzip that is cut or damaged: findings, not exceptions."""
    found = complaints(tmp_path, text)

    assert found[-1].startswith(message)
    assert "BP02" in found[-1]


def test_a_truncated_gzip_file_never_looks_whole(tmp_path: Path) -> None:
    """The rows before the cut are no workload."""
    rows = "".join(f"p{n},1000,{n % 7}000,1,1000,,LS,Running,{n},{n + 5},{n}\n" for n in range(20_000))
    data = gzip.compress(f"{HEADER}\n{rows}".encode())

    found = complaints(tmp_path, data[: len(data) // 2])

    assert 1 == len(found)
    assert "BP020 the file is cut short or damaged here" in found[0]


def test_a_missing_file_is_a_finding(tmp_path: Path) -> None:
    """Of both lists at once."""
    with pytest.raises(FindingsError) as caught:
        read_openb(str(tmp_path / "p"), str(tmp_path / "n"))

    assert [
        "n:1 BP020 the file cannot be read: No such file or directory",
        "p:1 BP020 the file cannot be read: No such file or directory",
    ] == said(caught.value, tmp_path)


def test_a_list_without_nodes_is_a_finding(tmp_path: Path) -> None:
    """There is nowhere to place anything."""
    found = complaints(tmp_path, nodes="sn,cpu_milli,memory_mib,gpu,model\n")

    assert ["nodes.csv:1 BP026 the list has no nodes, so nothing can be placed"] == found


def test_pods_that_fit_nowhere_are_a_warning(tmp_path: Path) -> None:
    """They are part of the workload: a simulation turns them away. One warning a shape, with its count."""
    pods = f"{HEADER}\nok,1000,1,0,0,,,,1,2,1\n" + "".join(f"x{n},1000,1,8,1000,,,,1,2,1\n" for n in range(3))

    reading = read_openb(*write(tmp_path, pods))

    assert 4 == len(reading.workload.submissions)
    assert ["3 pods of 1 cores, 1 MiB, 8 GPUs fit on no node; this is the first"] == [
        finding.message for finding in reading.findings
    ]
    assert [(3, Severity.WARNING)] == [(finding.span.line, finding.severity) for finding in reading.findings]


def test_what_a_trace_says_cannot_steer_a_terminal(tmp_path: Path) -> None:
    """Findings are one printable line each."""
    found = complaints(tmp_path, f"{HEADER}\na,\x1b[31m,1024,1,1000,,LS,Running,100,250,150\n")

    assert ['pods.csv:2 BP022 cpu_milli is "\\x1b[31m", which is no number'] == found


def test_the_default_list_of_the_trace() -> None:
    """5,074 pods, 4,355 GPUs and 98 shapes in the whole-GPU view on 1,213 nodes of 15 sizes; 8,152 with shares."""
    folder = trace("openb", SOURCE)
    pods, nodes = str(folder / "openb_pod_list_default.csv.gz"), str(folder / "openb_node_list_gpu_node.csv")

    whole = read_openb(pods, nodes).workload
    rounded = read_openb(pods, nodes, fractions="round-up").workload

    gpus = [whole.shapes[one.shapes[0]].requests.get(GPU, 0) for one in whole.submissions]
    assert (5074, 4355, 98) == (len(gpus), sum(gpus), len(whole.shapes))
    assert 8152 == len(rounded.submissions)
    assert 7433 == sum(rounded.shapes[one.shapes[0]].requests.get(GPU, 0) for one in rounded.submissions)
    assert (1213, 6212) == (len(whole.nodes), sum(node.allocatable[GPU] for node in whole.nodes))
    assert 15 == len({tuple(sorted(node.allocatable.items())) for node in whole.nodes})


@pytest.mark.parametrize("name", ["cpu300", "gpushare100", "gpuspec33", "multigpu50"])
def test_every_kind_of_list_is_read(name: str) -> None:
    """Lists with models, without times, without whole devices."""
    folder = trace("openb", SOURCE)
    expected = {"cpu300": 10094, "gpushare100": 8152, "gpuspec33": 8152, "multigpu50": 9061}

    reading = read_openb(
        str(folder / f"openb_pod_list_{name}.csv.gz"),
        str(folder / "openb_node_list_all_node.csv"),
        fractions="round-up",
    )

    # one pod of the list with models fits on none of the nodes of its models
    told = ["a pod of 120 cores, 737280 MiB, 8 GPUs of G2 fits on no node"]
    assert expected[name] == len(reading.workload.submissions)
    assert (told if name == "gpuspec33" else []) == [finding.message for finding in reading.findings]
