from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ..rule import Judgement, PolicyRule, key_span


class FixedRule(PolicyRule):
    """
    ## What it does
    Reports severities and waivers for findings that cannot be softened: those about a profile's text, and
    errors without which no plan can be made.

    ## Why it matters
    A reference to a queue that does not exist is no matter of opinion. The policy has no effect, and the
    finding stands.

    ## Fails
    ```yaml
    policies:
      severities:
        duplicate-pool-name: ignore  # <-
    ```

    ## Passes
    ```yaml
    policies:
      severities:
        packing-not-dominant: warning
    ```

    ## Fix
    Remove the entry, and mend what the rule reports.

    ## References
    `binpackgen explain CODE` prints a rule's page.
    """

    code = "BP602"
    severity = Severity.WARNING

    def check(self, judgement: Judgement) -> Iterator[Finding]:
        policies = judgement.loaded.profile.spec.policies
        stated = [
            (name, key_span(judgement.loaded, ("spec", "policies", "severities", name)))
            for name in policies.severities
        ]
        stated += [
            (waiver.rule, judgement.loaded.span(("spec", "policies", "waivers", index, "rule")))
            for index, waiver in enumerate(policies.waivers)
        ]
        for name, span in stated:
            if judgement.adjustable.get(name, True):
                continue
            yield self.finding(
                span,
                f'"{name}" cannot be softened: no plan can be made of what it reports',
                "remove this entry",
            )
