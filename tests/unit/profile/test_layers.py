"""Layers of a fleet: how they merge and where each value came from."""

from __future__ import annotations

from pathlib import Path

from binpackgen.profile.layers import read_layers


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)


def test_lists_of_named_things_merge_by_name(tmp_path: Path) -> None:
    """A site changes one pool of the base and adds another; the rest stays, in order."""
    write(
        tmp_path,
        base="spec:\n  nodePools:\n    - {name: a, cpu: 8, memory: 1Gi}\n    - {name: b, cpu: 4, memory: 2Gi}\n",
        site="extends: [base.yaml]\nspec:\n  nodePools:\n    - {name: b, cpu: 6}\n    - {name: c, cpu: 2, memory: 1Gi}\n",
    )

    node, findings, files = read_layers(str(tmp_path / "site.yaml"))

    assert [] == findings
    assert node is not None
    assert [
        {"name": "a", "cpu": 8, "memory": "1Gi"},
        {"name": "b", "cpu": 6, "memory": "2Gi"},
        {"name": "c", "cpu": 2, "memory": "1Gi"},
    ] == node.plain()["spec"]["nodePools"]
    assert [str(tmp_path / "base.yaml"), str(tmp_path / "site.yaml")] == files


def test_each_value_knows_the_layer_that_set_it(tmp_path: Path) -> None:
    """After the merge a value's place is in the file that wrote it."""
    write(
        tmp_path,
        base="spec:\n  nodePools:\n    - {name: b, cpu: 4, memory: 2Gi}\n",
        site="extends: [base.yaml]\nspec:\n  nodePools:\n    - {name: b, cpu: 6}\n",
    )

    node, _, _ = read_layers(str(tmp_path / "site.yaml"))

    assert node is not None
    cpu = node.locate(("spec", "nodePools", 0, "cpu"))
    memory = node.locate(("spec", "nodePools", 0, "memory"))
    assert (str(tmp_path / "site.yaml"), 4) == (cpu.file, cpu.line)
    assert (str(tmp_path / "base.yaml"), 3) == (memory.file, memory.line)


def test_null_removes_a_key(tmp_path: Path) -> None:
    """An upper layer can take back what a lower one set."""
    write(
        tmp_path,
        base="spec: {caps: {headroom: {cpu: 2}}, packing: {pluginWeight: 5}}\n",
        site="extends: [base.yaml]\nspec: {caps: null}\n",
    )

    node, _, _ = read_layers(str(tmp_path / "site.yaml"))

    assert node is not None
    assert {"packing": {"pluginWeight": 5}} == node.plain()["spec"]


def test_other_lists_are_replaced(tmp_path: Path) -> None:
    """A list without names has no parts that could merge."""
    write(tmp_path, base="a: [u, v]\n", site="extends: [base.yaml]\na: [w]\n")

    node, _, _ = read_layers(str(tmp_path / "site.yaml"))

    assert node is not None
    assert ["w"] == node.plain()["a"]


def test_a_circle_is_a_finding_at_the_line_that_closes_it(tmp_path: Path) -> None:
    """Two files that extend each other end in a message."""
    write(tmp_path, one="extends: [two.yaml]\n", two="extends: [one.yaml]\n")

    _, findings, _ = read_layers(str(tmp_path / "one.yaml"))

    assert [("BP010", str(tmp_path / "two.yaml"), 1)] == [
        (f.code, f.span.file, f.span.line) for f in findings
    ]


def test_a_missing_layer_is_named_where_it_is_asked_for(tmp_path: Path) -> None:
    """The finding stands at the name in `extends`, not at the missing file."""
    write(tmp_path, site="extends: [none.yaml]\n")

    _, findings, _ = read_layers(str(tmp_path / "site.yaml"))

    assert [("BP010", str(tmp_path / "site.yaml"), 1, 11)] == [
        (f.code, f.span.file, f.span.line, f.span.column) for f in findings
    ]


def test_findings_of_all_layers_come_together(tmp_path: Path) -> None:
    """A trap in the base and one in the site are shown at once."""
    write(tmp_path, base="a: NO\n", site="extends: [base.yaml]\nb: 08\n")

    _, findings, _ = read_layers(str(tmp_path / "site.yaml"))

    assert {"base.yaml", "site.yaml"} == {Path(f.span.file).name for f in findings}


def test_a_name_that_one_layer_states_twice_stays_twice(tmp_path: Path) -> None:
    """Merging by name must not hide a duplicate, in the lower layer or in the upper one, from the rules."""
    write(
        tmp_path,
        base="spec: {nodePools: [{name: a, cpu: 1}, {name: a, cpu: 2}]}\n",
        site="extends: [base.yaml]\nspec: {nodePools: [{name: a, pods: 5}, {name: b, cpu: 3}, {name: b, cpu: 4}]}\n",
    )

    node, findings, _ = read_layers(str(tmp_path / "site.yaml"))

    assert [] == findings
    assert node is not None
    assert [
        {"name": "a", "cpu": 1, "pods": 5},
        {"name": "a", "cpu": 2},
        {"name": "b", "cpu": 3},
        {"name": "b", "cpu": 4},
    ] == node.plain()["spec"]["nodePools"]
