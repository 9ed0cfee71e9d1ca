"""Small Go programs in this folder that put a question to upstream's own code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from binpackgen_e2e.binaries import UnavailableError

HERE = Path(__file__).parent


def answer(program: str, question: Any) -> list[Any]:
    """The JSON documents that the program in folder `program` answers to `question`.

    Raises binpackgen_e2e.binaries.UnavailableError where it cannot be built.
    """
    done = subprocess.run(
        [_built(program)], input=json.dumps(question), capture_output=True, text=True, check=True, timeout=60
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@lru_cache
def _built(program: str) -> Path:
    go = shutil.which("go")
    if go is None:
        raise UnavailableError(program, "there is no go on PATH")
    target = Path(tempfile.mkdtemp(prefix="binpackgen-")) / program
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    command = [go, "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-o", str(target), "."]
    done = subprocess.run(command, cwd=HERE / program, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise UnavailableError(program, done.stderr.strip())
    return target
