"""The lock file of a tree: what was built from what, so that hand edits and strays can be told apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from .. import __version__
from ..plan.model import Plan

LOCK = "binpackgen.lock.json"

_LOCK_VERSION = 1


def digest(content: bytes) -> str:
    """The SHA-256 of `content` as the lock file writes it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def profile_digest(plan: Plan) -> str:
    """The digest of what the profile says once its layers are merged.

    Comments, layout, the order of keys and the names of the layers do not count.
    """
    merged = plan.loaded.root.plain()
    merged.pop("extends", None)
    return digest(json.dumps(merged, sort_keys=True, separators=(",", ":")).encode())


def lock_content(plan: Plan, digests: Mapping[str, str]) -> bytes:
    """The lock file of a tree whose other files have `digests` by path."""
    lock = {
        "lockVersion": _LOCK_VERSION,
        "binpackgen": __version__,
        "profile": {"name": plan.name, "digest": profile_digest(plan)},
        "kubernetes": plan.version,
        "files": dict(digests),
    }
    return (json.dumps(lock, indent=2, sort_keys=True) + "\n").encode()


def read_lock(content: bytes) -> dict[str, Any] | None:
    """The lock that `content` is, or None if it is none (merge conflict, other format)."""
    try:
        lock = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(lock, dict) or lock.get("lockVersion") != _LOCK_VERSION:
        return None
    files = lock.get("files")
    if not isinstance(files, dict) or not all(isinstance(value, str) for value in files.values()):
        return None
    return lock


def same_build(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two locks say the same but for the version of binpackgen.

    A release that changes no file must not make a difference in the users' repositories.
    """
    return {**one, "binpackgen": None} == {**other, "binpackgen": None}
