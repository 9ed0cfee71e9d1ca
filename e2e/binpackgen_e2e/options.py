"""How a run is to be made."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Options(NamedTuple):
    """`backend` is processes or kind, `kubernetes` as "1.37"; `seed` is of the order in which jobs arrive.

    `keep_logs` keeps them also after success. `node_image` and `kind_patch` are for kind: an image in place of
    the published one, and a file with configuration to merge into the compiled one.
    """

    backend: str
    kubernetes: str
    seed: int = 0
    keep_logs: bool = False
    node_image: str | None = None
    kind_patch: Path | None = None
