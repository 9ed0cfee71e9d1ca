"""`binpackgen e2e --backend kind`: real kubelets run the jobs' containers, and packing decides where.

BINPACKGEN_KIND_NODE_IMAGE names a node image where the published one can't be pulled, BINPACKGEN_KIND_PATCH a
file with what this host needs in kind's configuration. Without the first the test runs only where it must.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .test_scenarios import e2e

IMAGE, PATCH = "BINPACKGEN_KIND_NODE_IMAGE", "BINPACKGEN_KIND_PATCH"


@pytest.mark.timeout(900)
def test_containers_fill_one_node_and_leave_the_other(tmp_path: Path) -> None:
    """With the devices of a real device plugin; the default profile of the same scheduler uses both nodes."""
    if IMAGE not in os.environ:
        if os.environ.get("BINPACKGEN_REQUIRE_TIERS") == "all":
            pytest.fail(f"{IMAGE} is not set: no kind cluster was tried")
        pytest.skip(f"{IMAGE} is not set; any kind node image will do")
    arguments = ["--backend", "kind", "--node-image", os.environ[IMAGE]]
    if PATCH in os.environ:
        arguments += ["--kind-patch", os.environ[PATCH]]
    report = e2e(tmp_path, "profiles/article.yaml", *arguments)
    [scenario] = report["scenarios"]
    assert scenario["scenario"] == "containers"
    assert scenario["passed"]
    left = subprocess.run(["docker", "ps", "--all", "--quiet"], capture_output=True, text=True, check=True)
    assert left.stdout == "", "the cluster's containers are gone"
