"""Every change of the watched kinds, from the first on, in the order in which the API server made them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from binpackgen.errors import BinpackgenError
from binpackgen.metrics.changes import Change

from .api import Api, Kind, Object

#: Seconds between two looks at the least, and at the most where nothing changes.
_AGAIN, _UNASKED = 0.05, 0.5
#: Namespace and name.
Key = tuple[str, str]


class Recorder:
    """Watches kinds of objects until it is closed. `alive` is asked while waiting and raises if all is lost."""

    def __init__(self, api: Api, kinds: Iterable[Kind], alive: Callable[[], None]) -> None:
        self._api = api
        self._alive = alive
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._changes: list[Change] = []
        self._objects: dict[str, dict[Key, Object]] = {}
        self._failed: list[BaseException] = []
        for kind in kinds:
            items, version = api.snapshot(kind)
            for item in items:
                at_version = int(item["metadata"]["resourceVersion"])
                self._take(Change(at_version, time.time(), "ADDED", kind.name, item))
            threading.Thread(target=self._watch, args=(kind, version), daemon=True).start()

    def close(self) -> None:
        """Watch no more."""
        self._stop.set()

    def _watch(self, kind: Kind, version: int) -> None:
        try:
            for change in self._api.watch(kind, version, self._stop):
                self._take(change)
        except BaseException as error:  # it must not pass unseen in a thread
            with self._changed:
                self._failed.append(error)
                self._changed.notify_all()

    def _take(self, change: Change) -> None:
        metadata = change.object["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        with self._changed:
            self._changes.append(change)
            objects = self._objects.setdefault(change.kind, {})
            if change.type == "DELETED":
                objects.pop(key, None)
            else:
                objects[key] = dict(change.object)
            self._changed.notify_all()

    def changes(self, since: int = 0) -> list[Change]:
        """What has arrived after a position, in order of version."""
        return self.since(since)[0]

    def since(self, position: int) -> tuple[list[Change], int]:
        """What has arrived after a position, in order of version, and the position for the next time.

        Kinds are watched side by side: a change may arrive after a later one of another kind, and is then part of
        the next answer.
        """
        with self._changed:
            arrived = self._changes[position:]
            return sorted(arrived, key=lambda change: change.version), len(self._changes)

    def now(self) -> tuple[list[Change], int]:
        """What is there now, as if it had just been added, and the position from which on `since` goes on."""
        with self._changed:
            added = [
                Change(int(item["metadata"]["resourceVersion"]), time.time(), "ADDED", kind, item)
                for kind, objects in self._objects.items()
                for item in objects.values()
            ]
            position = len(self._changes)
        return sorted(added, key=lambda change: change.version), position

    def objects(self, kind: Kind) -> list[Object]:
        """What is there now."""
        with self._changed:
            return list(self._objects.get(kind.name, {}).values())

    def until(
        self,
        what: str,
        condition: Callable[[], bool],
        seconds: float,
        progress: Callable[[], None] | None = None,
    ) -> float:
        """Wait until `condition` holds, asking after changes; answers the seconds it took.

        Raises BinpackgenError when the time is over, or when a watch or a process has failed.
        """
        start = time.monotonic()
        while True:
            with self._changed:
                seen = len(self._changes)
            if self._failed:
                raise BinpackgenError(f"{what}: a watch failed: {self._failed[0]}") from self._failed[0]
            self._alive()
            if condition():
                return time.monotonic() - start
            if progress is not None:
                progress()
            left = seconds - (time.monotonic() - start)
            if left <= 0:
                raise BinpackgenError(f"{what}: not after {seconds:.0f} s")
            # asking costs a pass over the objects: not after every change of a burst
            time.sleep(_AGAIN)
            with self._changed:
                if len(self._changes) == seen and not self._failed:
                    self._changed.wait(min(left, _UNASKED))
