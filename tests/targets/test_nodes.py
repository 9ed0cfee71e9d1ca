"""Labels, taints and reserved resources of nodes, per provisioning."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from binpackgen.document import Document, TextFile, Unsupported
from binpackgen.plan.node_labels import may_label_itself
from binpackgen.targets import nodes
from binpackgen.targets.nodes.feature_rule import allowed
from tests.targets.plan_factory import plan

LABELS = {
    "app.kubernetes.io/managed-by": "binpackgen",
    "app.kubernetes.io/part-of": "binpackgen",
    "binpackgen.dev/profile": "lab",
}
CASE = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "lb02"


def outputs(spec: str) -> list[Any]:
    return list(nodes.compile(plan(spec)))


def files(spec: str) -> dict[str, Any]:
    """Bodies and texts by path; nothing may be unsupported."""
    found = outputs(spec)
    assert not [one for one in found if isinstance(one, Unsupported)]
    return {one.path: one.body if isinstance(one, Document) else one.text for one in found}


def losses(spec: str) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(one.what, one.at) for one in outputs(spec) if isinstance(one, Unsupported)]


def pool(**more: str) -> str:
    stated = {
        "name": "a100",
        "count": "8",
        "cpu": "32",
        "memory": "128Gi",
        "gpu": "{type: a100, count: 4}",
        **more,
    }
    return (
        "nodePools:\n  - {" + ", ".join(f"{key}: {value}" for key, value in stated.items() if value) + "}\n"
    )


class TestKubelet:
    """provisioning: kubelet."""

    def test_a_plain_cpu_pool_needs_labels_alone(self) -> None:
        """Where everything is as the kubelet has it by default, there is no configuration to write."""
        assert files("") == {
            "nodes/cpu/kubelet.env": (
                "# kubeadm: /etc/default/kubelet (Debian, Ubuntu) or /etc/sysconfig/kubelet on the nodes of this pool.\n"
                "# Elsewhere: the labels of the platform's node pool.\n"
                "# A node takes the labels when it first registers; one that has joined is labelled with kubectl.\n"
                "KUBELET_EXTRA_ARGS=--node-labels=binpackgen.dev/gpu-type=none,binpackgen.dev/pool=cpu\n"
            )
        }

    def test_everything_that_differs_from_the_defaults(self) -> None:
        """Reserves with the cap's headroom, the stated threshold beside the kubelet's others, pods and taints."""
        spec = "caps: {headroom: {cpu: 2, memory: 8Gi}}\n" + pool(
            pods="64",
            reserved="{kube: {cpu: 100m, memory: 1Gi}, system: {memory: 512Mi}, evictionMemory: 200Mi}",
        )

        assert files(spec)["nodes/a100/kubelet-configuration.yaml"] == {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "maxPods": 64,
            "kubeReserved": {"cpu": "100m", "memory": "1Gi"},
            "systemReserved": {"cpu": "2", "memory": "8704Mi"},
            "evictionHard": {
                "memory.available": "200Mi",
                "nodefs.available": "10%",
                "nodefs.inodesFree": "5%",
                "imagefs.available": "15%",
                "imagefs.inodesFree": "5%",
            },
            "registerWithTaints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        }

    def test_reserves_are_explained_in_numbers(self) -> None:
        """The cap's headroom is told apart from what the profile reserves, and allocatable is worked out."""
        spec = "caps: {headroom: {cpu: 2, memory: 8Gi}}\n" + pool(reserved="{system: {memory: 512Mi}}")
        document = next(one for one in outputs(spec) if isinstance(one, Document))

        assert document.because(("systemReserved", "memory")).reason == (
            "headroom 8Gi of the cap stays free on every node, plus 512Mi for the operating system"
        )
        assert document.because(("systemReserved", "cpu")).paths == (
            ("spec", "caps", "headroom", "cpu"),
            ("spec", "nodePools", 0, "reserved", "system", "cpu"),
        )
        assert document.why.reason.endswith(
            "allocatable is 30 cpu and 122268Mi memory: capacity 32 cpu and 128Gi memory less 2 cpu and 8704Mi "
            "memory systemReserved, 100Mi eviction threshold"
        )

    @pytest.mark.parametrize("form", ["curve", "filter"])
    def test_only_the_reserve_form_of_a_cap_reserves(self, form: str) -> None:
        """The other forms of a cap are the scheduler's business."""
        spec = f"caps: {{headroom: {{cpu: 2}}, form: {form}}}\n" + pool()

        assert "systemReserved" not in files(spec)["nodes/a100/kubelet-configuration.yaml"]

    def test_no_eviction_threshold_is_a_percentage(self) -> None:
        """The kubelet refuses the quantity 0; 0% switches the signal off."""
        configuration = files(pool(reserved="{evictionMemory: 0}"))["nodes/a100/kubelet-configuration.yaml"]

        assert configuration["evictionHard"]["memory.available"] == "0%"

    def test_forbidden_labels_go_through_the_api(self) -> None:
        """A label that would end the kubelet is set by a command, never by --node-labels (case lb02)."""
        found = files(pool(labels="{node-role.kubernetes.io/gpu: '', topology.kubernetes.io/zone: z1}"))
        flag = (
            found["nodes/a100/kubelet.env"].splitlines()[-1].removeprefix("KUBELET_EXTRA_ARGS=--node-labels=")
        )

        assert dict(label.split("=") for label in flag.split(",")) == {
            "binpackgen.dev/gpu-type": "a100",
            "binpackgen.dev/pool": "a100",
            "nvidia.com/gpu.present": "true",
            "topology.kubernetes.io/zone": "z1",
        }
        assert found["nodes/a100/commands.sh"].splitlines()[-1] == (
            "kubectl label nodes --overwrite --selector binpackgen.dev/pool=a100 node-role.kubernetes.io/gpu="
        )

    def test_a_pool_label_that_no_kubelet_may_set_is_refused(self) -> None:
        """Without its label the nodes of a pool cannot be found, so no command could set it either."""
        spec = "nodeLabels: {pool: node-role.kubernetes.io/pool}\n" + pool()

        assert losses(spec) == [
            ("label node-role.kubernetes.io/pool on the nodes of pool a100", ("spec", "nodeLabels", "pool"))
        ]

    @pytest.mark.skipif(not CASE.is_dir(), reason="the cases are not beside the repository")
    def test_recorded_answers_of_a_real_kubelet(self) -> None:
        """Labels that a real kubelet accepted, and labels at which it ended (case lb02)."""
        lines = (CASE / "node-labels.txt").read_text().splitlines()
        keys = [line.partition("=")[0] for line in lines if not line.startswith("#")]
        refused = {
            "node-role.kubernetes.io/gpu",
            "kubernetes.io/role",
            "topology.kubernetes.io/rack",
            "node-restriction.kubernetes.io/gpu",
            "k8s.io/pool",
        }

        assert {key for key in keys if not may_label_itself(key)} == refused

    def test_k3s_and_rke2_take_lists_of_labels_and_taints(self) -> None:
        """Their configuration files add to what others state, and the kubelet's settings are a drop-in."""
        found = files("kubernetes: {version: '1.37', controlPlane: rke2}\n" + pool(pods="64"))

        assert found == {
            "nodes/a100/config.yaml": {
                "node-label+": [
                    "binpackgen.dev/gpu-type=a100",
                    "binpackgen.dev/pool=a100",
                    "nvidia.com/gpu.present=true",
                ],
                "node-taint+": ["nvidia.com/gpu=present:NoSchedule"],
            },
            "nodes/a100/kubelet-configuration.yaml": {
                "apiVersion": "kubelet.config.k8s.io/v1beta1",
                "kind": "KubeletConfiguration",
                "maxPods": 64,
            },
        }

    def test_talos_takes_a_machine_configuration(self) -> None:
        """Labels, taints and the kubelet's settings are one patch of the machine."""
        spec = (
            "kubernetes: {version: '1.37', controlPlane: talos}\ncaps: {headroom: {cpu: 2, memory: 8Gi}}\n"
        ) + pool(taints="[{key: dedicated}]")

        assert files(spec) == {
            "nodes/a100/machine-config.yaml": {
                "machine": {
                    "kubelet": {"extraConfig": {"systemReserved": {"cpu": "2", "memory": "8Gi"}}},
                    "nodeLabels": {
                        "binpackgen.dev/gpu-type": "a100",
                        "binpackgen.dev/pool": "a100",
                        "nvidia.com/gpu.present": "true",
                    },
                    "nodeTaints": {"dedicated": ":NoSchedule"},
                }
            }
        }

    def test_talos_has_one_taint_per_key(self) -> None:
        """A second taint of a key would be lost, so it is refused."""
        spec = "kubernetes: {version: '1.37', controlPlane: talos}\n" + pool(
            taints="[{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]"
        )

        assert losses(spec) == [
            ("several taints of one key on pool a100", ("spec", "nodePools", 0, "taints"))
        ]

    def test_gke_reserves_by_itself(self) -> None:
        """A cap in reserve form cannot be expressed on GKE and must not vanish."""
        spec = "kubernetes: {version: '1.37', controlPlane: gke}\ncaps: {headroom: {cpu: 2}}\n" + pool()

        assert losses(spec) == [("the cap in reserve form on pool a100", ("spec", "caps", "form"))]


class TestPatch:
    """provisioning: patch."""

    SPEC = pool(
        provisioning="patch", nodes="[gpu-1, gpu-2]", taints="[{key: dedicated, value: ml}, {key: spot}]"
    )

    def test_patches_hold_labels_alone_and_are_not_synced(self) -> None:
        """A patch with taints would own the node's whole list of taints; a synced node could be pruned."""
        documents = [one for one in outputs(self.SPEC) if isinstance(one, Document)]

        assert [one.body for one in documents] == [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "labels": {
                        "binpackgen.dev/gpu-type": "a100",
                        "binpackgen.dev/pool": "a100",
                        "nvidia.com/gpu.present": "true",
                    },
                },
            }
            for name in ("gpu-1", "gpu-2")
        ]
        assert {one.sync for one in documents} == {False}

    def test_taints_are_added_by_a_command(self) -> None:
        """kubectl taint adds taints to a node and keeps those of Kubernetes."""
        (command,) = [one for one in outputs(self.SPEC) if isinstance(one, TextFile)]

        assert (command.path, shlex.split(command.text.splitlines()[-1])) == (
            "nodes/a100/commands.sh",
            [
                *("kubectl", "taint", "nodes", "--overwrite", "--selector", "binpackgen.dev/pool=a100"),
                *("dedicated=ml:NoSchedule", "spot:NoSchedule"),
            ],
        )

    def test_reserves_still_go_to_the_kubelet(self) -> None:
        """Only labels and taints can be patched; a cap in reserve form is a kubelet setting."""
        found = files("caps: {headroom: {cpu: 2}}\n" + self.SPEC)

        assert found["nodes/a100/kubelet-configuration.yaml"] == {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "systemReserved": {"cpu": "2"},
        }

    def test_without_names_there_is_nothing_to_patch(self) -> None:
        """A pool that names no nodes cannot be patched."""
        assert losses(pool(provisioning="patch")) == [
            ("patches for the nodes of pool a100", ("spec", "nodePools", 0, "provisioning"))
        ]


class TestKarpenter:
    """provisioning: karpenter."""

    SPEC = pool(provisioning="karpenter", count="", max="8", zones="[b, a]")

    def test_whole_node_pool(self) -> None:
        """The pool's size bounds it, the instance type is what the labels promise, and only empty nodes go."""
        (document,) = [one for one in outputs(self.SPEC) if isinstance(one, Document)]
        aws = "karpenter.k8s.aws/instance-"

        assert (document.path, document.sync, document.wave) == ("nodes/a100/node-pool.yaml", True, 1)
        assert document.body == {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "a100", "labels": LABELS},
            "spec": {
                "template": {
                    "metadata": {
                        "labels": {
                            "binpackgen.dev/gpu-type": "a100",
                            "binpackgen.dev/pool": "a100",
                            "nvidia.com/gpu.present": "true",
                        }
                    },
                    "spec": {
                        "nodeClassRef": {
                            "group": "karpenter.k8s.aws",
                            "kind": "EC2NodeClass",
                            "name": "a100",
                        },
                        "requirements": [
                            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                            {"key": f"{aws}cpu", "operator": "In", "values": ["32"]},
                            {"key": f"{aws}memory", "operator": "Gt", "values": ["131071"]},
                            {"key": f"{aws}gpu-name", "operator": "In", "values": ["a100"]},
                            {"key": f"{aws}gpu-count", "operator": "In", "values": ["4"]},
                            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]},
                        ],
                        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
                    },
                },
                "limits": {"cpu": "256"},
                "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"},
            },
        }

    def test_a_cpu_pool_buys_no_gpus(self) -> None:
        """An instance with GPUs would carry the label of a node without."""
        body = files(pool(provisioning="karpenter", count="", max="8", gpu=""))["nodes/a100/node-pool.yaml"]

        assert body["spec"]["template"]["spec"]["requirements"][-1] == {
            "key": "karpenter.k8s.aws/instance-gpu-name",
            "operator": "DoesNotExist",
        }

    def test_kubelet_settings_are_part_of_the_node_class(self) -> None:
        """A NodePool has none of them; the node class that the user supplies takes them."""
        found = files("caps: {headroom: {cpu: 2, memory: 8Gi}}\n" + self.SPEC)

        assert found["nodes/a100/node-class.yaml"] == {
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": "a100"},
            "spec": {"kubelet": {"systemReserved": {"cpu": "2", "memory": "8Gi"}}},
        }

    def test_azure_has_other_names(self) -> None:
        """On AKS the node class and the labels of instance types are Azure's."""
        found = files(
            "kubernetes: {version: '1.37', controlPlane: aks}\n"
            + self.SPEC.replace("zones", "pods: 64, zones")
        )
        template = found["nodes/a100/node-pool.yaml"]["spec"]["template"]["spec"]

        assert template["nodeClassRef"] == {
            "group": "karpenter.azure.com",
            "kind": "AKSNodeClass",
            "name": "a100",
        }
        assert template["requirements"][3] == {
            "key": "karpenter.azure.com/sku-gpu-name",
            "operator": "In",
            "values": ["A100"],
        }
        assert found["nodes/a100/node-class.yaml"] == {
            "apiVersion": "karpenter.azure.com/v1beta1",
            "kind": "AKSNodeClass",
            "metadata": {"name": "a100"},
            "spec": {"maxPods": 64},
        }

    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            (
                pool(provisioning="karpenter"),
                ("at least 8 nodes in pool a100", ("spec", "nodePools", 0, "count")),
            ),
            (
                pool(provisioning="karpenter", count="", min="2", max="8"),
                ("at least 2 nodes in pool a100", ("spec", "nodePools", 0, "min")),
            ),
            (
                pool(
                    provisioning="karpenter", count="", max="8", labels="{karpenter.sh/do-not-sync-taints: x}"
                ),
                (
                    "label karpenter.sh/do-not-sync-taints on the nodes of pool a100",
                    ("spec", "nodePools", 0, "labels", "karpenter.sh/do-not-sync-taints"),
                ),
            ),
            (
                pool(
                    provisioning="karpenter",
                    count="",
                    max="8",
                    gpu="{type: a100, count: 4, sharing: {strategy: time-slicing, replicas: 2, rename: true}}",
                ),
                (
                    "nodes for pods that ask for nvidia.com/gpu.shared in pool a100",
                    ("spec", "nodePools", 0, "gpu"),
                ),
            ),
            (
                "kubernetes: {version: '1.37', controlPlane: aks}\ncaps: {headroom: {cpu: 2}}\n"
                + pool(provisioning="karpenter", count="", max="8"),
                ("the cap in reserve form on pool a100", ("spec", "caps", "form")),
            ),
            (
                "kubernetes: {version: '1.37', controlPlane: gke}\n"
                + pool(provisioning="karpenter", count="", max="8"),
                ("a Karpenter NodePool for pool a100", ("spec", "nodePools", 0, "provisioning")),
            ),
        ],
        ids=["count", "min", "label", "renamed", "reserve on Azure", "gke"],
    )
    def test_what_karpenter_cannot_hold_is_refused(self, spec: str, expected: Any) -> None:
        """A least size, labels of Karpenter's own, resources of no instance type, a cap that nothing carries."""
        assert losses(spec) == [expected]


class TestFeatureRule:
    """provisioning: nfd."""

    def test_a_gpu_model_is_found_by_its_pci_devices(self) -> None:
        """A rule labels and taints whatever node has the pool's GPU, also one that joins later."""
        (document,) = outputs(pool(provisioning="nfd", gpu="{type: NVIDIA-A30, count: 4}"))

        assert document.body == {
            "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
            "kind": "NodeFeatureRule",
            "metadata": {"name": "binpackgen-a100", "labels": LABELS},
            "spec": {
                "rules": [
                    {
                        "name": "a100",
                        "labels": {
                            "binpackgen.dev/gpu-type": "NVIDIA-A30",
                            "binpackgen.dev/pool": "a100",
                            "nvidia.com/gpu.present": "true",
                        },
                        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
                        "matchFeatures": [
                            {
                                "feature": "pci.device",
                                "matchExpressions": {
                                    "vendor": {"op": "In", "value": ["10de"]},
                                    "device": {"op": "In", "value": ["20b7"]},
                                },
                            }
                        ],
                    }
                ]
            },
        }

    def test_named_nodes_are_matched_by_name(self) -> None:
        """Names tell the nodes of a pool from others where hardware does not."""
        (document,) = outputs(pool(provisioning="nfd", gpu="", nodes="[n-2, n-1]"))

        assert document.body["spec"]["rules"][0]["matchFeatures"] == [
            {
                "feature": "system.name",
                "matchExpressions": {"nodename": {"op": "In", "value": ["n-1", "n-2"]}},
            }
        ]

    @pytest.mark.parametrize("more", [{"gpu": ""}, {"gpu": "{type: my-gpu, count: 4}"}])
    def test_nodes_that_nothing_tells_apart_are_refused(self, more: dict[str, str]) -> None:
        """A rule that matched other nodes would label them with this pool."""
        assert losses(pool(provisioning="nfd", **more)) == [
            ("a NodeFeatureRule that finds the nodes of pool a100", ("spec", "nodePools", 0, "provisioning"))
        ]

    def test_two_pools_of_one_model_are_refused(self) -> None:
        """PCI devices say nothing about which of two pools of A100s a node belongs to."""
        spec = pool(provisioning="nfd") + (
            "  - {name: big, count: 1, cpu: 64, memory: 256Gi, gpu: {type: A100-SXM4-80GB, count: 8}}\n"
        )

        assert losses(spec) == [
            ("a NodeFeatureRule that finds the nodes of pool a100", ("spec", "nodePools", 0, "provisioning"))
        ]

    def test_keys_that_a_rule_may_not_set_are_refused(self) -> None:
        """Keys without a domain and those of kubernetes.io would be dropped by node-feature-discovery."""
        spec = pool(provisioning="nfd", labels="{rack: r1}", taints="[{key: node.kubernetes.io/gpu}]")

        assert losses(spec) == [
            ("label rack on the nodes of pool a100", ("spec", "nodePools", 0, "labels")),
            ("taint node.kubernetes.io/gpu on the nodes of pool a100", ("spec", "nodePools", 0, "taints")),
        ]

    @pytest.mark.parametrize(
        ("key", "expected"),
        [
            ("gpu-pool", False),
            ("kubernetes.io/pool", False),
            ("node-role.kubernetes.io/gpu", False),
            ("feature.node.kubernetes.io/pool", True),
            ("lab.feature.node.kubernetes.io/pool", True),
            ("k8s.io/pool", True),
            ("notkubernetes.io/pool", True),
            ("example.com/pool", True),
        ],
    )
    def test_domains(self, key: str, expected: bool) -> None:
        """The rule of node-feature-discovery 0.17.3, pkg/apis/nfd/validate."""
        assert allowed(key, ("feature.node.kubernetes.io",)) is expected
