"""The DaemonSets of fake devices: where their pods run, and what they offer."""

from __future__ import annotations

from binpackgen_e2e.fake_devices import daemon_set


def test_a_pool_of_gpus() -> None:
    """The whole object: on the pool's nodes whatever their taints, with the kubelet's folder of sockets."""
    labels = {
        "app.kubernetes.io/name": "fake-devices",
        "binpackgen.dev/pool": "a100",
        "binpackgen.dev/resource": "gpu",
    }
    assert daemon_set("a100", "nvidia.com/gpu", 8, "localhost/plugin:1") == {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": "fake-devices-a100-nvidia.com-gpu",
            "namespace": "kube-system",
            "labels": labels,
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "automountServiceAccountToken": False,
                    "containers": [
                        {
                            "name": "plugin",
                            "image": "localhost/plugin:1",
                            "args": ["--resource=nvidia.com/gpu", "--count=8"],
                            "imagePullPolicy": "Never",
                            "volumeMounts": [
                                {"name": "sockets", "mountPath": "/var/lib/kubelet/device-plugins"}
                            ],
                        }
                    ],
                    "nodeSelector": {"binpackgen.dev/pool": "a100"},
                    "priorityClassName": "system-node-critical",
                    "tolerations": [{"operator": "Exists"}],
                    "volumes": [
                        {
                            "name": "sockets",
                            "hostPath": {"path": "/var/lib/kubelet/device-plugins", "type": "Directory"},
                        }
                    ],
                },
            },
        },
    }


def test_resources_of_a_pool_do_not_share_pods() -> None:
    """Two kinds of MIG slices on one pool are two DaemonSets that select different pods."""
    names = ("nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb")
    small, large = (daemon_set("a100", name, 1) for name in names)

    assert small["metadata"]["name"] != large["metadata"]["name"]
    assert small["spec"]["selector"] != large["spec"]["selector"]


def test_the_pools_label_may_be_another() -> None:
    """A profile's own label for pools selects the nodes."""
    spec = daemon_set("a100", "nvidia.com/gpu", 8, pool_label="example.com/pool")["spec"]

    assert spec["template"]["spec"]["nodeSelector"] == {"example.com/pool": "a100"}
