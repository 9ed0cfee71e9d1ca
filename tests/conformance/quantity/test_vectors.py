"""The quantity vectors are what apimachinery answers: asked again where a Go toolchain is at hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go toolchain")
def test_apimachinery_still_answers_the_same(tmp_path: Path) -> None:
    """Asking the pinned apimachinery about every text again gives vectors.json, byte for byte."""
    program = tmp_path / "quantityvectors"
    built = subprocess.run(
        ["go", "build", "-mod=readonly", "-o", str(program), "."], cwd=HERE, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    vectors = (HERE / "vectors.json").read_bytes()
    answers = subprocess.run([str(program)], input=vectors, capture_output=True, check=True).stdout
    assert vectors == answers
