"""Processes of one run: started, watched, killed and started again; gone when the run is, whatever ends it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from binpackgen.errors import BinpackgenError

from . import guardian

#: Seconds that a process has to end by itself.
_PATIENCE = 1.5


#: On their small heaps a third of the work of a burst would be garbage collection.
_GO = {"GOGC": "400"}


class Process:
    """One program with its log. It leads a process group, so that Ctrl-C reaches it through us alone."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = folder / f"{name}.log"
        self._folder = folder
        self._environment = dict(environment)
        self._killed = False
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Start it, or start it again; its log goes on. Answers the process id."""
        self._killed = False
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self._running.pid

    @property
    def pid(self) -> int:
        """The process id of the last start. Raises BinpackgenError before the first."""
        if self._running is None:
            raise BinpackgenError(f"{self.name} was never started")
        return self._running.pid

    def check(self) -> None:
        """Raises BinpackgenError with the end of the log where the process has ended by itself."""
        if self._running is not None and not self._killed and self._running.poll() is not None:
            raise BinpackgenError(
                f"{self.name} ended with status {self._running.returncode}; the end of {self.log}:\n"
                + self.last_lines()
            )

    def last_lines(self, count: int = 8) -> str:
        """The end of the log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(line[:400] for line in lines[-count:])

    def kill(self) -> None:
        """End it without warning, on purpose."""
        self._killed = True
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and all that it started."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pid, number)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within `seconds`."""
        if self._running is None:
            return True
        try:
            self._running.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


class Supervisor:
    """The folder and the processes of one run, as a context: both are gone at its end.

    `keep` keeps the folder (for its logs); then `folder` stays and the caller says where it is. A guardian in
    a session of its own cleans up where this process itself is killed.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="binpackgen-e2e-"))
        self.processes: dict[str, Process] = {}
        self._kept = False
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", guardian.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._order(f"folder {self.folder}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> Process:
        """Start a program; its environment is `environment`, the path and _GO, nothing else."""
        inherited = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), **_GO}
        process = Process(name, command, self.folder, inherited | dict(environment or {}))
        self.processes[name] = process
        self._order(f"watch {process.start()}")
        return process

    def kill(self, name: str) -> None:
        """Kill a process without warning (SIGKILL)."""
        process = self.processes[name]
        process.kill()
        process.wait(_PATIENCE)
        self._order(f"forget {process.pid}")

    def restart(self, name: str) -> None:
        """Start a killed process again, with the same command."""
        self._order(f"watch {self.processes[name].start()}")

    def check(self) -> None:
        """Raises BinpackgenError where a process has ended that was not killed on purpose."""
        for process in self.processes.values():
            process.check()

    @contextlib.contextmanager
    def undoing(self, command: Sequence[str]) -> Iterator[None]:
        """Run `command` at the end of the block, whatever happens; the guardian does where we are killed."""
        order = json.dumps(list(command))
        self._order(f"undo {order}")
        try:
            yield
        finally:
            subprocess.run(command, capture_output=True, check=False)
            self._order(f"undone {order}")

    def keep(self) -> Path:
        """Keep the folder beyond the end of the run; answers it."""
        self._kept = True
        self._order("keep")
        return self.folder

    def close(self) -> None:
        """End all processes, the last started first, and remove the folder unless it is kept."""
        backwards = list(reversed(self.processes.values()))
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in backwards:
                process.signal(number)
            end = time.monotonic() + _PATIENCE
            # a process that has not ended leaves no time for those after it, and all get the next signal
            if all(process.wait(max(0.0, end - time.monotonic())) for process in backwards):
                break
        if not self._kept:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._guardian.stdin is not None and not self._guardian.stdin.closed:
            for process in backwards:
                self._order(f"forget {process.pid}")
            with contextlib.suppress(BrokenPipeError):
                self._guardian.stdin.close()
        self._guardian.wait()
        self.processes.clear()

    def _order(self, text: str) -> None:
        if self._guardian.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._guardian.stdin.write(text.encode() + b"\n")
                self._guardian.stdin.flush()


def free_ports(count: int) -> list[int]:
    """Ports of loopback on which nobody listens now; held together, so that no two are equal."""
    with contextlib.ExitStack() as stack:
        ports = []
        for _ in range(count):
            held = stack.enter_context(socket.socket())
            held.bind(("127.0.0.1", 0))
            ports.append(int(held.getsockname()[1]))
        return ports
