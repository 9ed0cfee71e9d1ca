"""The Go program beside this file, built once from the module that go.sum pins and kept with the binaries."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from e2e import binaries

HERE = Path(__file__).resolve().parent
MODULE = "k8s.io/kubernetes"
ARGUMENTS = ("-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", ".")


def program() -> Path:
    """The built program. Raises UnavailableError where it cannot be had."""
    pin = binaries._pin(HERE, MODULE)
    digest = hashlib.sha256(binaries._digest(HERE, ARGUMENTS).encode() + (HERE / "main.go").read_bytes())
    key = f"schedulerscores-{pin.version}-{binaries._platform()}-{digest.hexdigest()[:16]}"
    path = binaries._cache() / "bin" / key / "schedulerscores"
    if not path.is_file():
        with binaries._lock("go-build"):
            if not path.is_file():
                binaries._compile(binaries._Build(f"schedulerscores {pin.version}", pin, ARGUMENTS, path))
    return path


def answers(path: Path, lines: Iterable[Any]) -> list[Any]:
    """What the program says to each case among `lines`; configurations get no answer."""
    text = "\n".join(json.dumps(line) for line in lines)
    done = subprocess.run([str(path)], input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
