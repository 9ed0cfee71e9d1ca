"""The JSON Schema of profiles, in the dialect that editors read (draft 7)."""

from __future__ import annotations

import json
from typing import Any

SCHEMA_ID = "https://binpackgen.dev/schemas/clusterprofile-v1alpha1.json"


def profile_schema() -> dict[str, Any]:
    """The schema of a whole profile, with descriptions and defaults from the models."""
    from .models import ClusterProfile

    generated = ClusterProfile.model_json_schema(by_alias=True, ref_template="#/definitions/{model}")
    definitions = generated.pop("$defs")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ID,
        **_draft7(generated),
        "definitions": {name: _draft7(body) for name, body in sorted(definitions.items())},
    }


def schema_text() -> str:
    """The schema as it is published: two spaces, final newline."""
    return json.dumps(profile_schema(), indent=2, ensure_ascii=False) + "\n"


def _draft7(node: Any) -> Any:
    """`node` without what draft 7 lacks: a $ref with siblings is ignored there, so it moves into allOf."""
    if isinstance(node, list):
        return [_draft7(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {key: _draft7(value) for key, value in node.items() if key != "title" or not isinstance(value, str)}
    if "$ref" in result and len(result) > 1:
        result["allOf"] = [{"$ref": result.pop("$ref")}]
    if "description" in result:
        result["description"] = " ".join(str(result["description"]).split())
    return result
