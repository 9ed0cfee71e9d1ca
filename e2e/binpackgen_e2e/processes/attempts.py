"""When a scheduler took up each pod, from its log: the order of its decisions, which bindings don't keep.

Bindings are written side by side, so under load the API server sees them in another order than that in which the
scheduler chose the nodes, and a right choice looks wrong beside a later one that was written first.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path

#: Flag that makes a scheduler log its attempts: "Attempting to schedule pod" in pkg/scheduler/schedule_one.go.
FLAG = "--vmodule=schedule_one=3"

_ATTEMPT = re.compile(
    r'^I(\d\d)(\d\d) (\d\d):(\d\d):(\d\d\.\d+) .*"Attempting to schedule pod" pod="([^/"]+)/([^"]+)"'
)

#: Namespace and name of a pod.
PodKey = tuple[str, str]


def attempts(log: Path) -> dict[PodKey, list[float]]:
    """The times of each pod's attempts, in seconds since the epoch.

    klog writes local time without the year: the current one is taken, or the last where that lies ahead.
    """
    found: dict[PodKey, list[float]] = {}
    now = time.time()
    year = time.localtime(now).tm_year
    with log.open(errors="replace") as lines:
        for line in lines:
            if (match := _ATTEMPT.match(line)) is not None:
                month, day, hour, minute = map(int, match.groups()[:4])
                seconds = float(match[5])
                whole = (month, day, hour, minute, int(seconds), 0, 0, -1)
                at = time.mktime((year, *whole))
                if at > now + 86400:
                    at = time.mktime((year - 1, *whole))
                found.setdefault((match[6], match[7]), []).append(at + seconds % 1)
    return found


def last_before(times: Iterable[float], end: float) -> float | None:
    """The last attempt that is not after `end`, None without one."""
    return max((at for at in times if at <= end), default=None)
