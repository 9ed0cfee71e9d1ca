from __future__ import annotations

from collections.abc import Iterator

from ...finding import Edit, Finding, Fix, Severity
from ...plan.model import Plan
from ..rule import PlanRule

_KEY = "nvidia.com/gpu"


class TaintHidesNfd(PlanRule):
    """
    ## What it does
    Reports GPU pools whose taint nvidia.com/gpu has a value other than `present`.

    ## Why it matters
    The device plugin tolerates the key with any value, but the node-feature-discovery worker that its chart
    brings tolerates only `present`. It stays away from the nodes, which then lack the labels that tell which
    GPUs they have, and nothing reports an error.

    ## Fails
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
        taints:
          - {key: nvidia.com/gpu, value: "true"}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
        taints:
          - {key: nvidia.com/gpu, value: present}
    ```

    ## Fix
    Use the value `present`, or leave `taints` out.

    ## References
    NVIDIA/k8s-device-plugin issue 1934; chart 0.19.0, subchart node-feature-discovery 0.17.3
    """

    code = "BP110"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        for pool in plan.pools:
            if not pool.has_gpus or pool.source.taints is None:
                continue
            for index, taint in enumerate(pool.source.taints):
                if taint.key != _KEY or taint.value == "present" or taint.effect == "PreferNoSchedule":
                    continue
                path = (*pool.at, "taints", index, "value")
                stated = plan.loaded.root.nearest(path)[1] == path
                span = plan.span(path)
                edits = (Edit(span, "present"),) if stated else ()
                yield self.finding(
                    span,
                    f'taint {_KEY} of pool "{pool.name}" has the value "{taint.value}", and the NFD worker of the device '
                    'plugin\'s chart tolerates only "present"',
                    Fix("use the value present", edits),
                )
