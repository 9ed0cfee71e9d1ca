"""A scheduler of our own as a Deployment, beside a control plane that is closed.

It binds the built-in roles, which follow the API server's version; what they lack is a lease of another name.
It passes the restricted Pod Security standard. Source: kubernetes v1.37.2, plugin/pkg/auth/authorizer/rbac/
bootstrappolicy/policy.go, cmd/kube-scheduler/app/{server,options/options}.go (/livez and /readyz since 1.31),
build/server-image/Dockerfile (no USER, so a uid must be given).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...document import Because, Document, Output, Unsupported
from ...plan.model import Plan
from ...source import Path
from ..metadata import labels, metadata
from .configuration import (
    CONTROL_PLANE,
    DEFAULT_SCHEDULER,
    FILE,
    SCHEDULER_IMAGE,
    SCHEDULER_NAME,
    Configuration,
    scheduler_configuration,
    stock_image_losses,
)

#: Name of the Deployment, its account and its lease, and of the namespace that holds them.
NAME = "binpackgen-scheduler"
NAMESPACE = "binpackgen-scheduler"

#: The newest patch of each minor that is known; a scheduler must not be newer than its API server in the
#: minor, the patch is free. Source: versions of the Go module k8s.io/kubernetes, November 2026.
NEWEST_PATCH = {31: 14, 32: 13, 33: 13, 34: 4, 35: 4, 36: 3, 37: 2}

PRIORITY_CLASS = "system-cluster-critical"
_FOLDER = "/etc/binpackgen"
_NAME_LABEL = "app.kubernetes.io/name"
_SUBJECT = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
_RBAC = "rbac.authorization.k8s.io"


def compile(plan: Plan) -> Iterator[Output]:
    """Namespace, configuration, account with its rights, Deployment and disruption budget."""
    if plan.scheduler.name == DEFAULT_SCHEDULER:
        yield Unsupported(
            f"taking over {DEFAULT_SCHEDULER}",
            "the control plane's own scheduler has that name, and two schedulers would race for every pod",
            "another schedulerName, such as batch-packer",
            SCHEDULER_NAME,
        )
        return
    configuration = scheduler_configuration(plan, lease=(NAMESPACE, NAME), only_scheduler=False)
    yield _namespace(plan)
    config_map = f"{NAME}-{configuration.digest[:10]}"
    yield _config_map(plan, config_map, configuration)
    yield from _rights(plan)
    yield _critical_quota(plan)
    yield _deployment(plan, config_map)
    yield _disruption_budget(plan)
    yield from stock_image_losses(plan)


def _namespace(plan: Plan) -> Document:
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(plan, NAMESPACE)}
    body["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted"
    return Document(
        path="scheduler/namespace.yaml",
        body=body,
        why=Because("a namespace of its own, with the restricted Pod Security standard", (CONTROL_PLANE,)),
        wave=-1,
    )


def _config_map(plan: Plan, name: str, configuration: Configuration) -> Document:
    return Document(
        path="scheduler/config-map.yaml",
        body={
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(plan, name, NAMESPACE),
            "immutable": True,
            "data": {FILE: configuration.text},
        },
        why=Because("the scheduler's configuration file", (CONTROL_PLANE,)),
        trace={
            ("metadata", "name"): Because(
                "ends in a hash of the content: a new configuration is a new object and rolls the Deployment, "
                "and the old one stays for a rollback"
            ),
            ("data", FILE): configuration.reasons,
        },
        wave=-1,
    )


def _rights(plan: Plan) -> Iterator[Document]:
    path = "scheduler/rbac.yaml"
    because = Because("the account that the scheduler runs under", (CONTROL_PLANE,))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(plan, NAME, NAMESPACE)}
    yield Document(path, account, because)
    for role in ("kube-scheduler", "volume-scheduler"):
        yield Document(
            path,
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": metadata(plan, f"{NAME}-{role}"),
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"system:{role}"},
                "subjects": [dict(_SUBJECT)],
            },
            Because(
                "the built-in role, which follows the API server's version; a copy would not",
                (CONTROL_PLANE,),
            ),
        )
    yield Document(
        path,
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": metadata(plan, f"{NAME}-lease", NAMESPACE),
            "rules": [
                {
                    "apiGroups": ["coordination.k8s.io"],
                    "resources": ["leases"],
                    "resourceNames": [NAME],
                    "verbs": ["get", "update"],
                }
            ],
        },
        Because(
            "the built-in role covers only a lease named kube-scheduler (and the creation of any)",
            (CONTROL_PLANE,),
        ),
    )
    for name, namespace, role, reason in (
        (f"{NAME}-lease", NAMESPACE, f"{NAME}-lease", "leader election between the replicas"),
        (
            f"{NAME}-authentication-reader",
            "kube-system",
            "extension-apiserver-authentication-reader",
            "lets it verify client certificates of those who read its metrics",
        ),
    ):
        yield Document(
            path,
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "RoleBinding",
                "metadata": metadata(plan, name, namespace),
                "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": role},
                "subjects": [dict(_SUBJECT)],
            },
            Because(reason, (CONTROL_PLANE,)),
        )


def _critical_quota(plan: Plan) -> Document:
    return Document(
        path="scheduler/resource-quota.yaml",
        body={
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": metadata(plan, f"{NAME}-critical", NAMESPACE),
            "spec": {
                "hard": {"pods": "10"},
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": [PRIORITY_CLASS]}
                    ]
                },
            },
        },
        why=Because(
            f"some clusters, GKE among them, admit {PRIORITY_CLASS} outside kube-system only where a quota names it",
            (CONTROL_PLANE,),
        ),
    )


def _deployment(plan: Plan, config_map: str) -> Document:
    image, image_reason = _image(plan)
    selector = {_NAME_LABEL: NAME}
    pod: dict[str, Any] = {
        "serviceAccountName": NAME,
        "priorityClassName": PRIORITY_CLASS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector},
            }
        ],
    }
    template: Path = ("spec", "template", "spec")
    trace: dict[Path, Because] = {
        ("spec", "replicas"): Because("one schedules, the other takes over when it is gone"),
        (*template, "priorityClassName"): Because(
            "no batch pod may evict the scheduler that it waits for; pods of its own are placed by "
            f"{DEFAULT_SCHEDULER}"
        ),
        (*template, "securityContext", "runAsUser"): Because(
            "the image names no user, and runAsNonRoot wants a numeric one"
        ),
        (*template, "containers", 0, "image"): image_reason,
        (*template, "containers", 0, "resources"): Because(
            "a request like that of kubeadm's static pod; no limit, since its memory grows with the cluster and "
            "nothing schedules while it restarts"
        ),
        (*template, "volumes"): Because(
            "the name changes with the configuration, which rolls the Deployment"
        ),
    }
    tolerations = _tolerations(plan)
    if tolerations:
        pod["tolerations"] = tolerations
        trace[(*template, "tolerations")] = Because(
            "every pool has a taint that would keep it off", tuple(pool.at for pool in plan.pools)
        )
    pod["containers"] = [_container(image)]
    pod["volumes"] = [{"name": "config", "configMap": {"name": config_map}}]
    return Document(
        path="scheduler/deployment.yaml",
        body={
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata(plan, NAME, NAMESPACE),
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": selector},
                "template": {
                    "metadata": {"labels": dict(sorted({**labels(plan), **selector}.items()))},
                    "spec": pod,
                },
            },
        },
        why=Because(
            "the packing scheduler runs beside the control plane's own, for pods that name it",
            (CONTROL_PLANE,),
        ),
        trace=trace,
        wave=4,
    )


def _container(image: str) -> dict[str, Any]:
    def probe(path: str, **settings: int) -> dict[str, Any]:
        return {"httpGet": {"path": path, "port": "https", "scheme": "HTTPS"}, **settings}

    return {
        "name": "kube-scheduler",
        "image": image,
        "command": ["kube-scheduler", f"--config={_FOLDER}/{FILE}"],
        "ports": [{"name": "https", "containerPort": 10259}],
        "startupProbe": probe("/livez", failureThreshold=24),
        "livenessProbe": probe("/livez", timeoutSeconds=15),
        "readinessProbe": probe("/readyz", timeoutSeconds=15),
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "config", "mountPath": _FOLDER, "readOnly": True}],
    }


def _image(plan: Plan) -> tuple[str, Because]:
    stated = plan.spec.kubernetes.scheduler_image
    if stated is not None:
        return stated, Because("stated in the profile", (SCHEDULER_IMAGE,))
    at: tuple[Path, ...] = (("spec", "kubernetes", "version"),)
    if plan.version.count(".") == 2:
        version, reason = plan.version, "the version that the profile states"
    elif plan.minor in NEWEST_PATCH:
        version = f"{plan.version}.{NEWEST_PATCH[plan.minor]}"
        reason = (
            f"the newest known patch of {plan.version}; the minor must not be newer than the API server's"
        )
    else:
        version = f"{plan.version}.0"
        reason = f"the first patch of {plan.version}, of which no other is known"
    return f"registry.k8s.io/kube-scheduler:v{version}", Because(reason, at)


def _tolerations(plan: Plan) -> list[dict[str, Any]]:
    """None where some pool takes any pod; else one for each taint that keeps pods off."""
    hard = [[taint for taint in pool.taints if taint.effect != "PreferNoSchedule"] for pool in plan.pools]
    if not all(hard):
        return []
    keys = sorted({(taint.key, taint.effect) for taints in hard for taint in taints})
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in keys]


def _disruption_budget(plan: Plan) -> Document:
    return Document(
        path="scheduler/deployment.yaml",
        body={
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(plan, NAME, NAMESPACE),
            "spec": {
                "maxUnavailable": 1,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
                "selector": {"matchLabels": {_NAME_LABEL: NAME}},
            },
        },
        why=Because(
            "a drain takes one replica at a time, and is not held up by one that does not start",
            (CONTROL_PLANE,),
        ),
        wave=4,
    )
