"""The Go program beside this file, built once from the module that go.sum pins and kept with the binaries."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from binpackgen_e2e import binaries


def program() -> Path:
    """The built program. Raises UnavailableError where it cannot be had."""
    return binaries.program(Path(__file__).resolve().parent, "k8s.io/kubernetes")


def answers(path: Path, lines: Iterable[Any]) -> list[Any]:
    """What the program says to each case among `lines`; configurations get no answer."""
    text = "\n".join(json.dumps(line) for line in lines)
    done = subprocess.run([str(path)], input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
