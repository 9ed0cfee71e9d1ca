"""The command line's entry point."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run `binpackgen`, or `kubectl binpack` when started as that plugin."""
    # a command lives for a moment and makes few cycles; collecting while modules load costs a fifth of its time
    gc.set_threshold(100_000, 50, 50)
    # pydantic looks through all installed packages for plugins when it is imported: 30 ms for nothing
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from .cli import command

    plugin = os.path.basename(sys.argv[0]).startswith("kubectl-")
    command.main(prog_name="kubectl binpack" if plugin else "binpackgen")


if __name__ == "__main__":
    main()
