from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class ShapeUnused(ProfileRule):
    """
    ## What it does
    Reports a `packing.shape` that nothing uses: with strategy MostAllocated, or beside a cap in curve form,
    which brings a shape of its own.

    ## Why it matters
    The scheduler refuses a shape outside RequestedToCapacityRatio. Left out in silence, scores would follow
    another curve than the profile says.

    ## Fails
    ```yaml
    packing:
      strategy: MostAllocated
      shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]  # <-
    ```

    ## Passes
    ```yaml
    packing:
      strategy: RequestedToCapacityRatio
      shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
    ```

    ## Fix
    State `strategy: RequestedToCapacityRatio`, or remove the shape; choose another form of the cap.

    ## References
    kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go
    """

    code = "BP208"

    def check(self, draft: Draft) -> Iterator[Finding]:
        packing, caps = draft.spec.packing, draft.spec.caps
        if packing.shape is None:
            return
        span = draft.key("packing", "shape")
        if caps is not None and caps.form == "curve":
            yield self.finding(
                span,
                f"the cap in curve form brings its own shape, so these {len(packing.shape)} points have no effect",
                "remove shape, or use another form of the cap",
                ((draft.span("caps", "form"), "the cap's form"),),
            )
        elif packing.strategy != "RequestedToCapacityRatio":
            yield self.finding(
                span,
                f"these {len(packing.shape)} points belong to RequestedToCapacityRatio; {packing.strategy} has no shape",
                "state strategy: RequestedToCapacityRatio, or remove shape",
            )
