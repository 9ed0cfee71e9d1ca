"""The compiled tree onto a cluster, as a GitOps tool would apply it, with what the tree expects to be there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from binpackgen.compilation import Compilation
from binpackgen.emit.folder import write_tree
from binpackgen.emit.tree import render
from binpackgen.errors import BinpackgenError

from .api import CLAIM, SERVICE_ACCOUNT, Api, Object, wait_for
from .workloads import manifests

_SECONDS = 30.0


def namespaces(compilation: Compilation) -> tuple[str, ...]:
    """Namespaces of the profile's jobs and queues."""
    plan = compilation.plan
    names = {job.namespace for job in plan.jobs}
    names |= {name for queue in plan.queues for name in queue.source.namespaces}
    return tuple(sorted(names))


def deploy(
    compilation: Compilation,
    api: Api,
    kubectl: Path,
    kubeconfig: Path,
    folder: Path,
    *,
    volumes: bool = True,
) -> None:
    """Create namespaces, apply the tree server-side, then make the claims that jobs mount, unless `volumes` is off.

    Raises BinpackgenError.
    """
    for name in namespaces(compilation):
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    tree = folder / compilation.plan.name
    write_tree(render(compilation.plan, compilation.outputs), tree, force=False)
    command = [str(kubectl), "apply", "--server-side", "--field-manager=binpackgen", "-k", str(tree)]
    # a profile without tiers and queues compiles to nothing that is applied
    if (tree / "kustomization.yaml").exists():
        done = subprocess.run(
            [*command, f"--kubeconfig={kubeconfig}"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BinpackgenError(f"kubectl apply -k failed:\n{done.stderr.strip()}")
    for item in _volumes(compilation) if volumes else ():
        api.apply(item)
    for name in namespaces(compilation):
        wait_for(
            f"the account of namespace {name}",
            lambda name=name: api.find(SERVICE_ACCOUNT, "default", name),  # type: ignore[misc]
            _SECONDS,
        )
        wait_for(
            f"the claims of namespace {name}",
            lambda name=name: all(  # type: ignore[misc]
                claim["status"].get("phase") == "Bound" for claim in api.all(CLAIM, name)
            ),
            _SECONDS,
        )


def _volumes(compilation: Compilation) -> Iterator[Object]:
    """A volume and a claim bound to it for each claim that a job mounts; a node of any kind can have it."""
    seen: set[tuple[str, str]] = set()
    for manifest in manifests(compilation):
        for name in manifest.claims:
            if (manifest.namespace, name) in seen:
                continue
            seen.add((manifest.namespace, name))
            volume = f"{manifest.namespace}-{name}"
            common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume},
                "spec": {
                    **common,
                    "capacity": {"storage": "1Ti"},
                    "hostPath": {"path": "/var/lib/binpackgen-e2e"},
                    "claimRef": {"namespace": manifest.namespace, "name": name},
                },
            }
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": manifest.namespace},
                "spec": {
                    **common,
                    "volumeName": volume,
                    "resources": {"requests": {"storage": "1Ti"}},
                },
            }
