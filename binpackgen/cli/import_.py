"""`binpackgen import`."""

from __future__ import annotations

import click

_CONTROL_PLANES = (
    "kubeadm",
    "kind",
    "k3s",
    "rke2",
    "talos",
    "openshift",
    "aks",
    "eks",
    "gke",
    "gardener",
    "second-scheduler",
)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True), default="-")
@click.option("--name", help="Name of the cluster.  [default: the file's name]")
@click.option(
    "--kubernetes", metavar="VERSION", help="Kubernetes minor, as 1.37.  [default: the newest kubelet's]"
)
@click.option(
    "--control-plane",
    type=click.Choice(_CONTROL_PLANES),
    default="second-scheduler",
    show_default=True,
    help="How the control plane takes scheduler configuration.",
)
@click.option(
    "--jobs",
    type=click.Path(dir_okay=False),
    metavar="PODS",
    help="Table of pods; its most frequent shape per number of GPUs becomes a job.",
)
def command(file: str, name: str | None, kubernetes: str | None, control_plane: str, jobs: str | None) -> int:
    """Make a profile from the nodes in FILE and print it; `-` reads standard input.

    \b
    kubectl get nodes -o json | binpackgen import --name my-cluster > my-cluster.profile.yaml

    FILE is what `kubectl get nodes -o json` prints, or a CSV table with the header
    name,cpu,memory,gpu,gpu_type (quantities) or sn,cpu_milli,memory_mib,gpu,model. Equal nodes become a pool.
    Everything that the profile does not show is said on standard error.
    """
    import os
    import re
    import sys
    from pathlib import Path

    from ..canonical import to_yaml
    from ..cluster.pools import group_nodes
    from ..cluster.read import decode, read_nodes
    from ..cluster.shapes import read_shapes
    from ..errors import BinpackgenError
    from ..plan.pools import offered_devices
    from ..profile.load import validate
    from ..profile.models import API_VERSION, KIND
    from ..profile.reader import read_text
    from ..scheduler.plugins import NEWEST_MINOR

    if file == "-" and sys.stdin.isatty():
        raise click.UsageError(
            "name a FILE, or pipe the nodes in: kubectl get nodes -o json | binpackgen import"
        )
    if name is None:
        stem = os.path.basename(file).split(".")[0].lower()
        name = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:63].strip("-") or "cluster"
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
        raise click.UsageError(f'"{name}" is no DNS label: at most 63 of a-z, 0-9 and "-"')
    if kubernetes is not None and not re.fullmatch(r"1\.[1-9][0-9]?(\.[0-9]+)?", kubernetes):
        raise click.UsageError(f'"{kubernetes}" is no Kubernetes version: write 1.{NEWEST_MINOR}')

    raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    found = read_nodes(raw, "<stdin>" if file == "-" else file)
    if not found.nodes:
        for note in found.notes:
            click.echo(note, err=True)
        raise BinpackgenError(f"none of the {found.found} nodes can take batch work; a profile needs one")
    grouping = group_nodes(found.nodes)
    spec: dict[str, object] = {
        "kubernetes": {
            "version": kubernetes or found.kubernetes or f"1.{NEWEST_MINOR}",
            "controlPlane": control_plane,
        },
        "nodePools": list(grouping.pools),
    }
    notes = [*found.notes, *grouping.notes]
    if jobs is not None:
        shapes = read_shapes(decode(Path(jobs).read_bytes(), jobs), jobs)
        spec["jobs"] = list(shapes.jobs)
        notes += shapes.notes
    text = to_yaml({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec})

    # what is printed has been read back, so that a profile never starts with an error
    root, findings = read_text(text, name)
    profile, problems = validate(root) if root is not None else (None, findings)
    if profile is None:
        raise BinpackgenError(f"the nodes make no valid profile: {problems[0].span}: {problems[0].message}")
    for note in notes:
        click.echo(note, err=True)
    devices = sum((pool.count or 0) * sum(offered_devices(pool).values()) for pool in profile.spec.node_pools)
    click.echo(
        f"{name}: {len(found.nodes)} of {found.found} nodes in {len(grouping.pools)} pools, {devices} GPUs",
        err=True,
    )
    click.echo(text, nl=False)
    return 0
