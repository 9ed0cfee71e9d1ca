"""Findings as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterable
from typing import Any

from .. import __version__
from ..finding import Finding, in_order
from ..profile.codes import INPUT_CODES
from ..rules.catalogue import RULES
from ..source import Span

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_text(findings: Iterable[Finding]) -> str:
    """One run with every rule that binpackgen has, and a result per finding."""
    rules = [*map(_input_rule, INPUT_CODES), *map(_rule, RULES)]
    rules.sort(key=lambda rule: str(rule["id"]))
    index = {str(rule["id"]): position for position, rule in enumerate(rules)}
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "binpackgen", "version": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, index) for finding in in_order(findings)],
            }
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _input_rule(code: Any) -> dict[str, Any]:
    return {
        "id": code.code,
        "name": code.name,
        "shortDescription": {"text": code.name.replace("-", " ")},
        "help": {"text": code.doc},
        "defaultConfiguration": {"level": "error"},
    }


def _rule(rule: Any) -> dict[str, Any]:
    doc = inspect.cleandoc(rule.__doc__ or "")
    return {
        "id": rule.code,
        "name": rule.name(),
        "shortDescription": {"text": rule.name().replace("-", " ")},
        "help": {"text": doc, "markdown": doc},
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {"ruleId": finding.code}
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    fix = f" Fix: {finding.fix.title}" if finding.fix else ""
    result |= {
        "level": finding.severity.value,
        "message": {"text": f"{finding.message}.{fix}"},
        "locations": [_location(finding.span)],
        "partialFingerprints": {"binpackgen/v1": _fingerprint(finding)},
    }
    if finding.related:
        result["relatedLocations"] = [
            {**_location(span), "message": {"text": label}} for span, label in finding.related
        ]
    if finding.waived:
        result["suppressions"] = [{"kind": "external", "justification": finding.waived}]
    return result


def _location(span: Span) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": span.file.replace("\\", "/")},
            "region": {
                "startLine": span.line,
                "startColumn": span.column,
                "endLine": span.end_line,
                "endColumn": span.end_column,
            },
        }
    }


def _fingerprint(finding: Finding) -> str:
    """Equal for the same fact when lines move or its numbers change."""
    fact = re.sub(r"\d+", "#", finding.message)
    return hashlib.sha256(f"{finding.code}\0{finding.span.file}\0{fact}".encode()).hexdigest()[:32]
