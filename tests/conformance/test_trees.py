"""The committed trees: fresh, read back by kubectl as what was meant, and explained down to every field."""

from __future__ import annotations

import json
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from binpackgen.compilation import Compilation, compile_profile
from binpackgen.document import Document
from binpackgen.emit.folder import compare
from binpackgen.emit.tree import Tree, render
from binpackgen_e2e.binaries import kubectl
from tests.conformance.tiers import ask

ROOT = Path(__file__).resolve().parents[2]
PROFILES = sorted(path.stem for path in (ROOT / "profiles").glob("*.yaml"))


@lru_cache
def compiled(name: str) -> Compilation:
    return compile_profile(str(ROOT / "profiles" / f"{name}.yaml"))


@lru_cache
def tree(name: str) -> Tree:
    return render(compiled(name).plan, compiled(name).outputs)


@pytest.mark.parametrize("name", PROFILES)
def test_a_committed_tree_is_what_its_profile_compiles_to(name: str) -> None:
    """out/ is never older than profiles/, and nothing in it was edited by hand."""
    assert [] == compare(tree(name), ROOT / "out" / compiled(name).plan.name)


def test_every_committed_tree_has_a_profile() -> None:
    """A tree whose profile is gone would be applied for ever."""
    assert {compiled(name).plan.name for name in PROFILES} == {path.name for path in (ROOT / "out").iterdir()}


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    """The negative control of freshness: one edited file is named."""
    from binpackgen.emit.folder import write_tree

    write_tree(tree("minimal"), tmp_path / "minimal")
    edited = tmp_path / "minimal" / "device-plugin" / "values.yaml"
    edited.write_text(edited.read_text() + "x: 1\n")

    assert ["device-plugin/values.yaml"] == [d.path for d in compare(tree("minimal"), tmp_path / "minimal")]


@pytest.mark.parametrize("name", PROFILES)
def test_kubectl_builds_the_kustomization_to_the_same_objects(name: str) -> None:
    """Real kubectl reads every object as it was meant, in the order in which it is applied."""
    binary = ask(kubectl)
    folder = ROOT / "out" / compiled(name).plan.name

    built = subprocess.run(
        [binary, "kustomize", folder], capture_output=True, text=True, check=True, timeout=60
    ).stdout

    meant = [
        document.body
        for path in tree(name).applied
        for document in tree(name).sources[path]
        if isinstance(document, Document)
    ]
    assert meant == list(yaml.safe_load_all(built))


@pytest.mark.parametrize("name", PROFILES)
def test_kubectl_reads_job_manifests_as_they_were_meant(name: str, tmp_path: Path) -> None:
    """What a person submits by hand is read by real kubectl too."""
    binary = ask(kubectl)
    paths = sorted(path for path in tree(name).sources if path.startswith("jobs/"))
    for path in paths:
        (tmp_path / Path(path).name).write_bytes(tree(name).files[path])
    listing = {"resources": [Path(path).name for path in paths], "sortOptions": {"order": "fifo"}}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(listing))

    built = subprocess.run(
        [binary, "kustomize", tmp_path], capture_output=True, text=True, check=True, timeout=60
    ).stdout

    meant = [
        source.body for path in paths for source in tree(name).sources[path] if isinstance(source, Document)
    ]
    assert meant == list(yaml.safe_load_all(built))


@pytest.mark.parametrize("name", PROFILES)
def test_every_file_reads_back_as_its_documents(name: str) -> None:
    """Component files and manifests to submit are read back too, not only what is synced."""
    for path, sources in tree(name).sources.items():
        bodies = [source.body for source in sources if isinstance(source, Document)]
        if bodies:
            text = (ROOT / "out" / compiled(name).plan.name / path).read_text()
            assert bodies == list(yaml.safe_load_all(text)), path


@pytest.mark.parametrize("name", PROFILES)
def test_every_field_has_a_reason_from_a_line_of_the_profile(name: str) -> None:
    """Each leaf of each object is explained, and what its reason names exists in the profile or has a default."""
    plan = compiled(name).plan
    for output in compiled(name).outputs:
        if not isinstance(output, Document):
            continue
        for path in _leaves(output.body):
            because = output.because(path)
            assert because.reason, (output.path, path)
            for origin in because.paths:
                node, reached = plan.loaded.root.nearest(origin)
                assert reached, (output.path, path, origin)
                assert node is not None


def _leaves(body: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(body, dict):
        return [leaf for key, below in body.items() for leaf in _leaves(below, (*path, key))]
    if isinstance(body, list):
        return [leaf for index, below in enumerate(body) for leaf in _leaves(below, (*path, index))]
    return [path]
