from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from ...finding import Finding, Severity
from ..rule import Judgement, PolicyRule


def last_day(until: str) -> date | None:
    """The day that `until` names, or None where the calendar has no such day."""
    try:
        return date.fromisoformat(until)
    except ValueError:
        return None


def expired(until: str | None, today: date) -> bool:
    """Whether a waiver until then no longer holds; one whose day does not exist never does."""
    if until is None:
        return False
    day = last_day(until)
    return day is None or day < today


class ExpiredWaiver(PolicyRule):
    """
    ## What it does
    Reports waivers whose last day is over, or is no day of the calendar.

    ## Why it matters
    The waiver has no effect any more: what it hid stands again. Someone promised to mend it by then.

    ## Fails
    ```yaml
    policies:
      waivers:
        - rule: gpu-pool-without-taint
          reason: taints come with the next maintenance
          until: "2024-02-01"  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4}, taints: []}
    policies:
      waivers:
        - rule: gpu-pool-without-taint
          reason: taints come with the next maintenance
          until: "2099-02-01"
    ```

    ## Fix
    Mend what the waiver was for, or give it a new day with a reason that still holds.

    ## References
    The profile reference, policies.waivers.
    """

    code = "BP604"
    severity = Severity.WARNING

    def check(self, judgement: Judgement) -> Iterator[Finding]:
        for index, waiver in enumerate(judgement.loaded.profile.spec.policies.waivers):
            if not expired(waiver.until, judgement.today):
                continue
            exists = last_day(str(waiver.until)) is not None
            yield self.finding(
                judgement.loaded.span(("spec", "policies", "waivers", index, "until")),
                f'the waiver of "{waiver.rule}" ended on {waiver.until} and has no effect any more'
                if exists
                else f"the calendar has no {waiver.until}, so the waiver has no effect",
                "mend what it waives, or give it a new last day"
                if exists
                else "write a day such as 2027-01-31",
            )
