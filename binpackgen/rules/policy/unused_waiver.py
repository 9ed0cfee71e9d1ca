from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ..rule import Judgement, PolicyRule
from .expired_waiver import expired


class UnusedWaiver(PolicyRule):
    """
    ## What it does
    Reports waivers that meet no finding.

    ## Why it matters
    What was waived has been mended, or the waiver names another place than it should. It would hide the next
    finding of that rule, which nobody has looked at.

    ## Fails
    ```yaml
    policies:
      waivers:
        - rule: packing-not-dominant  # <-
          reason: the night queue may spread
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, taints: []}
    policies:
      waivers:
        - {rule: gpu-pool-without-taint, reason: only batch runs here, at: "spec.nodePools[0]"}
    ```

    ## Fix
    Remove the waiver, or correct its rule or its path.

    ## References
    The profile reference, policies.waivers.
    """

    code = "BP603"
    severity = Severity.WARNING

    def check(self, judgement: Judgement) -> Iterator[Finding]:
        if not judgement.complete:
            return
        for index, waiver in enumerate(judgement.loaded.profile.spec.policies.waivers):
            if index in judgement.used or not judgement.adjustable.get(waiver.rule, False):
                continue
            if expired(waiver.until, judgement.today):
                continue
            where = f" at {waiver.at}" if waiver.at is not None else ""
            yield self.finding(
                judgement.loaded.span(("spec", "policies", "waivers", index, "rule")),
                f'"{waiver.rule}" reports nothing{where} that this waiver could waive',
                "remove the waiver",
            )
