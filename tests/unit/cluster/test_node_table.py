"""Nodes and pods from tables in CSV."""

from __future__ import annotations

import gzip

import pytest
from cluster_nodes import GI
from hypothesis import given
from hypothesis import strategies as st

from binpackgen.cluster.model import ClusterNode, NodeList
from binpackgen.cluster.read import decode, read_nodes
from binpackgen.cluster.shapes import read_shapes
from binpackgen.errors import FindingsError
from binpackgen.profile.models import Gpu

TABLE = """\
name,cpu,memory,gpu,gpu_type
gpu-1,64,256Gi,8,NVIDIA-A100-SXM4-80GB
cpu-1,31500m,128Gi,0,
"""
OPENB = """\
sn,cpu_milli,memory_mib,gpu,model
openb-node-0000,32000,262144,0,
openb-node-0001,96000,786432,8,V100M32
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
a,12000,16384,1,1000,
b,12000,16384,1,1000,V100M16|V100M32
c,6000,12288,1,1000,
d,6000,12288,1,460,
e,88000,327680,8,1000,
f,64200,263168,8,1000,
g,8000,30517,0,0,
h,8500,0,0,0,
"""


def read(text: str) -> NodeList:
    return read_nodes(text.encode(), "nodes.csv")


def findings(text: str) -> list[tuple[str, str, str]]:
    with pytest.raises(FindingsError) as caught:
        read(text)
    return [(finding.code, str(finding.span), finding.message) for finding in caught.value.findings]


def table_node(name: str, cpu: int, memory: int, gpu: Gpu | None) -> ClusterNode:
    return ClusterNode(name, cpu, memory, cpu, memory, gpu)


def test_a_table_of_quantities_is_read() -> None:
    """cpu and memory are what a node offers; the type gets its short name."""
    expected = NodeList(
        (
            table_node("gpu-1", 64_000, 256 * GI, Gpu(type="a100-sxm4-80gb", count=8)),
            table_node("cpu-1", 31_500, 128 * GI, None),
        ),
        found=2,
    )

    assert expected == read(TABLE)


def test_the_form_of_the_public_trace_is_read() -> None:
    """Numbers without units: thousandths of a core and MiB."""
    expected = NodeList(
        (
            table_node("openb-node-0000", 32_000, 256 * GI, None),
            table_node("openb-node-0001", 96_000, 768 * GI, Gpu(type="v100m32", count=8)),
        ),
        found=2,
    )

    assert expected == read(OPENB)


def test_gpu_columns_may_be_missing() -> None:
    """A CPU cluster has three columns."""
    expected = NodeList((table_node("a", 4000, 16 * GI, None),), found=1)

    assert expected == read("name,cpu,memory\na,4,16Gi\n")


def test_spreadsheets_are_read() -> None:
    """Byte order mark, CRLF, blank lines, quotes, spaces, capital headers and other columns in any order."""
    text = '\ufeffMemory, CPU ,"name",Rack\r\n\r\n16Gi, 4 ,"a",r1\r\n\r\n'
    expected = NodeList(
        (table_node("a", 4000, 16 * GI, None),),
        found=1,
        notes=("columns that say nothing about a pool: rack",),
    )

    assert expected == read(text)


def test_compressed_tables_are_read() -> None:
    """A gzip file is its content."""
    assert read(TABLE) == read_nodes(gzip.compress(TABLE.encode()), "nodes.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "name,cpu\na,4\n",
            [("BP007", "nodes.csv:1:1", 'the header has no column "memory"')],
            id="no column",
        ),
        pytest.param(
            "sn,cpu_milli,gpu\na,4,1\n",
            [("BP007", "nodes.csv:1:1", 'the header has no column "memory_mib", "model"')],
            id="no columns of the trace",
        ),
        pytest.param(
            "name,cpu,memory,cpu\na,4,1Gi,4\n",
            [("BP003", "nodes.csv:1:1", 'the header has column "cpu" twice')],
            id="column twice",
        ),
        pytest.param(
            "name,cpu,memory\na,4\n",
            [("BP001", "nodes.csv:2:1", "this row has 2 cells and the header 3")],
            id="short row",
        ),
        pytest.param(
            "name,cpu,memory\na,four,16Gi\nb,4,16GB\n",
            [
                (
                    "BP009",
                    "nodes.csv:2:3",
                    'cpu: "four" is no quantity: it has no number, such as 6Gi or 500m have',
                ),
                ("BP009", "nodes.csv:3:5", 'memory: "16GB" is no quantity: did you mean 16Gi or 16G?'),
            ],
            id="no quantities",
        ),
        pytest.param(
            "name,cpu,memory\na,-4,16Gi\nb,4,16\nc,,16Gi\n",
            [
                ("BP009", "nodes.csv:2:3", "cpu is -4, less than nothing"),
                ("BP009", "nodes.csv:3:5", 'memory of node "b" is 16; no pod fits there'),
                (
                    "BP009",
                    "nodes.csv:4:3",
                    "cpu: an empty text is no quantity: a number is wanted, such as 6Gi or 500m",
                ),
            ],
            id="amounts that no node has",
        ),
        pytest.param(
            "sn,cpu_milli,memory_mib,gpu,model\na,4.5,1024,1.5,T4\n",
            [
                (
                    "BP009",
                    "nodes.csv:2:3",
                    'cpu_milli is "4.5", and a whole number from 0 to 100000000 is wanted',
                ),
            ],
            id="no whole number",
        ),
        pytest.param(
            "name,cpu,memory,gpu,gpu_type\na,4,16Gi,2,\nb,4,16Gi,0,t4\nc,4,16Gi,many,t4\nd,4,16Gi,129,t4\n",
            [
                ("BP009", "nodes.csv:2:12", "gpu is 2 and gpu_type is empty; jobs choose nodes by GPU type"),
                ("BP009", "nodes.csv:3:12", 'gpu_type is "t4" on a node without GPUs'),
                ("BP009", "nodes.csv:4:10", 'gpu is "many", and a whole number from 0 to 128 is wanted'),
                ("BP009", "nodes.csv:5:10", 'gpu is "129", and a whole number from 0 to 128 is wanted'),
            ],
            id="GPUs that contradict themselves",
        ),
        pytest.param(
            "name,cpu,memory,gpu\na,4,16Gi,2\n",
            [("BP009", "nodes.csv:2:10", "gpu is 2 and gpu_type is empty; jobs choose nodes by GPU type")],
            id="GPUs without a column for their type",
        ),
        pytest.param(
            "name,cpu,memory\na,4,16Gi\n,4,16Gi\na,4,16Gi\n",
            [
                ("BP009", "nodes.csv:3:1", "name is empty"),
                ("BP003", "nodes.csv:4:1", 'node "a" is already in line 2'),
            ],
            id="names",
        ),
        pytest.param(
            'name,cpu,memory\n"a,4,16Gi\n',
            [("BP002", "nodes.csv:2:1", "is no CSV: unexpected end of data")],
            id="open quote",
        ),
    ],
)
def test_every_bad_cell_is_found_where_it_stands(text: str, expected: list[tuple[str, str, str]]) -> None:
    """All findings come at once, with line and column."""
    assert expected == findings(text)


@given(st.text(alphabet='abn,cpu\nmemory"0123 \r;é\x00', max_size=60))
def test_no_text_gets_past_as_another_error(text: str) -> None:
    """Whatever follows a header is read or refused with findings."""
    try:
        read_list = read("name,cpu,memory,gpu,gpu_type\n" + text)
    except FindingsError:
        return

    assert read_list.found == len(read_list.nodes)


def test_the_most_frequent_shape_per_number_of_gpus_becomes_a_job() -> None:
    """Of equally frequent shapes the larger one; fractions of a GPU and empty pods are left out and counted."""
    shapes = read_shapes(PODS, "pods.csv")

    def job(name: str, template: str, each: dict[str, object]) -> dict[str, object]:
        return {
            "name": name,
            "template": template,
            "each": each,
            "image": f"registry.example.com/team/{name}:1.0",
        }

    assert shapes.jobs == (
        job("cpu-only", "etl", {"cpu": 8, "memory": "30517Mi"}),
        job("gpu1", "single-gpu", {"cpu": 12, "memory": "16Gi", "gpu": {"count": 1}}),
        job("gpu8", "single-gpu", {"cpu": 88, "memory": "320Gi", "gpu": {"count": 8}}),
    )
    assert shapes.notes == (
        "job cpu-only: 1 of 1 pods without GPUs have its shape, 0 other shapes are left out",
        "job gpu1: 2 of 3 pods with 1 GPU have its shape, 1 other shape is left out",
        "job gpu8: 1 of 2 pods with 8 GPUs have its shape, 1 other shape is left out",
        "1 of 8 pods asks for a part of a GPU and is left out; devices are requested whole",
        "1 of 8 pods names GPU models; the jobs take any type",
        "1 of 8 pods asks for no cpu or no memory and is left out",
    )


def test_a_table_of_pods_has_its_columns() -> None:
    """A table of nodes is no table of pods."""
    with pytest.raises(FindingsError) as caught:
        read_shapes(TABLE, "pods.csv")

    assert ['the header has no column "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"'] == [
        finding.message for finding in caught.value.findings
    ]


def test_bad_cells_of_pods_are_found() -> None:
    """As in a table of nodes."""
    with pytest.raises(FindingsError) as caught:
        read_shapes("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1k,1,1,2000\n", "pods.csv")

    assert ["pods.csv:2:3", "pods.csv:2:10"] == [str(finding.span) for finding in caught.value.findings]


def test_text_is_decoded_once() -> None:
    """Compressed or not, with or without a byte order mark."""
    assert ["é"] * 3 == [
        decode(raw, "f") for raw in ("é".encode(), "\ufeffé".encode(), gzip.compress("é".encode()))
    ]
