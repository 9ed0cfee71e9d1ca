"""Rules about what a control plane can take (BP8xx)."""

from __future__ import annotations

from .unsupported import unsupported_finding

__all__ = ["unsupported_finding"]
