"""The wheel that users install: it carries everything, and works without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from binpackgen_e2e.binaries import UnavailableError
from tests.conformance.tiers import ask

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path) -> Path:
    """The wheel of the checkout, unpacked."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UnavailableError("the wheel", done.stderr[-500:])
    [wheel] = folder.glob("*.whl")
    unpacked = folder / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    return unpacked


@pytest.mark.timeout(600)
def test_the_wheel_builds_what_the_checkout_builds(tmp_path: Path) -> None:
    """Templates, presets and the README of a tree are in the wheel; the same profile gives the same bytes."""
    unpacked = ask(lambda: build(tmp_path))
    work = tmp_path / "work"
    work.mkdir()

    def run(*arguments: str, package: Path) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "binpackgen", *arguments],
            cwd=work,
            env={**os.environ, "PYTHONPATH": str(package)},
            capture_output=True,
            check=True,
        )

    where = subprocess.run(
        [sys.executable, "-c", "import binpackgen; print(binpackgen.__file__)"],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert where.startswith(str(unpacked))
    profile = ROOT / "profiles" / "article.yaml"
    run("build", str(profile), "-d", "wheel", package=unpacked)
    run("build", str(profile), "-d", "checkout", package=ROOT)
    run("init", "--preset", "training", package=unpacked)
    written = {
        name: {
            path.relative_to(work / name): path.read_bytes()
            for path in (work / name).rglob("*")
            if path.is_file()
        }
        for name in ("wheel", "checkout")
    }
    assert written["checkout"] == written["wheel"]
    assert len(written["wheel"]) > 20
    for part in (
        "binpackgen_e2e/modules/kueue/go.sum",
        "binpackgen_e2e/device_plugin/plugin.go",
        "binpackgen_e2e/plugins/node-utilization-cap/cap.go",
        "binpackgen_e2e/report/page.html.j2",
    ):
        assert (unpacked / part).read_bytes(), "binpackgen e2e works from the wheel alone"
