"""What holds for all tests: nothing fails for being slow on a busy machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")
