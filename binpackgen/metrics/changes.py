"""Changes of a cluster's objects, in the order in which the API server made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Object = Mapping[str, Any]


class Change(NamedTuple):
    """One event of a watch.

    `version` is the object's resourceVersion: etcd's revision, which orders the changes of all kinds of one
    cluster. `at` is when the event arrived, in seconds of one clock. `object` is the whole object after the
    change; of a deletion, the last one.
    """

    version: int
    at: float
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    kind: str
    object: Object
