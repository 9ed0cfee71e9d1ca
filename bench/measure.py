"""CPU time and memory of whole processes, from the kernel's own accounting."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """The least user plus system time of several runs in milliseconds, and the greatest resident size in MiB."""

    cpu_ms: float
    memory_mib: float


def measure(command: list[str], runs: int, cwd: Path | None = None) -> Cost:
    """Run `command` `runs` times, each as a child of its own; a failure ends the benchmark."""
    times: list[float] = []
    memory = 0.0
    for _ in range(runs):
        with (
            open(os.devnull, "wb") as null,
            subprocess.Popen(command, cwd=cwd, stdout=null, stderr=subprocess.PIPE) as child,
        ):
            error = child.stderr.read() if child.stderr else b""
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed: {error.decode(errors='replace')[-2000:]}")
        times.append((usage.ru_utime + usage.ru_stime) * 1000)
        memory = max(memory, usage.ru_maxrss / 1024)
    return Cost(min(times), memory)
