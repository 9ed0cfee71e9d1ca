"""The kustomization that lists what is applied, so that the tree is a base and works with `kubectl apply -k`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..document import Because, Document
from ..source import Path

KUSTOMIZATION = "kustomization.yaml"


def applied_in_order(documents: Mapping[str, Sequence[Document]]) -> tuple[str, ...]:
    """The paths whose documents are applied, by their lowest wave and then by name."""
    waves = {path: min(one.wave for one in shared) for path, shared in documents.items() if shared[0].sync}
    return tuple(sorted(waves, key=lambda path: (waves[path], path)))


def kustomization(documents: Mapping[str, Sequence[Document]]) -> Document | None:
    """The kustomization of a tree; None where nothing is applied, since kustomize refuses an empty one."""
    paths = applied_in_order(documents)
    if not paths:
        return None
    trace: dict[Path, Because] = {
        ("sortOptions",): Because("kustomize would put the objects into an order of its own, by kind")
    }
    for index, path in enumerate(paths):
        wave = min(one.wave for one in documents[path])
        trace["resources", index] = Because(f"it has wave {wave}, lower waves go first")
    body = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(paths),
        "sortOptions": {"order": "fifo"},
    }
    why = Because("it lists the files of the tree that are API objects to apply")
    return Document(KUSTOMIZATION, body, why, trace, sync=False)
