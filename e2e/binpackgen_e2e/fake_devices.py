"""GPUs that do not exist, on real nodes: a device plugin, as an image and as one DaemonSet per pool and resource.

The kubelet registers it, counts its devices and allocates them, as it would with a vendor's plugin.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from binpackgen.cluster.kubectl import POOL_LABEL

from .binaries import binary
from .image_archive import write_archive

IMAGE = "localhost/binpackgen-fake-device-plugin:1"

#: Folder of the kubelet's socket, where plugins make theirs. Source: kubelet v0.37.2, deviceplugin/v1beta1.
SOCKETS = "/var/lib/kubelet/device-plugins"


def plugin() -> Path:
    """The device plugin, a static binary. Raises UnavailableError where it cannot be built."""
    return binary("fake-device-plugin")


def write_image(target: Path, image: str = IMAGE) -> None:
    """Write the plugin's image for `kind load image-archive`."""
    write_archive(target, plugin(), at="/device-plugin", tag=image)


def daemon_set(
    pool: str, resource: str, count: int, image: str = IMAGE, *, pool_label: str = POOL_LABEL
) -> dict[str, Any]:
    """The DaemonSet that offers `count` devices of `resource` on every node of `pool`.

    `pool_label` is the node label that names the pool.
    """
    labels = {
        "app.kubernetes.io/name": "fake-devices",
        "binpackgen.dev/pool": pool,
        "binpackgen.dev/resource": resource.rpartition("/")[2],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": f"fake-devices-{pool}-{resource.replace('/', '-').replace('_', '-').lower()}",
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
                            "image": image,
                            "args": [f"--resource={resource}", f"--count={count}"],
                            "imagePullPolicy": "Never",
                            "volumeMounts": [{"name": "sockets", "mountPath": SOCKETS}],
                        }
                    ],
                    "nodeSelector": {pool_label: pool},
                    "priorityClassName": "system-node-critical",
                    "tolerations": [{"operator": "Exists"}],
                    "volumes": [{"name": "sockets", "hostPath": {"path": SOCKETS, "type": "Directory"}}],
                },
            },
        },
    }
