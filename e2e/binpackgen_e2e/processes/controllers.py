"""Kueue and JobSet outside a cluster: their CRDs, configurations and webhooks, pointed to loopback."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ..api import DEFINITION, JOB, JOB_SET, Api, wait_for
from ..binaries import crds, module_dir
from .credentials import Credentials
from .supervisor import Supervisor, free_ports

#: Kueue's job integrations that compiled trees need.
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset")

#: Webhooks that stay, by resource: those of the kinds that are used. The others would call for CRDs that
#: are not there.
_KUEUE_WEBHOOKS = frozenset(
    {"clusterqueues", "cohorts", "resourceflavors", "workloads", "workloads/status", "jobs", "jobsets"}
)
_JOBSET_WEBHOOKS = frozenset({"jobsets", "pods"})

#: JobSet's pod webhooks see only its own pods: config/components/webhook/patches in jobset v0.11.1.
_JOBSET_PODS = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}

_SECONDS = 60.0


def start(
    supervisor: Supervisor,
    api: Api,
    credentials: Credentials,
    *,
    kueue: Path,
    jobset: Path,
    kubeconfig: Path,
    fair_sharing: bool,
) -> None:
    """Install both and wait until their webhooks answer."""
    ports = dict(zip(("kueue", "kueue-ready", "jobset", "jobset-ready"), free_ports(4), strict=True))
    authority = base64.b64encode(credentials.ca_pem).decode()
    names = []
    for name in ("kueue", "jobset"):
        for file in crds(name):
            definition = yaml.safe_load(file.read_text())
            definition.setdefault("metadata", {}).pop("creationTimestamp", None)
            definition.pop("status", None)
            # a watch cache of an older version that nobody asks for would have every write converted by a webhook
            definition["spec"]["versions"] = [one for one in definition["spec"]["versions"] if one["storage"]]
            definition["spec"].pop("conversion", None)
            api.apply(definition)
            names.append(definition["metadata"]["name"])
    wait_for(
        "the custom resources",
        lambda: all(_established(item) for item in api.all(DEFINITION) if item["metadata"]["name"] in names),
        _SECONDS,
        alive=supervisor.check,
    )
    _start_kueue(supervisor, credentials, kueue, kubeconfig, ports, fair_sharing)
    _start_jobset(supervisor, credentials, jobset, kubeconfig, ports)
    for name, wanted in (("kueue", _KUEUE_WEBHOOKS), ("jobset", _JOBSET_WEBHOOKS)):
        _wait_until_ready(supervisor, ports[f"{name}-ready"], name)
        for body in _webhooks(name, wanted, ports[name], authority):
            api.apply(body)
    wait_for("the webhooks in force", lambda: _change_what_they_must(api), _SECONDS, alive=supervisor.check)


def _start_kueue(
    supervisor: Supervisor,
    credentials: Credentials,
    program: Path,
    kubeconfig: Path,
    ports: Mapping[str, int],
    fair_sharing: bool,
) -> None:
    certificate, _ = credentials.serving("kueue")
    # Kueue reads the metrics server's certificates from a folder of a fixed name.
    metrics = supervisor.folder / "metrics-certs"
    metrics.symlink_to(certificate.parent, target_is_directory=True)
    body: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['kueue-ready']}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": ports["kueue"], "certDir": str(certificate.parent)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 1000, "burst": 2000},
        # the default is one Job at a time, each with requests one after the other
        "controller": {"groupKindConcurrency": {"Job.batch": 16, "Workload.kueue.x-k8s.io": 16}},
        "integrations": {"frameworks": list(FRAMEWORKS)},
        # its aggregated API server would need a Service
        "featureGates": {"VisibilityOnDemand": False},
    }
    if fair_sharing:
        body["fairSharing"] = {
            "preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
        }
    file = supervisor.folder / "kueue-config.yaml"
    file.write_text(yaml.safe_dump(body))
    supervisor.start("kueue", [str(program), f"--config={file}"], {"KUBECONFIG": str(kubeconfig)})


def _start_jobset(
    supervisor: Supervisor,
    credentials: Credentials,
    program: Path,
    kubeconfig: Path,
    ports: Mapping[str, int],
) -> None:
    certificate, _ = credentials.serving("jobset")
    body = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['jobset-ready']}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": ports["jobset"], "certDir": str(certificate.parent)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 1000, "burst": 2000},
    }
    file = supervisor.folder / "jobset-config.yaml"
    file.write_text(yaml.safe_dump(body))
    supervisor.start("jobset", [str(program), f"--config={file}"], {"KUBECONFIG": str(kubeconfig)})


def _webhooks(name: str, wanted: frozenset[str], port: int, authority: str) -> list[dict[str, Any]]:
    """The module's webhook configurations, with the wanted webhooks and loopback in place of a Service."""
    file = module_dir(name) / "config" / "components" / "webhook" / "manifests.yaml"
    bodies = []
    for body in yaml.safe_load_all(file.read_text()):
        kept = []
        for webhook in body["webhooks"]:
            resources = {resource for rule in webhook["rules"] for resource in rule["resources"]}
            if not resources & wanted:
                continue
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority}
            if name == "jobset" and resources == {"pods"}:
                webhook["objectSelector"] = _JOBSET_PODS
            kept.append(webhook)
        bodies.append({**body, "metadata": {"name": f"{name}-{body['metadata']['name']}"}, "webhooks": kept})
    return bodies


def _change_what_they_must(api: Api) -> bool:
    """Whether a Job with a queue is suspended by Kueue, and a JobSet gets its defaults; nothing is created."""
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    job = {
        "apiVersion": JOB.group_version,
        "kind": JOB.name,
        "metadata": {"name": "probe", "labels": {"kueue.x-k8s.io/queue-name": "probe"}},
        "spec": {"template": pods},
    }
    job_set = {
        "apiVersion": JOB_SET.group_version,
        "kind": JOB_SET.name,
        "metadata": {"name": "probe"},
        "spec": {"replicatedJobs": [{"name": "all", "template": {"spec": {"template": pods}}}]},
    }
    answers = [
        json.loads(api.raw(f"{kind.path('default')}?dryRun=All", method="POST", body=body))["spec"]
        for kind, body in ((JOB, job), (JOB_SET, job_set))
    ]
    return answers[0]["suspend"] is True and "network" in answers[1]


def _wait_until_ready(supervisor: Supervisor, port: int, name: str) -> None:
    import urllib3

    def ready() -> bool:
        try:
            answer = urllib3.request("GET", f"http://127.0.0.1:{port}/readyz", retries=False, timeout=2.0)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    wait_for(f"{name}'s webhooks", ready, _SECONDS, alive=supervisor.check)


def _established(definition: dict[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
