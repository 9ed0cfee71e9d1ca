from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...source import Path
from ..rule import Judgement, PolicyRule, key_span, suggestion


class UnknownRule(PolicyRule):
    """
    ## What it does
    Reports severities and waivers that name no rule.

    ## Why it matters
    A misspelled name changes nothing, and nobody notices until the rule speaks up, or keeps silent.

    ## Fails
    ```yaml
    policies:
      severities:
        packing-not-dominat: warning  # <-
    ```

    ## Passes
    ```yaml
    policies:
      severities:
        packing-not-dominant: warning
    ```

    ## Fix
    Name a rule by its code or its name, as they stand in its findings.

    ## References
    `binpackgen explain CODE` prints a rule's page.
    """

    code = "BP601"

    def check(self, judgement: Judgement) -> Iterator[Finding]:
        policies = judgement.loaded.profile.spec.policies
        for name in policies.severities:
            yield from self._unknown(judgement, name, ("spec", "policies", "severities", name), True)
        for index, waiver in enumerate(policies.waivers):
            path = ("spec", "policies", "waivers", index, "rule")
            yield from self._unknown(judgement, waiver.rule, path, False)

    def _unknown(self, judgement: Judgement, name: str, path: Path, is_key: bool) -> Iterator[Finding]:
        if name in judgement.adjustable:
            return
        span = key_span(judgement.loaded, path) if is_key else judgement.loaded.span(path)
        yield self.finding(
            span,
            f'no rule has the code or name "{name}", so this changes nothing',
            suggestion(span, name, judgement.adjustable, "rules"),
        )
