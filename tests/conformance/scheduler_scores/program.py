"""The Go programs in this folder and beside it, one per Kubernetes minor, built once and kept with the binaries."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from binpackgen_e2e import binaries

#: Folders of the programs by minor; each pins the module of its own.
FOLDERS = {34: "scheduler_scores_1_34", 37: "scheduler_scores"}


def program(minor: int) -> Path:
    """The built program. Raises UnavailableError where it cannot be had."""
    return binaries.program(Path(__file__).resolve().parents[1] / FOLDERS[minor], "k8s.io/kubernetes")


def answers(path: Path, lines: Iterable[Any]) -> list[Any]:
    """What the program says to each case among `lines`; configurations get no answer."""
    text = "\n".join(json.dumps(line) for line in lines)
    done = subprocess.run([str(path)], input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
