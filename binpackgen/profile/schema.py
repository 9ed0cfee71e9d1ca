"""The JSON Schema of profiles, in the dialect that editors read (draft 7)."""

from __future__ import annotations

import ast
import inspect
import json
from typing import Any

SCHEMA_ID = "https://binpackgen.dev/schemas/clusterprofile-v1alpha1.json"


def profile_schema() -> dict[str, Any]:
    """The schema of a whole profile, with descriptions and defaults from the models."""
    from pydantic.alias_generators import to_camel
    from pydantic.json_schema import GenerateJsonSchema

    from ..quantity import Quantity
    from . import models

    class WithQuantities(GenerateJsonSchema):
        """Defaults that are quantities are written as text."""

        def encode_default(self, dft: Any) -> Any:
            return str(dft) if isinstance(dft, Quantity) else super().encode_default(dft)

    generated = models.ClusterProfile.model_json_schema(
        by_alias=True, ref_template="#/definitions/{model}", schema_generator=WithQuantities
    )
    definitions = generated.pop("$defs")
    for name, fields in _field_docstrings(inspect.getsource(models)).items():
        described = definitions.get(name, generated if name == "ClusterProfile" else {})
        for key, text in fields.items():
            described["properties"][to_camel(key)]["description"] = text
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ID,
        **_draft7(generated),
        "definitions": {name: _draft7(body) for name, body in sorted(definitions.items())},
    }


def _field_docstrings(source: str) -> dict[str, dict[str, str]]:
    """Class name to field name to the docstring that follows the field."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field, following in zip(node.body, node.body[1:], strict=False):
            text = following.value if isinstance(following, ast.Expr) else None
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Constant)
            ):
                found.setdefault(node.name, {})[field.target.id] = str(text.value)
    return found


def schema_text() -> str:
    """The schema as it is published: two spaces, final newline."""
    return json.dumps(profile_schema(), indent=2, ensure_ascii=False) + "\n"


def _draft7(node: Any) -> Any:
    """`node` without what draft 7 lacks: a $ref with siblings is ignored there, so it moves into allOf."""
    if isinstance(node, list):
        return [_draft7(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {
        key: _draft7(value) for key, value in node.items() if key != "title" or not isinstance(value, str)
    }
    if "$ref" in result and len(result) > 1:
        result["allOf"] = [{"$ref": result.pop("$ref")}]
    if "description" in result:
        result["description"] = " ".join(str(result["description"]).split())
    return result
