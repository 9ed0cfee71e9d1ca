from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.pools import DEVICE_PLUGIN_CONFIGURATION
from ..rule import Draft, ProfileRule

#: Labels that binpackgen sets on pools with NVIDIA GPUs, for the device plugin's chart.
_FOR_PLUGIN = ("nvidia.com/gpu.present", DEVICE_PLUGIN_CONFIGURATION)


class LabelCollision(ProfileRule):
    """
    ## What it does
    Reports node labels of the profile that contradict those which binpackgen derives (the pool, the GPU type,
    and what the device plugin looks for), and label keys that are used for two things.

    ## Why it matters
    Jobs, Kueue flavors and pool preferences select nodes by the derived labels. A label that says something
    else moves pods to other nodes, or to none.

    ## Fails
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
        labels:
          binpackgen.dev/gpu-type: v100  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
        labels:
          example.com/rack: r1
    ```

    ## Fix
    Remove the label; or choose other keys for the derived ones in `nodeLabels`.

    ## References
    The profile reference, nodeLabels.
    """

    code = "BP107"

    def check(self, draft: Draft) -> Iterator[Finding]:
        keys = draft.spec.node_labels
        if keys.pool == keys.gpu_type:
            yield self.finding(
                draft.span("nodeLabels", "gpuType"),
                f'"{keys.gpu_type}" is the key of both the pool label and the GPU type label',
                "choose two keys",
            )
        for name, key in (("pool", keys.pool), ("gpuType", keys.gpu_type)):
            if key in _FOR_PLUGIN:
                yield self.finding(
                    draft.span("nodeLabels", name),
                    f'"{key}" is for the device plugin, so it cannot be the {name} label too',
                    "choose another key",
                )
        for index, pool in enumerate(draft.pools):
            own = {keys.pool: pool.name, keys.gpu_type: pool.gpu_type}
            for key, value in pool.source.labels.items():
                derived = own.get(key, pool.labels[key])
                if derived != value:
                    yield self.finding(
                        draft.key("nodePools", index, "labels", key),
                        f'label {key} of pool "{pool.name}" is "{value}", and binpackgen sets it to "{derived}"',
                        "remove the label",
                    )
