"""What holds for all tests: nothing fails for being slow on a busy machine, and a run in CI tries the same every time.

Elsewhere random examples are new ones at every run, which is how rare faults are found.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("new-examples", deadline=None)
settings.register_profile("same-examples", deadline=None, derandomize=True)
settings.load_profile(
    "same-examples" if os.environ.get("BINPACKGEN_REQUIRE_TIERS") == "all" else "new-examples"
)
