"""What an API server with the real CustomResourceDefinitions would refuse: an oracle without a server.

    validate(obj) -> ["spec.cohort: unknown field", ...]     empty where nothing is refused

It follows the API server's order: unknown fields (strict, as kubectl sends them), defaults, schema, list types,
CEL rules. The schemas come from the pinned modules of Kueue, JobSet, Karpenter and node-feature-discovery.
Webhooks are not part of it. Rules about updates (oldSelf) are left out: there is no old object.
"""

from __future__ import annotations

import copy
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import cel
import jsonschema
import yaml

from binpackgen_e2e.binaries import crds, device_plugin_chart, module_dir

Object = dict[str, Any]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z")
_METADATA = ("name", "namespace", "labels", "annotations", "finalizers")


def validate(obj: Object) -> list[str]:
    """Everything that the API server would refuse in a new object, each as "path: reason".

    Raises LookupError for a kind that no definition knows, and binpackgen_e2e.binaries.UnavailableError where the
    definitions cannot be had.
    """
    group, _, version = obj["apiVersion"].partition("/")
    definition = _definitions(group).get(obj["kind"])
    if definition is None:
        raise LookupError(f"no definition of {obj['kind']} in {group}")
    served = {one["name"]: one for one in definition["spec"]["versions"] if one["served"]}
    if version not in served:
        return [f'apiVersion: no matches for kind "{obj["kind"]}" in version "{obj["apiVersion"]}"']
    schema = served[version]["schema"]["openAPIV3Schema"]
    problems = [*_metadata(obj, definition["spec"]["scope"]), *_unknown(schema, obj, "")]
    complete = _with_defaults(schema, copy.deepcopy(obj))
    problems += _schema(json.dumps(schema), complete)
    problems += _lists(schema, complete, "")
    return problems or list(_rules(schema, complete, ""))


def _karpenter() -> Iterator[str]:
    folder = module_dir("karpenter") / "pkg" / "apis" / "crds"
    yield from (path.read_text() for path in sorted(folder.glob("karpenter.sh_*.yaml")))


def _node_feature_discovery() -> Iterator[str]:
    """From the subchart that the device plugin's chart brings."""
    for chart in (device_plugin_chart() / "charts").glob("node-feature-discovery-*.tgz"):
        with tarfile.open(chart) as archive:
            for member in archive.getmembers():
                content = archive.extractfile(member) if "/crds/" in member.name else None
                if content is not None:
                    yield io.TextIOWrapper(content).read()


def _module(name: str) -> Callable[[], Iterator[str]]:
    return lambda: (path.read_text() for path in crds(name))


_SOURCES: dict[str, Callable[[], Iterator[str]]] = {
    "kueue.x-k8s.io": _module("kueue"),
    "jobset.x-k8s.io": _module("jobset"),
    "karpenter.sh": _karpenter,
    "nfd.k8s-sigs.io": _node_feature_discovery,
}


@lru_cache
def _definitions(group: str) -> dict[str, Object]:
    if group not in _SOURCES:
        raise LookupError(f"no definitions of group {group}")
    documents = [one for text in _SOURCES[group]() for one in yaml.load_all(text, _LOADER)]
    return {
        one["spec"]["names"]["kind"]: one
        for one in documents
        if one and one["kind"] == "CustomResourceDefinition" and one["spec"]["group"] == group
    }


def _metadata(obj: Object, scope: str) -> Iterator[str]:
    metadata = obj.get("metadata", {})
    yield from (f"metadata.{key}: unknown field" for key in metadata if key not in _METADATA)
    name = metadata.get("name", "")
    if len(name) > 253 or not _NAME.match(name):
        yield f"metadata.name: {name!r} is no lowercase RFC 1123 subdomain"
    if (scope == "Namespaced") != ("namespace" in metadata):
        yield f"metadata.namespace: the kind is {scope.lower()}"
    for key, value in metadata.get("labels", {}).items():
        if not _LABEL_KEY.match(key) or not _LABEL_VALUE.match(value):
            yield f"metadata.labels: {key}={value} is no label"


def _open(schema: Object) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def _unknown(schema: Object, value: Any, path: str) -> Iterator[str]:
    """Fields that would be pruned, which strict validation refuses."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(schema.get("items", {}), item, f"{path}[{index}]")
    if not isinstance(value, dict):
        return
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
    embedded = schema.get("x-kubernetes-embedded-resource")
    for key, item in value.items():
        here = f"{path}.{key}" if path else key
        if here == "metadata" or (embedded and key in ("apiVersion", "kind", "metadata")):
            continue
        if key in properties:
            yield from _unknown(properties[key], item, here)
        elif isinstance(additional, dict):
            yield from _unknown(additional, item, here)
        elif not additional and not _open(schema):
            yield f"{here}: unknown field"


def _with_defaults(schema: Object, value: Any) -> Any:
    if isinstance(value, list):
        return [_with_defaults(schema.get("items", {}), item) for item in value]
    if not isinstance(value, dict):
        return value
    for key, sub in schema.get("properties", {}).items():
        if key not in value and "default" in sub:
            value[key] = copy.deepcopy(sub["default"])
        if key in value:
            value[key] = _with_defaults(sub, value[key])
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        for key in value.keys() - schema.get("properties", {}).keys():
            value[key] = _with_defaults(additional, value[key])
    return value


_FORMATS = jsonschema.FormatChecker(formats=())
_FORMATS.checks("int32")(lambda value: not isinstance(value, int) or -(2**31) <= value < 2**31)
_FORMATS.checks("int64")(lambda value: not isinstance(value, int) or -(2**63) <= value < 2**63)


@lru_cache
def _validator(schema_text: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads(schema_text), format_checker=_FORMATS)


def _schema(schema_text: str, value: Object) -> list[str]:
    errors = sorted(_validator(schema_text).iter_errors(value), key=lambda error: list(map(str, error.path)))
    return [f"{_dotted(error.absolute_path)}: {error.message}" for error in errors]


def _dotted(path: Any) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _children(schema: Object, value: Any, path: str) -> Iterator[tuple[Object, Any, str]]:
    if isinstance(value, list):
        yield from ((schema.get("items", {}), item, f"{path}[{n}]") for n, item in enumerate(value))
    if isinstance(value, dict):
        properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in value.items():
            sub = properties.get(key, additional if isinstance(additional, dict) else {})
            yield sub, item, f"{path}.{key}".lstrip(".")


def _lists(schema: Object, value: Any, path: str) -> Iterator[str]:
    """Duplicates in lists of type set or map."""
    kind = schema.get("x-kubernetes-list-type")
    if isinstance(value, list) and kind in ("set", "map"):
        keys = schema.get("x-kubernetes-list-map-keys", [])
        seen: list[Any] = []
        for index, item in enumerate(value):
            identity = [item.get(key) for key in keys] if kind == "map" else item
            if identity in seen:
                yield f"{path}[{index}]: duplicate value {identity}"
            seen.append(identity)
    for child in _children(schema, value, path):
        yield from _lists(*child)


def _find(text: str, pattern: str) -> str:
    """CEL's find of Kubernetes (k8s.io/apiserver, pkg/cel/library/regex.go)."""
    found = re.search(pattern, text)
    return found[0] if found else ""


def _rules(schema: Object, value: Any, path: str) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", []):
        if "oldSelf" in rule["rule"]:
            continue
        context = cel.Context({"self": value}, {"find": _find})
        try:
            holds = cel.evaluate(rule["rule"], context)
        except (KeyError, RuntimeError, TypeError) as error:
            holds, reason = False, f"the rule cannot be evaluated: {error}"
        else:
            reason = rule.get("message", rule["rule"])
        if not holds:
            yield f"{path or 'the object'}: {reason}"
    for child in _children(schema, value, path):
        yield from _rules(*child)
