"""Values in the text of a profile: everything else stays, and what cannot be set is said."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from binpackgen.errors import BinpackgenError
from binpackgen.study.patch import replace_text, unified, with_values

PACKING = ("spec", "packing")
BLOCK = """\
# about the cluster
spec:
  kubernetes: {version: "1.37"}  # newest
  packing:
    # dear to us
    strategy: MostAllocated  # as ever
    resourceWeights:
      cpu: 1
      memory: 1
  jobs: []
"""


def test_a_scalar_is_replaced_where_it_stands() -> None:
    """Comments and the rest of the line stay."""
    after = with_values(BLOCK, {(*PACKING, "strategy"): "RequestedToCapacityRatio"}, "p.yaml")

    assert BLOCK.replace("MostAllocated", "RequestedToCapacityRatio") == after


def test_a_block_mapping_is_replaced_by_one_in_a_line() -> None:
    """What follows it keeps its place."""
    after = with_values(BLOCK, {(*PACKING, "resourceWeights"): {"cpu": 2, "gpu": 13}}, "p.yaml")

    assert BLOCK.replace("cpu: 1\n      memory: 1", "{cpu: 2, gpu: 13}") == after
    assert yaml.safe_load(after)["spec"]["packing"]["resourceWeights"] == {"cpu": 2, "gpu": 13}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec:\n  jobs: []\n", "spec:\n  packing: {pluginWeight: 5}\n  jobs: []\n"),
        ("spec: {jobs: []}\n", "spec: {packing: {pluginWeight: 5}, jobs: []}\n"),
        ("spec:\n  packing: {}\n", "spec:\n  packing: {pluginWeight: 5}\n"),
        (
            "spec:\n    packing:\n        strategy: MostAllocated",
            "spec:\n    packing:\n        pluginWeight: 5\n        strategy: MostAllocated",
        ),
    ],
    ids=["block", "flow", "empty", "indented"],
)
def test_a_missing_key_is_added_in_the_style_of_its_mapping(text: str, expected: str) -> None:
    """Above the keys that are there."""
    assert expected == with_values(text, {(*PACKING, "pluginWeight"): 5}, "p.yaml")


def test_what_is_no_mapping_takes_no_key() -> None:
    """An error with the place, not a broken profile."""
    with pytest.raises(BinpackgenError, match=r"spec\.packing\.pluginWeight cannot be set"):
        with_values("spec:\n  packing: 3\n", {(*PACKING, "pluginWeight"): 5}, "p.yaml")


def test_the_patch_is_a_unified_diff() -> None:
    """With the names that `patch -p1` and `git apply` look for."""
    after = with_values(BLOCK, {(*PACKING, "strategy"): "RequestedToCapacityRatio"}, "p.yaml")

    lines = unified(BLOCK, after, "p.yaml").splitlines()

    assert ["--- a/p.yaml", "+++ b/p.yaml"] == lines[:2]
    assert [
        "-    strategy: MostAllocated  # as ever",
        "+    strategy: RequestedToCapacityRatio  # as ever",
    ] == [line for line in lines[3:] if line[0] in "+-"]
    assert unified(BLOCK, BLOCK, "p.yaml") == ""


def test_a_profile_is_replaced_whole(tmp_path: Path) -> None:
    """Behind a link, with its mode; where that fails the old one is there and nothing else."""
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text("old\r\n", newline="")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_text(link, "new\r\n")

    assert (b"new\r\n", 0o640, True) == (real.read_bytes(), real.stat().st_mode & 0o777, link.is_symlink())
    with pytest.raises(UnicodeEncodeError):
        replace_text(real, "\ud800")
    assert b"new\r\n" == real.read_bytes()
    assert {"real.yaml", "link.yaml"} == {path.name for path in tmp_path.iterdir()}
