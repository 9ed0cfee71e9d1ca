"""A run as JSON. Fields are only added within one `apiVersion`."""

from __future__ import annotations

import json
from typing import Any

from binpackgen.report.packing_map import PackingMap

from ..outcome import Measure, Outcome, Run
from .figures import finite

API_VERSION = "binpackgen.dev/e2e/v1"


def json_text(run: Run) -> str:
    """The whole run. Values are numbers in the unit that stands beside them, null where there is none."""
    body = {
        "apiVersion": API_VERSION,
        "profile": run.profile,
        "backend": run.backend,
        "kubernetes": run.kubernetes,
        "passed": bool(run.outcomes) and run.passed,
        "seconds": run.seconds,
        "logs": run.logs or None,
        "scenarios": [_outcome(outcome) for outcome in run.outcomes],
    }
    return json.dumps(body, indent=2, allow_nan=False) + "\n"


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "scenario": outcome.scenario,
        "title": outcome.title,
        "passed": outcome.passed,
        "holds": outcome.holds,
        "seconds": outcome.seconds,
        "error": outcome.error or None,
        "measures": [_measure(measure) for measure in outcome.measures],
        "control": {
            "name": outcome.control_name,
            "fails": outcome.control_fails,
            "measures": [_measure(measure) for measure in outcome.control],
        }
        if outcome.control_name
        else None,
        "evidence": list(outcome.evidence),
        "maps": [_map(cluster) for cluster in outcome.maps],
    }


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "value": finite(measure.value),
        "unit": measure.unit,
        "bar": measure.bar or None,
        "holds": measure.holds,
    }


def _map(cluster: PackingMap) -> dict[str, Any]:
    return {
        "title": cluster.title,
        "nodes": [
            {
                "name": node.name,
                "pool": node.pool,
                "slots": list(node.slots),
                "cpu": node.cpu,
                "memory": node.memory,
            }
            for node in cluster.nodes
        ],
    }
