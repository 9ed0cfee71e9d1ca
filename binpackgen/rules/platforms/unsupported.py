from __future__ import annotations

from ...document import Unsupported as Loss
from ...finding import Finding
from ...plan.model import Plan
from ..rule import Rule


class Unsupported(Rule):
    """
    ## What it does
    Reports what the profile asks for and the control plane cannot express.

    ## Why it matters
    A managed control plane that takes no plugin weights does not pack, however its other settings look.
    Nothing is left out in silence: either the profile changes, or it consents.

    ## Fails
    ```yaml
    kubernetes:
      version: "1.37"
      controlPlane: k3s
      schedulerImage: registry.example.com/scheduler:1  # <-
    ```

    ## Passes
    ```yaml
    kubernetes:
      version: "1.37"
      controlPlane: second-scheduler
      schedulerImage: registry.example.com/scheduler:1
    ```

    ## Fix
    Use `kubernetes.controlPlane: second-scheduler`, which runs beside a closed control plane; or set
    `policies.acceptLoss: true`, which writes the losses to a report in the tree.

    ## References
    The page on control planes.
    """

    code = "BP801"
    stage = "output"


_UNSUPPORTED = Unsupported()


def unsupported_finding(plan: Plan, loss: Loss) -> Finding:
    """The finding for something that the plan's control plane cannot express.

    Where the profile leaves the value to its default, the finding stands at the control plane.
    """
    what, reason, alternative = (
        " ".join(text.split()).rstrip(".") for text in (loss.what, loss.reason, loss.alternative)
    )
    _, reached = plan.loaded.root.nearest(loss.at)
    at = loss.at if len(reached) > 1 else ("spec", "kubernetes", "controlPlane")
    return _UNSUPPORTED.finding(
        plan.span(at), f'"{plan.control_plane}" cannot express {what}: {reason}', alternative
    )
