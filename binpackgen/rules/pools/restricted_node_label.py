from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...plan.model import Plan
from ...plan.node_labels import may_label_itself
from ..rule import PlanRule, key_span


class RestrictedNodeLabel(PlanRule):
    """
    ## What it does
    Reports labels under kubernetes.io and k8s.io that a kubelet may not give its own node, on pools whose
    labels come from kubelet settings.

    ## Why it matters
    A kubelet with such a label in --node-labels ends at start (`unknown 'kubernetes.io' or 'k8s.io' labels`).
    So the label is left out of the kubelet settings and set by a kubectl command, which somebody has to run
    again when nodes join.

    ## Fails
    ```yaml
    nodePools:
      - name: gpu
        count: 2
        cpu: 32
        memory: 128Gi
        gpu: {type: a100, count: 4}
        labels:
          topology.kubernetes.io/rack: r1  # <-
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
          topology.kubernetes.io/zone: z1
          node.kubernetes.io/gpu-pool: a100
    ```

    ## Fix
    Use a key with a prefix of your own, such as example.com/rack, or another `provisioning`.

    ## References
    kubernetes issue 85503; kubelet/pkg/apis/well_known_labels.go
    """

    code = "BP108"
    severity = Severity.WARNING

    def check(self, plan: Plan) -> Iterator[Finding]:
        by_kubelet = [pool for pool in plan.pools if pool.source.provisioning == "kubelet"]
        # a pool label that no kubelet may set is an error of the targets: nothing can select the nodes
        key = plan.spec.node_labels.gpu_type
        if by_kubelet and not may_label_itself(key):
            yield self.finding(
                plan.span(("spec", "nodeLabels", "gpuType")),
                f"a kubelet may not give its node the label {key}, so a command has to label the nodes of {len(by_kubelet)} pools",
                "choose a key with a prefix of your own",
            )
        for pool in by_kubelet:
            for key in pool.source.labels:
                if not may_label_itself(key):
                    yield self.finding(
                        key_span(plan.loaded, (*pool.at, "labels", key)),
                        f'a kubelet may not give its node the label {key}, so a command has to label the nodes of pool "{pool.name}"',
                        f"use a prefix of your own, such as example.com/{key.rpartition('/')[2]}",
                    )
