"""What kind needs of the host, said before a cluster fails for want of it, and found in the log where it did.

Source: kind's known issues, "Pod errors due to too many open files"; limits are per user, over all containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

#: Limits that kind advises, by sysctl.
ADVISED = {"fs.inotify.max_user_instances": 512, "fs.inotify.max_user_watches": 524288}


def host_limits(root: Path = Path("/proc/sys")) -> dict[str, int | None]:
    """The host's limits; None for one that can't be read."""
    limits: dict[str, int | None] = {}
    for name in ADVISED:
        try:
            limits[name] = int((root / name.replace(".", "/")).read_text())
        except (OSError, ValueError):
            limits[name] = None
    return limits


def warnings(limits: Mapping[str, int | None], nodes: int) -> list[str]:
    """What to raise before a cluster of `nodes` nodes is made."""
    found = []
    for name, advised in ADVISED.items():
        limit = limits.get(name)
        if limit is None:
            found.append(f"{name} can't be read here; kind advises {advised} for clusters of several nodes")
        elif limit < advised and nodes > 1:
            found.append(
                f"{name} is {limit}, kind advises {advised} for {nodes} nodes; run: sysctl -w {name}={advised}"
            )
    return found


def cause_in(log: str) -> str:
    """The host's part in a failure, as a kubelet's log tells it; empty where it tells none."""
    if "inotify_init: too many open files" in log:
        advised = ADVISED["fs.inotify.max_user_instances"]
        return (
            "the host has no inotify instances left (not open files, whatever the text says; not the node image): "
            f"run: sysctl -w fs.inotify.max_user_instances={advised}"
        )
    return ""
