"""What a watch makes up for after a server was started again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from binpackgen_e2e.api import POD, Api, Object

#: Versions of pods by the version of the cluster: a is changed at 11, 13 and 16 and goes at 18, b comes at 14.
HISTORY: dict[int, dict[str, int]] = {
    10: {"a": 9, "c": 5},
    11: {"a": 11, "c": 5},
    13: {"a": 13, "c": 5},
    14: {"a": 13, "b": 14, "c": 5},
    16: {"a": 16, "b": 14, "c": 5},
    18: {"b": 14, "c": 5},
    30: {"b": 14, "c": 5},
}


class Remembering(Api):
    """A server that knows every version and counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__("https://127.0.0.1:1", Path(), Path(), Path())
        self.asked = 0

    def raw(self, path: str, *, method: str = "GET", body: Any = None, patch: str = "") -> bytes:
        assert (method, body, patch) == ("GET", None, "")
        version = 30
        if "?" in path:
            version = int(path.partition("?resourceVersion=")[2].removesuffix("&resourceVersionMatch=Exact"))
        self.asked += 1
        state = HISTORY[max(known for known in HISTORY if known <= version)]
        items: list[Object] = [
            {"metadata": {"name": name, "namespace": "x", "resourceVersion": str(at)}}
            for name, at in state.items()
        ]
        return json.dumps({"metadata": {"resourceVersion": str(version)}, "items": items}).encode()


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Remembering:
    monkeypatch.setattr("urllib3.PoolManager", lambda **_: None)
    return Remembering()


def test_every_change_between_two_versions_is_found(api: Remembering) -> None:
    """Also those of an object that was changed several times and is gone now, each at its version."""
    missed, now = api._missed(POD, 10)

    assert 30 == now
    assert [
        (11, "MODIFIED", "a"),
        (13, "MODIFIED", "a"),
        (14, "ADDED", "b"),
        (16, "MODIFIED", "a"),
        (18, "DELETED", "a"),
    ] == [(change.version, change.type, change.object["metadata"]["name"]) for change in missed]


def test_nothing_between_costs_two_requests(api: Remembering) -> None:
    """Most kinds have not changed while the server was away."""
    assert ([], 30) == api._missed(POD, 18)
    assert 2 == api.asked
