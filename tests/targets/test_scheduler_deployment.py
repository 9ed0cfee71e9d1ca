"""The second scheduler: a Deployment of its own with the least rights that it needs."""

from __future__ import annotations

import hashlib
from typing import Any

import kubernetes_validate
import pytest

from binpackgen.targets.scheduler.configuration import scheduler_configuration
from tests.targets.scheduler_factory import POOLS, bodies, documents, losses, scheduler_plan

NAME = "binpackgen-scheduler"
LABELS = {
    "app.kubernetes.io/managed-by": "binpackgen",
    "app.kubernetes.io/part-of": "binpackgen",
    "binpackgen.dev/profile": "lab",
}


def metadata(name: str, namespace: str | None = NAME) -> dict[str, Any]:
    return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": LABELS}


def of_kind(kind: str, **sections: Any) -> dict[str, Any]:
    [body] = [
        d.body for d in documents(scheduler_plan("second-scheduler", **sections)) if d.body["kind"] == kind
    ]
    return body


def test_deployment() -> None:
    """Two replicas, restricted Pod Security, probes of the scheduler's own port, and the hashed ConfigMap."""
    config_map = of_kind("ConfigMap")["metadata"]["name"]
    probe = {"httpGet": {"path": "/livez", "port": "https", "scheme": "HTTPS"}}
    ready = {"httpGet": {"path": "/readyz", "port": "https", "scheme": "HTTPS"}}

    assert {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(NAME),
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
            "template": {
                "metadata": {"labels": {**LABELS, "app.kubernetes.io/name": NAME}},
                "spec": {
                    "serviceAccountName": NAME,
                    "priorityClassName": "system-cluster-critical",
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
                            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
                        }
                    ],
                    "containers": [
                        {
                            "name": "kube-scheduler",
                            "image": "registry.k8s.io/kube-scheduler:v1.37.2",
                            "command": [
                                "kube-scheduler",
                                "--config=/etc/binpackgen/kube-scheduler-config.yaml",
                            ],
                            "ports": [{"name": "https", "containerPort": 10259}],
                            "startupProbe": {**probe, "failureThreshold": 24},
                            "livenessProbe": {**probe, "timeoutSeconds": 15},
                            "readinessProbe": {**ready, "timeoutSeconds": 15},
                            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]},
                            },
                            "volumeMounts": [
                                {"name": "config", "mountPath": "/etc/binpackgen", "readOnly": True}
                            ],
                        }
                    ],
                    "volumes": [{"name": "config", "configMap": {"name": config_map}}],
                },
            },
        },
    } == of_kind("Deployment")


def test_rights() -> None:
    """The built-in roles, the lease of its own name, and nothing else."""
    rbac = "rbac.authorization.k8s.io"
    subjects = [{"kind": "ServiceAccount", "name": NAME, "namespace": NAME}]

    assert [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(NAME)},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata(f"{NAME}-kube-scheduler", None),
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "system:kube-scheduler"},
            "subjects": subjects,
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata(f"{NAME}-volume-scheduler", None),
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "system:volume-scheduler"},
            "subjects": subjects,
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "Role",
            "metadata": metadata(f"{NAME}-lease"),
            "rules": [
                {
                    "apiGroups": ["coordination.k8s.io"],
                    "resources": ["leases"],
                    "resourceNames": [NAME],
                    "verbs": ["get", "update"],
                }
            ],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata(f"{NAME}-lease"),
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": f"{NAME}-lease"},
            "subjects": subjects,
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata(f"{NAME}-authentication-reader", "kube-system"),
            "roleRef": {
                "apiGroup": rbac,
                "kind": "Role",
                "name": "extension-apiserver-authentication-reader",
            },
            "subjects": subjects,
        },
    ] == bodies(scheduler_plan("second-scheduler"))["scheduler/rbac.yaml"]


def test_its_namespace_budget_and_quota() -> None:
    """A restricted namespace, one replica at a time, and room for pods of the critical class."""
    namespace = of_kind("Namespace")

    assert namespace["metadata"]["labels"] == {**LABELS, "pod-security.kubernetes.io/enforce": "restricted"}
    assert of_kind("PodDisruptionBudget")["spec"] == {
        "maxUnavailable": 1,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
    }
    assert of_kind("ResourceQuota")["spec"]["hard"] == {"pods": "10"}


def test_a_new_configuration_is_a_new_config_map() -> None:
    """The name ends in the hash of the content, the Deployment follows it, and equal content keeps the name."""
    one, again = of_kind("ConfigMap"), of_kind("ConfigMap", policies={"acceptLoss": True})
    other = of_kind("ConfigMap", packing={"pluginWeight": 3})
    digest = hashlib.sha256(one["data"]["kube-scheduler-config.yaml"].encode()).hexdigest()

    assert f"{NAME}-{digest[:10]}" == one["metadata"]["name"]
    assert one == again
    assert one["metadata"]["name"] != other["metadata"]["name"]
    deployment = of_kind("Deployment", packing={"pluginWeight": 3})
    [volume] = deployment["spec"]["template"]["spec"]["volumes"]
    assert other["metadata"]["name"] == volume["configMap"]["name"]


def test_it_never_touches_the_default_scheduler() -> None:
    """Its lease is its own, and it has no profile that the control plane's scheduler has."""
    plan = scheduler_plan("second-scheduler", packing={"serving": {"schedulerName": "spread"}})
    body = scheduler_configuration(plan, lease=(NAME, NAME), only_scheduler=False).body

    assert body["leaderElection"] == {"leaderElect": True, "resourceName": NAME, "resourceNamespace": NAME}
    assert "clientConnection" not in body
    assert [profile["schedulerName"] for profile in body["profiles"]] == ["batch-packer", "spread"]


def test_taking_over_the_default_scheduler_is_refused() -> None:
    """A second scheduler of the control plane's name would race with it: nothing is made."""
    plan = scheduler_plan("second-scheduler", packing={"schedulerName": "default-scheduler"})

    assert losses(plan) == {"taking over default-scheduler": ("spec", "packing", "schedulerName")}
    assert bodies(plan) == {}


@pytest.mark.parametrize(
    ("version", "image"),
    [
        ("1.31", "registry.k8s.io/kube-scheduler:v1.31.14"),
        ("1.36", "registry.k8s.io/kube-scheduler:v1.36.3"),
        ("1.36.1", "registry.k8s.io/kube-scheduler:v1.36.1"),
        ("1.39", "registry.k8s.io/kube-scheduler:v1.39.0"),
    ],
)
def test_its_image_is_of_the_clusters_minor(version: str, image: str) -> None:
    """A scheduler must not be newer than its API server: the minor is the profile's, the patch the newest known."""
    deployment = of_kind("Deployment", version=version)

    assert image == deployment["spec"]["template"]["spec"]["containers"][0]["image"]


def test_an_own_image_is_used_as_it_stands() -> None:
    """A stated image is never changed."""
    deployment = of_kind("Deployment", image="example.com/kube-scheduler@sha256:" + "0" * 64)

    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"].startswith("example.com/")


def test_it_tolerates_pools_only_where_no_pool_is_open() -> None:
    """With a pool for any pod it runs there; where all are tainted it tolerates their taints."""
    tainted = [{**POOLS[0]}, {**POOLS[1], "taints": [{"key": "batch", "effect": "NoExecute"}]}]

    assert "tolerations" not in of_kind("Deployment")["spec"]["template"]["spec"]
    assert of_kind("Deployment", nodePools=tainted)["spec"]["template"]["spec"]["tolerations"] == [
        {"key": "batch", "operator": "Exists", "effect": "NoExecute"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]


def test_order_of_application() -> None:
    """Namespace and configuration come first, then rights, and the Deployment last."""
    waves = {d.body["kind"]: d.wave for d in documents(scheduler_plan("second-scheduler"))}

    assert waves == {
        "Namespace": -1,
        "ConfigMap": -1,
        "ServiceAccount": 0,
        "ClusterRoleBinding": 0,
        "Role": 0,
        "RoleBinding": 0,
        "ResourceQuota": 0,
        "Deployment": 4,
        "PodDisruptionBudget": 4,
    }


class TestUpstreamSchemas:
    """The objects against the API schemas of each Kubernetes minor, unknown fields forbidden."""

    @pytest.mark.parametrize("minor", range(31, 38))
    def test_every_object_is_valid(self, minor: int) -> None:
        """Each minor from 1.31 to 1.37 knows every field."""
        plan = scheduler_plan(
            "second-scheduler",
            f"1.{minor}",
            nodePools=[{**POOLS[0], "taints": [{"key": "gpu"}]}],
            jobs=[],
        )

        for document in documents(plan):
            kubernetes_validate.validate(document.body, f"1.{minor}", strict=True)

    def test_a_misspelt_field_is_found(self) -> None:
        """Negative control: the schemas refuse a field that does not exist."""
        body = of_kind("Deployment")
        body["spec"]["template"]["spec"]["priorityClass"] = "system-cluster-critical"

        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(body, "1.37", strict=True)
