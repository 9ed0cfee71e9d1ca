"""The compiled kind configuration, with enough workers for packing to have a choice, and the user's patch."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from binpackgen.document import Document, Output, TextFile
from binpackgen.errors import BinpackgenError
from binpackgen.plan.model import Plan
from binpackgen.targets.scheduler import kind

#: Workers that stand for a pool: one to fill, and one that packing must leave alone.
WORKERS = 2


def kind_outputs(plan: Plan) -> list[Output]:
    """What the kind target compiles to, whatever control plane the profile states."""
    return list(kind.compile(plan._replace(control_plane="kind")))


def write_configuration(plan: Plan, folder: Path, patch: Path | None) -> Path:
    """Write the scheduler's files and the cluster's configuration below `folder`; the latter is answered.

    Paths in it are relative to `folder`, where kind is to be called. Raises BinpackgenError for a patch that
    can't be read.
    """
    cluster: dict[str, Any] = {}
    for output in kind_outputs(plan):
        if isinstance(output, Document):
            text = yaml.safe_dump(output.body, sort_keys=False)
            if output.path == "scheduler/kind.yaml":
                cluster = copy.deepcopy(output.body)
        elif isinstance(output, TextFile):
            text = output.text
        else:
            continue
        target = folder / output.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    control, *workers = cluster["nodes"]
    cluster["nodes"] = [control, *(copy.deepcopy(one) for one in workers for _ in range(WORKERS))]
    if patch is not None:
        cluster = merge(cluster, _read(patch))
    path = folder / "kind.yaml"
    path.write_text(yaml.safe_dump(cluster, sort_keys=False))
    return path


def merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the keys of `patch`: maps are merged, lists are appended, other values replaced."""
    merged = dict(base)
    for key, value in patch.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            merged[key] = [*known, *value]
        else:
            merged[key] = value
    return merged


def _read(patch: Path) -> Mapping[str, Any]:
    try:
        body = yaml.safe_load(patch.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise BinpackgenError(f"{patch}: {error}") from error
    if not isinstance(body, Mapping):
        raise BinpackgenError(f"{patch} holds no map of kind cluster configuration")
    return body
