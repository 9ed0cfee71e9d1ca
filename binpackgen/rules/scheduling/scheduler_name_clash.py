from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...plan.platforms import scheduler_runs_in_cluster
from ..rule import Draft, ProfileRule

_DEFAULT = "default-scheduler"


class SchedulerNameClash(ProfileRule):
    """
    ## What it does
    Reports scheduler names that are taken: `default-scheduler` for a scheduler beside the cluster's own, and a
    serving profile called like the packing profile.

    ## Why it matters
    Two schedulers of one name take the same pods and overcommit nodes in turn; two profiles of one name stop
    the scheduler at start (`Duplicate value`).

    ## Fails
    ```yaml
    kubernetes: {version: "1.37", controlPlane: second-scheduler}
    packing: {schedulerName: default-scheduler}  # <-
    ```

    ## Passes
    ```yaml
    kubernetes: {version: "1.37", controlPlane: kubeadm}
    packing: {schedulerName: default-scheduler}
    ```

    ## Fix
    Choose another name; pods opt in by it.

    ## References
    kubernetes pkg/scheduler/apis/config/validation/validation.go
    """

    code = "BP206"

    def check(self, draft: Draft) -> Iterator[Finding]:
        packing = draft.spec.packing
        name = packing.scheduler_name
        span = draft.span("packing", "schedulerName")
        beside = scheduler_runs_in_cluster(draft.spec)
        if name == _DEFAULT and beside:
            yield self.finding(
                span,
                f'"{name}" is the control plane\'s own scheduler; a second one of that name would take the same pods',
                "choose another name, such as batch-packer",
            )
        serving = packing.serving.scheduler_name if packing.serving else None
        if serving is not None:
            at = draft.span("packing", "serving", "schedulerName")
            if serving == name:
                yield self.finding(
                    at,
                    f'"{serving}" is the name of the packing profile too, and a scheduler starts with neither',
                    "choose another name, such as spread",
                )
            elif serving == _DEFAULT and beside:
                yield self.finding(
                    at,
                    f'"{serving}" is the control plane\'s own scheduler, which spreads; a second one of that name would take the '
                    "same pods",
                    "remove serving, or choose another name",
                )
