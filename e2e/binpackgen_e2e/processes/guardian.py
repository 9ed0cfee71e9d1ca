"""Ends the processes of a run whose owner is gone, however it went.

It reads its orders from standard input, one a line: `watch PID`, `forget PID`, `undo COMMAND` and `undone
COMMAND` (a JSON list), `folder PATH` (to be removed at the end), `keep` (the folder). End of input means that
the owner has ended: what is still watched is ended, then killed, and what is not undone is undone. Run as a script of its own session, so that neither Ctrl-C nor a kill of the owner reaches it.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time


def main() -> None:
    """Follow orders until the input ends, then clean up."""
    watched: dict[int, None] = {}
    undo: list[list[str]] = []
    folders: list[str] = []
    for line in sys.stdin:
        order, _, value = line.rstrip("\n").partition(" ")
        if order == "watch":
            watched[int(value)] = None
        elif order == "forget":
            # one that was killed before is forgotten twice
            watched.pop(int(value), None)
        elif order == "undo":
            undo.append(json.loads(value))
        elif order == "undone":
            undo.remove(json.loads(value))
        elif order == "folder":
            folders.append(value)
        elif order == "keep":
            folders.clear()
    for number, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 1.0)):
        for pid in reversed(watched):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
        end = time.monotonic() + patience
        while time.monotonic() < end and any(_is_there(pid) for pid in watched):
            time.sleep(0.05)
    for command in undo:
        with contextlib.suppress(OSError):
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _is_there(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main()
