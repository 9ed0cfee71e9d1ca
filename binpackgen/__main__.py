"""The command line's entry point."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run `binpackgen`, or `kubectl binpack` when started as that plugin."""
    from .cli import command

    plugin = os.path.basename(sys.argv[0]).startswith("kubectl-")
    command.main(prog_name="kubectl binpack" if plugin else "binpackgen")


if __name__ == "__main__":
    main()
