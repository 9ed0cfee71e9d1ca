"""A kind cluster of the profile, made and taken away."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from binpackgen.compilation import Compilation
from binpackgen.errors import BinpackgenError
from binpackgen.plan.model import Plan
from binpackgen.report.progress import Progress
from binpackgen.targets.scheduler.configuration import DEFAULT_SCHEDULER

from ..api import DEFINITION, JOB, NODE, POD, Api, Object, wait_for
from ..binaries import binary, crds, kubectl
from ..context import Context
from ..deploy import deploy
from ..fake_devices import IMAGE as PLUGIN_IMAGE
from ..fake_devices import daemon_set, write_image
from ..image_archive import write_archive
from ..options import Options
from ..processes.supervisor import Supervisor
from ..recorder import Recorder
from ..workloads import manifests
from . import preflight
from .configuration import WORKERS, write_configuration
from .light import light, scales

#: The image of the jobs' containers.
WORKLOAD_IMAGE = "localhost/binpackgen-workload:1"

#: Seconds until nodes are ready, and until they show their devices.
_NODES, _DEVICES = 240, 90.0


class KindCluster:
    """A running kind cluster. The control is the default profile of the same scheduler."""

    control_scheduler = DEFAULT_SCHEDULER

    def __init__(self, api: Api, name: str) -> None:
        self.api = api
        self.name = name

    def effective_configuration(self) -> Mapping[str, Any]:
        """The configuration file that the running scheduler was started with, as its node has it."""
        [pod] = self.api.all(POD, "kube-system", labels="component=kube-scheduler")
        [flag] = [one for one in pod["spec"]["containers"][0]["command"] if one.startswith("--config=")]
        node = f"{self.name}-control-plane"
        done = _run("the scheduler's configuration", ["docker", "exec", node, "cat", flag.partition("=")[2]])
        body: dict[str, Any] = yaml.safe_load(done)
        return body

    def metrics(self) -> str:
        """Not reachable: the scheduler listens on its node's loopback only."""
        raise BinpackgenError("the metrics of a kind cluster's scheduler are not reachable from here")

    def attempts(self) -> dict[tuple[str, str], list[float]]:
        """Not known: the pods of a kind cluster are submitted one job after the other."""
        return {}

    def check(self) -> None:
        """A container that has ended shows as a node that is not ready."""


@contextmanager
def kind_cluster(
    compilation: Compilation, options: Options, progress: Progress, supervisor: Supervisor
) -> Iterator[Context]:
    """A cluster with the tree on it and devices on its nodes; gone at the end. Raises BinpackgenError."""
    plan = compilation.plan
    if plan.scheduler.name == DEFAULT_SCHEDULER:
        raise BinpackgenError(
            "--backend kind compares with the default profile of the same scheduler; "
            "a profile with schedulerName default-scheduler leaves none"
        )
    program = shutil.which("kind") or str(binary("kind"))
    _run("Docker", ["docker", "version", "--format", "{{.Server.Version}}"])
    for line in preflight.warnings(preflight.host_limits(), 1 + WORKERS * len(plan.pools)):
        progress.line(f"warning: {line}")
    planned = plan._replace(minor=int(options.kubernetes.partition(".")[2]))
    configuration = write_configuration(planned, supervisor.folder, options.kind_patch)
    name = f"binpackgen-e2e-{os.getpid()}"
    kubeconfig = supervisor.folder / "kubeconfig"
    remove = [program, "delete", "cluster", "--name", name, "--kubeconfig", str(kubeconfig)]
    create = [program, "create", "cluster", "--name", name, "--config", str(configuration)]
    create += ["--kubeconfig", str(kubeconfig), "--retain"]
    if options.node_image:
        create += ["--image", options.node_image]
    progress.step(f"creating kind cluster {name}")
    with supervisor.undoing(remove):
        try:
            _run("the kind cluster", create, supervisor.folder)
        except BinpackgenError as error:
            raise BinpackgenError(f"{error}{_kubelets(program, name, supervisor.folder)}") from error
        api = api_of(kubeconfig, supervisor.folder)
        wait_for("nodes ready", lambda: _all_ready(api), _NODES)
        progress.step("loading images, offering devices, applying the tree")
        _load_images(program, name, supervisor.folder)
        _offer_devices(api, plan)
        for file in (*crds("kueue"), *crds("jobset")):
            definition = yaml.safe_load(file.read_text())
            definition.pop("status", None)
            api.apply(definition)
        wait_for("the custom resources", lambda: _all_established(api), _DEVICES)
        deploy(compilation, api, kubectl(), kubeconfig, supervisor.folder, volumes=False)
        wait_for("devices on the nodes", lambda: _shows_devices(api, plan), _DEVICES)
        recorder = Recorder(api, (NODE, POD, JOB), lambda: None)
        try:
            jobs = light(manifests(compilation), scales(plan, api.all(NODE)), WORKLOAD_IMAGE)
            yield Context(compilation, KindCluster(api, name), recorder, progress, None, options.seed, jobs)
        finally:
            recorder.close()


def api_of(kubeconfig: Path, folder: Path) -> Api:
    """The API server of a kubeconfig that holds its certificates."""
    body = yaml.safe_load(kubeconfig.read_text())
    cluster, user = body["clusters"][0]["cluster"], body["users"][0]["user"]
    files = []
    for name, data in (
        ("kind-ca.crt", cluster["certificate-authority-data"]),
        ("kind-client.crt", user["client-certificate-data"]),
        ("kind-client.key", user["client-key-data"]),
    ):
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(base64.b64decode(data))
        files.append(path)
    return Api(cluster["server"], *files)


def _load_images(program: str, name: str, folder: Path) -> None:
    plugin, workload = folder / "device-plugin.tar", folder / "workload.tar"
    write_image(plugin, PLUGIN_IMAGE)
    write_archive(workload, binary("workload"), at="/workload", tag=WORKLOAD_IMAGE)
    for archive in (plugin, workload):
        _run("the image", [program, "load", "image-archive", str(archive), "--name", name])


def _offer_devices(api: Api, plan: Plan) -> None:
    for pool in plan.pools:
        for resource, count in pool.allocatable.devices.items():
            api.apply(daemon_set(pool.name, resource, count, pool_label=plan.spec.node_labels.pool))


def _shows_devices(api: Api, plan: Plan) -> bool:
    label = plan.spec.node_labels.pool
    wanted = {pool.name: pool.allocatable.devices for pool in plan.pools}
    return all(
        node["status"]["allocatable"].get(resource) == str(count)
        for node in api.all(NODE)
        for resource, count in wanted.get(node["metadata"]["labels"].get(label), {}).items()
    )


def _all_ready(api: Api) -> bool:
    nodes = api.all(NODE)
    return bool(nodes) and all(
        any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])
        for node in nodes
    )


def _all_established(api: Api) -> bool:
    return all(_established(definition) for definition in api.all(DEFINITION))


def _established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _kubelets(program: str, name: str, folder: Path) -> str:
    """What the nodes' logs say about the cause of a failure."""
    logs = folder / "kind-logs"
    subprocess.run([program, "export", "logs", str(logs), "--name", name], capture_output=True, check=False)
    for file in sorted(logs.rglob("kubelet.log")):
        if cause := preflight.cause_in(file.read_text(errors="replace")):
            return f"\n{cause}"
    return ""


def _run(what: str, command: Sequence[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BinpackgenError(f"{what}: {command[0]} is not there: {error.strerror}") from error
    if done.returncode:
        last = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-20:])
        raise BinpackgenError(f"{what}: {' '.join(command[:3])} failed:\n{last}")
    return done.stdout
