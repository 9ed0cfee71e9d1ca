"""etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, Kueue and JobSet on loopback.

What it covers: everything that decides where and when pods run, with the real programs. What it does not: no
container runs, kwok plays the kubelets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..api import wait_for
from ..binaries import binary, kubectl
from ..control_profiles import CONTROL_SCHEDULER
from . import attempts, controllers, simulated_nodes
from .api_server import ApiServer
from .supervisor import Supervisor, free_ports

#: Seconds until everything but the API server must answer.
_REST = 60.0


class Settings(NamedTuple):
    """What a control plane is made of.

    `minor` as "1.37". `configuration` is the compiled KubeSchedulerConfiguration. `scheduler` is the program
    that runs it, None for the stock one. `fair_sharing` is Kueue's. `controls` are the
    profiles of the scheduler beside it, for negative controls.
    """

    minor: str
    configuration: Mapping[str, Any]
    scheduler: Path | None = None
    fair_sharing: bool = False
    controls: tuple[Mapping[str, Any], ...] = ()


class ControlPlane(ApiServer):
    """A running control plane. Names of its processes are those of the programs."""

    control_scheduler = CONTROL_SCHEDULER

    def __init__(self, supervisor: Supervisor, settings: Settings) -> None:
        super().__init__(supervisor, settings.minor)
        self.settings = settings
        # All names first: a binary that cannot be had is known before anything runs.
        self._binaries = {
            name: binary(name, settings.minor) for name in ("kube-controller-manager", "kube-scheduler")
        } | {name: binary(name) for name in ("kwok", "kueue-controller", "jobset-controller")}
        self.kubectl = kubectl()
        [self._scheduler_port] = free_ports(1)
        self._scheduler = self.client(f"https://127.0.0.1:{self._scheduler_port}")

    def start(self) -> None:
        """Start everything; returns when every program says that it is ready."""
        super().start()
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

    def attempts(self) -> dict[attempts.PodKey, list[float]]:
        """When the schedulers took up each pod, in seconds since the epoch."""
        found: dict[attempts.PodKey, list[float]] = {}
        for name in ("kube-scheduler", CONTROL_SCHEDULER):
            for pod, times in attempts.attempts(self.supervisor.processes[name].log).items():
                found.setdefault(pod, []).extend(times)
        return found

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
            self.wait()

    def _start_controller_manager(self) -> None:
        kubeconfig = self.credentials.kubeconfig("system:kube-controller-manager")
        self.supervisor.start(
            "kube-controller-manager",
            [
                str(self._binaries["kube-controller-manager"]),
                f"--kubeconfig={kubeconfig}",
                f"--service-account-private-key-file={self.account_key}",
                f"--root-ca-file={self.credentials.ca}",
                "--use-service-account-credentials=true",
                "--leader-elect=false",
                "--secure-port=0",
                # the default of 20 requests a second is five Jobs a second
                "--kube-api-qps=1000",
                "--kube-api-burst=2000",
                "--concurrent-job-syncs=16",
                "--node-monitor-period=1s",
                # longer than kwok's leases, which it renews after a quarter of their time
                "--node-monitor-grace-period=200s",
            ],
        )

    def _start_schedulers(self) -> None:
        packing = self.settings.configuration
        control = {
            "apiVersion": packing["apiVersion"],
            "kind": packing["kind"],
            "profiles": list(self.settings.controls),
        }
        stock = self._binaries["kube-scheduler"]
        flags = ["--v=2", attempts.FLAG]
        self.start_scheduler(CONTROL_SCHEDULER, stock, control, 0, *flags)
        if self.settings.scheduler is not None:
            # it is of one version, and must not ask an older API server for what that does not have
            flags.append(f"--emulated-version={self.settings.minor}")
        program = self.settings.scheduler or stock
        self.start_scheduler("kube-scheduler", program, packing, self._scheduler_port, *flags)
