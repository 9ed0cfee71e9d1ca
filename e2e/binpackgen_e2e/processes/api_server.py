"""etcd and kube-apiserver on loopback: what every other program of a control plane talks to."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import urllib3
import yaml

from binpackgen.errors import BinpackgenError

from ..api import Api, wait_for
from ..binaries import binary
from .credentials import Credentials
from .supervisor import Process, Supervisor, free_ports

#: Seconds until the API server must answer.
_PATIENCE = 180.0


class ApiServer:
    """An API server with its storage. `minor` is that of Kubernetes, as "1.37"."""

    def __init__(self, supervisor: Supervisor, minor: str, flags: Sequence[str] = ()) -> None:
        self.supervisor = supervisor
        self._etcd, self._program = binary("etcd"), binary("kube-apiserver", minor)
        self._flags = tuple(flags)
        client, peer, self._port = free_ports(3)
        self._storage, self._peer = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        self.server = f"https://127.0.0.1:{self._port}"
        self.credentials = Credentials(supervisor.folder / "credentials", self.server)
        self.kubeconfig = self.credentials.kubeconfig("admin", "system:masters")
        self.api = self.client(self.server)
        self.account, self.account_key = self.credentials.serving("service-accounts")
        # once: a second scheduler must not rewrite what the first is about to read
        self._scheduler_kubeconfig = self.credentials.kubeconfig("system:kube-scheduler")

    def client(self, server: str) -> Api:
        """A client of a server of this run, as its administrator."""
        folder = self.credentials.folder
        return Api(server, self.credentials.ca, folder / "admin.crt", folder / "admin.key")

    def start(self) -> None:
        """Start both; returns when the API server says that it is ready."""
        self.supervisor.start(
            "etcd",
            [
                str(self._etcd),
                "--data-dir=etcd",
                # a run's data need not outlive the machine
                "--unsafe-no-fsync",
                f"--listen-client-urls={self._storage}",
                f"--advertise-client-urls={self._storage}",
                f"--listen-peer-urls={self._peer}",
                f"--initial-advertise-peer-urls={self._peer}",
                f"--initial-cluster=default={self._peer}",
                "--quota-backend-bytes=8589934592",
                "--log-level=warn",
            ],
        )
        certificate, key = self.credentials.serving("kube-apiserver")
        self.supervisor.start(
            "kube-apiserver",
            [
                str(self._program),
                f"--etcd-servers={self._storage}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self._port}",
                f"--tls-cert-file={certificate}",
                f"--tls-private-key-file={key}",
                f"--client-ca-file={self.credentials.ca}",
                "--authorization-mode=RBAC",
                f"--service-account-issuer={self.server}",
                f"--service-account-key-file={self.account}",
                f"--service-account-signing-key-file={self.account_key}",
                "--service-cluster-ip-range=10.0.0.0/16",
                "--endpoint-reconciler-type=none",
                # one tenant: nobody to be fair to
                "--enable-priority-and-fairness=false",
                "--max-requests-inflight=2000",
                "--max-mutating-requests-inflight=1000",
                # a namespace's jobs are deleted side by side and not one by one
                "--delete-collection-workers=16",
                "--profiling=false",
                *self._flags,
            ],
        )
        self.wait()

    def wait(self) -> None:
        """Wait until the API server says that it is ready."""
        wait_for("the API server", lambda: self.api.raw("/readyz"), _PATIENCE, alive=self.supervisor.check)

    def forget(self, *kinds: str) -> None:
        """Take all objects of some kinds out of the storage in one stroke, named as there: pods, minions, …

        Thousands of deletions take the API server longer than their creation. Its watches learn of it.
        """
        for kind in kinds:
            first, beyond = f"/registry/{kind}/", f"/registry/{kind}0"
            body = {
                "key": base64.b64encode(first.encode()).decode(),
                "range_end": base64.b64encode(beyond.encode()).decode(),
            }
            answer = urllib3.request("POST", f"{self._storage}/v3/kv/deleterange", json=body, retries=False)
            if answer.status != 200:
                raise BinpackgenError(f"etcd kept its {kind}: {answer.data.decode(errors='replace')[:300]}")

    def start_scheduler(
        self, name: str, program: Path, configuration: Mapping[str, Any], port: int = 0, *flags: str
    ) -> Process:
        """Start a kube-scheduler with a KubeSchedulerConfiguration; it serves nothing without a port."""
        kubeconfig = self._scheduler_kubeconfig
        body = {
            **configuration,
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000},
            "leaderElection": {"leaderElect": False},
        }
        file = self.supervisor.folder / f"{name}-config.yaml"
        file.write_text(yaml.safe_dump(body))
        secure = [f"--secure-port={port}"]
        if port:
            certificate, key = self.credentials.serving(name)
            secure += [
                "--bind-address=127.0.0.1",
                f"--tls-cert-file={certificate}",
                f"--tls-private-key-file={key}",
                f"--client-ca-file={self.credentials.ca}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
            ]
        return self.supervisor.start(name, [str(program), f"--config={file}", *secure, *flags])
