from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule


class ShapeNotRising(ProfileRule):
    """
    ## What it does
    Reports points of `packing.shape` whose utilization does not rise from point to point.

    ## Why it matters
    The scheduler does not start: `values must be sorted in increasing order`.

    ## Fails
    ```yaml
    packing:
      strategy: RequestedToCapacityRatio
      shape:
        - {utilization: 100, score: 10}
        - {utilization: 0, score: 0}  # <-
    ```

    ## Passes
    ```yaml
    packing:
      strategy: RequestedToCapacityRatio
      shape:
        - {utilization: 0, score: 0}
        - {utilization: 100, score: 10}
    ```

    ## Fix
    Sort the points by utilization and give each utilization once.

    ## References
    kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go, validateFunctionShape
    """

    code = "BP207"

    def check(self, draft: Draft) -> Iterator[Finding]:
        shape = draft.spec.packing.shape or ()
        for index in range(1, len(shape)):
            before, here = shape[index - 1].utilization, shape[index].utilization
            if here <= before:
                yield self.finding(
                    draft.span("packing", "shape", index, "utilization"),
                    f"utilization {here} follows {before}; the points of a shape rise strictly, or the scheduler does not start",
                    "sort the points by utilization, each once",
                )
