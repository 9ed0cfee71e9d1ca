"""The command line's entry point."""

from __future__ import annotations

import gc
import os
import sys
from types import ModuleType


def main() -> None:
    """Run `binpackgen`, or `kubectl binpack` when started as that plugin."""
    _start_lightly()
    from .cli import command

    plugin = os.path.basename(sys.argv[0]).startswith("kubectl-")
    try:
        command.main(prog_name="kubectl binpack" if plugin else "binpackgen")
    finally:
        gc.freeze()  # the interpreter's last collection would walk everything for 30 ms and free nothing


def _start_lightly() -> None:
    """Leave out what a command that lives for a moment does not need."""
    # few cycles are made; collecting while modules load costs a fifth of the time
    gc.set_threshold(100_000, 50, 50)
    # pydantic asks all installed packages for plugins, and imports importlib.metadata and email to do so
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    loader = ModuleType("pydantic.plugin._loader")
    loader.get_plugins = tuple  # type: ignore[attr-defined]
    sys.modules.setdefault(loader.__name__, loader)


if __name__ == "__main__":
    main()
