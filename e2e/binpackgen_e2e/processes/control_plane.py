"""etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, Kueue and JobSet on loopback.

What it covers: everything that decides where and when pods run, with the real programs. What it does not: no
container runs, kwok plays the kubelets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..api import Api, wait_for
from ..binaries import binary, kubectl
from . import controllers, simulated_nodes
from .credentials import Credentials
from .supervisor import Supervisor, free_ports

#: Scheduler of the negative control: all defaults of its version, under a name of its own.
CONTROL_SCHEDULER = "binpackgen-control"

#: Seconds until the API server must answer, and until everything else must.
_SERVER, _REST = 60.0, 60.0


class Settings(NamedTuple):
    """What a control plane is made of.

    `minor` as "1.37". `configuration` is the compiled KubeSchedulerConfiguration. `scheduler` is the program
    that runs it, None for the stock one. `fair_sharing` is Kueue's.
    """

    minor: str
    configuration: Mapping[str, Any]
    scheduler: Path | None = None
    fair_sharing: bool = False


class ControlPlane:
    """A running control plane. Names of its processes are those of the programs."""

    control_scheduler = CONTROL_SCHEDULER

    def __init__(self, supervisor: Supervisor, settings: Settings) -> None:
        self.supervisor = supervisor
        self.settings = settings
        # All names first: a binary that cannot be had is known before anything runs.
        self._binaries = {
            name: binary(name, settings.minor)
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
        } | {name: binary(name) for name in ("etcd", "kwok", "kueue-controller", "jobset-controller")}
        self.kubectl = kubectl()
        client, peer, server, self._scheduler_port = free_ports(4)
        self._etcd = f"http://127.0.0.1:{client}"
        self._peer = f"http://127.0.0.1:{peer}"
        self._port = server
        self.server = f"https://127.0.0.1:{server}"
        self.credentials = Credentials(supervisor.folder / "credentials", self.server)
        self.kubeconfig = self.credentials.kubeconfig("admin", "system:masters")
        admin = (self.credentials.folder / "admin.crt", self.credentials.folder / "admin.key")
        self.api = Api(self.server, self.credentials.ca, *admin)
        self._scheduler = Api(f"https://127.0.0.1:{self._scheduler_port}", self.credentials.ca, *admin)

    def start(self) -> None:
        """Start everything; returns when every program says that it is ready."""
        self._start_server()
        self._start_controller_manager()
        self._start_schedulers()
        simulated_nodes.start_kwok(self.supervisor, self._binaries["kwok"], self.kubeconfig)
        controllers.start(
            self.supervisor,
            self.api,
            self.credentials,
            kueue=self._binaries["kueue-controller"],
            jobset=self._binaries["jobset-controller"],
            kubeconfig=self.kubeconfig,
            fair_sharing=self.settings.fair_sharing,
        )
        wait_for("the scheduler's configz", self.effective_configuration, _REST, alive=self.supervisor.check)

    def effective_configuration(self) -> dict[str, Any]:
        """What the running scheduler says that it runs with (its /configz)."""
        answer: dict[str, Any] = json.loads(self._scheduler.raw("/configz"))
        return answer

    def metrics(self) -> str:
        """The running scheduler's metrics, in Prometheus' text form."""
        return self._scheduler.raw("/metrics").decode()

    def check(self) -> None:
        """Raises BinpackgenError where a program has ended by itself."""
        self.supervisor.check()

    def kill(self, name: str) -> None:
        """Kill a program without warning."""
        self.supervisor.kill(name)

    def restart(self, name: str) -> None:
        """Start a killed program again and wait for the API server if it was that."""
        self.supervisor.restart(name)
        if name in ("kube-apiserver", "etcd"):
            self._wait_for_server()

    def _start_server(self) -> None:
        self.supervisor.start(
            "etcd",
            [
                str(self._binaries["etcd"]),
                "--data-dir=etcd",
                # a run's data need not outlive the machine
                "--unsafe-no-fsync",
                f"--listen-client-urls={self._etcd}",
                f"--advertise-client-urls={self._etcd}",
                f"--listen-peer-urls={self._peer}",
                f"--initial-advertise-peer-urls={self._peer}",
                f"--initial-cluster=default={self._peer}",
                "--quota-backend-bytes=8589934592",
                "--log-level=warn",
            ],
        )
        certificate, key = self.credentials.serving("kube-apiserver")
        account, account_key = self.credentials.serving("service-accounts")
        self.supervisor.start(
            "kube-apiserver",
            [
                str(self._binaries["kube-apiserver"]),
                f"--etcd-servers={self._etcd}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self._port}",
                f"--tls-cert-file={certificate}",
                f"--tls-private-key-file={key}",
                f"--client-ca-file={self.credentials.ca}",
                "--authorization-mode=RBAC",
                f"--service-account-issuer={self.server}",
                f"--service-account-key-file={account}",
                f"--service-account-signing-key-file={account_key}",
                "--service-cluster-ip-range=10.0.0.0/16",
                "--endpoint-reconciler-type=none",
                "--max-requests-inflight=2000",
                "--max-mutating-requests-inflight=1000",
                "--profiling=false",
            ],
        )
        self._account_key = account_key
        self._wait_for_server()

    def _wait_for_server(self) -> None:
        wait_for("the API server", lambda: self.api.raw("/readyz"), _SERVER, alive=self.supervisor.check)

    def _start_controller_manager(self) -> None:
        kubeconfig = self.credentials.kubeconfig("system:kube-controller-manager")
        self.supervisor.start(
            "kube-controller-manager",
            [
                str(self._binaries["kube-controller-manager"]),
                f"--kubeconfig={kubeconfig}",
                f"--service-account-private-key-file={self._account_key}",
                f"--root-ca-file={self.credentials.ca}",
                "--use-service-account-credentials=true",
                "--leader-elect=false",
                "--secure-port=0",
                # the default of 20 requests a second is five Jobs a second
                "--kube-api-qps=1000",
                "--kube-api-burst=2000",
                "--node-monitor-period=1s",
            ],
        )

    def _start_schedulers(self) -> None:
        kubeconfig = self.credentials.kubeconfig("system:kube-scheduler")
        connection = {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000}
        election = {"leaderElect": False}
        packing = {**self.settings.configuration, "clientConnection": connection, "leaderElection": election}
        control = {
            "apiVersion": packing["apiVersion"],
            "kind": packing["kind"],
            "clientConnection": connection,
            "leaderElection": election,
            "profiles": [{"schedulerName": CONTROL_SCHEDULER}],
        }
        certificate, key = self.credentials.serving("kube-scheduler")
        secure = [
            f"--secure-port={self._scheduler_port}",
            "--bind-address=127.0.0.1",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self.credentials.ca}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
        ]
        stock = self._binaries["kube-scheduler"]
        for name, program, body, flags in (
            ("kube-scheduler", self.settings.scheduler or stock, packing, secure),
            (CONTROL_SCHEDULER, stock, control, ["--secure-port=0"]),
        ):
            file = self.supervisor.folder / f"{name}-config.yaml"
            file.write_text(yaml.safe_dump(body))
            self.supervisor.start(name, [str(program), f"--config={file}", "--v=2", *flags])
