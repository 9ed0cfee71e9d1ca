"""Plans for tests, from a fragment of a profile's spec."""

from __future__ import annotations

import re
import textwrap

from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import LoadedProfile, validate
from binpackgen.profile.reader import read_text

_DEFAULTS = {
    "kubernetes": '{version: "1.37"}',
    "nodePools": "[{name: cpu, count: 2, cpu: 8, memory: 32Gi}]",
}


def plan(spec_yaml: str = "", name: str = "lab") -> Plan:
    """The plan of a profile called `name` whose spec is `spec_yaml`.

    Version 1.37 and one CPU pool are added where the fragment states no `kubernetes` or `nodePools`.
    AssertionError says what is wrong with the fragment; rules are not asked.
    """
    fragment = textwrap.dedent(spec_yaml).strip("\n")
    missing = [
        f"{key}: {value}"
        for key, value in _DEFAULTS.items()
        if not re.search(rf"^{key}:", fragment, re.MULTILINE)
    ]
    text = f"apiVersion: binpackgen.dev/v1alpha1\nkind: ClusterProfile\nmetadata: {{name: {name}}}\nspec:\n"
    text += textwrap.indent("\n".join([*missing, fragment]), "  ") + "\n"
    file = f"{name}.profile.yaml"
    root, findings = read_text(text, file)
    assert root is not None, _listed(findings, text)
    profile, findings = validate(root)
    assert profile is not None, _listed(findings, text)
    return compile_plan(LoadedProfile(profile, root, (file,)))


def _listed(findings: list[object], text: str) -> str:
    return "\n".join([*(str(finding) for finding in findings), text])
