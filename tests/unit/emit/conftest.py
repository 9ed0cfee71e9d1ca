"""A plan of a small profile, and trees made from short texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from binpackgen.document import Because, Output, TextFile
from binpackgen.emit.tree import Tree, render
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import load_profile

PROFILE = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: lab}
spec:
  kubernetes: {version: "1.37", controlPlane: kubeadm}
  nodePools:
    - {name: a100, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}}
"""


@pytest.fixture(scope="session")
def profile_text() -> str:
    """A small profile named lab."""
    return PROFILE


@pytest.fixture(scope="session")
def plan_of() -> Callable[[str], Plan]:
    """The plan of a profile's text."""
    return lambda text: compile_plan(load_profile("-", text.encode()))


@pytest.fixture(scope="session")
def plan(plan_of: Callable[[str], Plan]) -> Plan:
    """The plan of a profile named lab."""
    return plan_of(PROFILE)


@pytest.fixture(scope="session")
def tree_of(plan: Plan) -> Callable[[dict[str, str]], Tree]:
    """The tree with the given texts by path."""

    def tree_of(texts: dict[str, str]) -> Tree:
        outputs: list[Output] = [
            TextFile(path, text, Because("a test says so")) for path, text in texts.items()
        ]
        return render(plan, outputs)

    return tree_of
