"""A container image of one static binary, without an engine or a registry: what `kind load image-archive` takes.

The archive has the form that `docker save` writes: a layer, a configuration that names the layer's digest, and
manifest.json that names both. Source: moby v28, image/spec/spec.md. Equal input gives equal bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any

#: Go's names, which images use, of what the machine calls itself.
ARCHITECTURES = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "amd64"}


def write_archive(target: Path, binary: Path, *, at: str, tag: str) -> None:
    """Write the image `tag` to `target`: `binary` stands at `at`, an absolute path, and is the entrypoint.

    Its folder is on PATH, for pods that call it by name.

    A tag with its registry, as localhost/NAME:VERSION, keeps its name in every engine.
    """
    layer = _tar([*_folders(at), (at.lstrip("/"), binary.read_bytes(), 0o755)])
    config = _json(
        {
            "architecture": ARCHITECTURES[platform.machine()],
            "config": {"Entrypoint": [at], "Env": [f"PATH={PurePosixPath(at).parent}"], "WorkingDir": "/"},
            "created": "1970-01-01T00:00:00Z",
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "binpackgen"}],
            "os": "linux",
            "rootfs": {"diff_ids": [f"sha256:{_digest(layer)}"], "type": "layers"},
        }
    )
    names = (f"{_digest(config)}.json", f"{_digest(layer)}.tar")
    manifest = _json([{"Config": names[0], "Layers": [names[1]], "RepoTags": [tag]}])
    target.write_bytes(
        _tar([(names[0], config, 0o644), (names[1], layer, 0o644), ("manifest.json", manifest, 0o644)])
    )


def _folders(at: str) -> list[tuple[str, None, int]]:
    parents = [str(parent) for parent in PurePosixPath(at.lstrip("/")).parents]
    return [(parent, None, 0o755) for parent in reversed(parents) if parent != "."]


def _tar(entries: list[Any]) -> bytes:
    """Files, and folders (without content), as (name, content, mode); all of root and of the same time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content, mode in entries:
            entry = tarfile.TarInfo(name)
            entry.mode = mode
            if content is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _json(body: Any) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
