"""A small client of the Kubernetes API: requests, and watches that survive a restart of the server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import urllib3

from binpackgen.errors import BinpackgenError
from binpackgen.metrics.changes import Change

Object = dict[str, Any]
#: Namespace and name.
_Key = tuple[str, str]

#: Seconds to wait for a connection, and for an answer.
_TIMEOUT = urllib3.Timeout(connect=2.0, read=30.0)
#: Seconds after which the server ends the stream of a watch, to be taken up again.
_STREAM = 20


class ApiError(BinpackgenError):
    """The API server refused a request; `status` is the HTTP status, 0 where there was no answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Kind(NamedTuple):
    """A kind of object, by what its paths are made of."""

    name: str
    group_version: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of one object, or of all in a namespace, or of all."""
        root = "/api/" if "/" not in self.group_version else "/apis/"
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{self.group_version}{inside}/{self.plural}" + (f"/{name}" if name else "")


NODE = Kind("Node", "v1", "nodes", namespaced=False)
POD = Kind("Pod", "v1", "pods")
EVENT = Kind("Event", "v1", "events")
NAMESPACE = Kind("Namespace", "v1", "namespaces", namespaced=False)
SERVICE = Kind("Service", "v1", "services")
SERVICE_ACCOUNT = Kind("ServiceAccount", "v1", "serviceaccounts")
VOLUME = Kind("PersistentVolume", "v1", "persistentvolumes", namespaced=False)
CLAIM = Kind("PersistentVolumeClaim", "v1", "persistentvolumeclaims")
BUDGET = Kind("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets")
JOB = Kind("Job", "batch/v1", "jobs")
JOB_SET = Kind("JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets")
DAEMON_SET = Kind("DaemonSet", "apps/v1", "daemonsets")
WORKLOAD = Kind("Workload", "kueue.x-k8s.io/v1beta2", "workloads")
CLUSTER_QUEUE = Kind("ClusterQueue", "kueue.x-k8s.io/v1beta2", "clusterqueues", namespaced=False)
LOCAL_QUEUE = Kind("LocalQueue", "kueue.x-k8s.io/v1beta2", "localqueues")
RESOURCE_FLAVOR = Kind("ResourceFlavor", "kueue.x-k8s.io/v1beta2", "resourceflavors", namespaced=False)
PRIORITY_CLASS = Kind("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", namespaced=False)
DEFINITION = Kind(
    "CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False
)
MUTATING_WEBHOOK = Kind(
    "MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_WEBHOOK = Kind(
    "ValidatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1",
    "validatingwebhookconfigurations",
    namespaced=False,
)

KINDS = (
    NODE, POD, EVENT, NAMESPACE, SERVICE, SERVICE_ACCOUNT, VOLUME, CLAIM, BUDGET, JOB, JOB_SET, DAEMON_SET,
    WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, PRIORITY_CLASS, DEFINITION, MUTATING_WEBHOOK,
    VALIDATING_WEBHOOK,
)  # fmt: skip


def kind_of(item: Mapping[str, Any]) -> Kind:
    """The kind that an object states. Raises KeyError for a kind that is not in KINDS."""
    return next(kind for kind in KINDS if kind.name == item["kind"])


class Api:
    """One API server, with one identity. Safe to use from several threads."""

    def __init__(self, server: str, ca: Path, certificate: Path, key: Path) -> None:
        self.server = server
        self._pool = urllib3.PoolManager(
            maxsize=32,
            ca_certs=str(ca),
            cert_file=str(certificate),
            key_file=str(key),
            timeout=_TIMEOUT,
            retries=False,
        )

    def raw(self, path: str, *, method: str = "GET", body: Any = None, patch: str = "") -> bytes:
        """The answer to one request. Raises ApiError."""
        headers = {"Content-Type": f"application/{patch}" if patch else "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            answer = self._pool.request(method, self.server + path, body=data, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(0, f"{method} {path}: no answer: {error}") from error
        if answer.status >= 400:
            raise ApiError(answer.status, f"{method} {path}: {_message(answer.data)}")
        return answer.data

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        """One object. Raises ApiError with status 404 where there is none."""
        return _object(self.raw(kind.path(namespace, name)))

    def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """One object, or None."""
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def all(self, kind: Kind, namespace: str = "", labels: str = "") -> list[Object]:
        """All objects, each with its kind, as they are now."""
        return self.snapshot(kind, namespace, labels)[0]

    def snapshot(self, kind: Kind, namespace: str = "", labels: str = "") -> tuple[list[Object], int]:
        """All objects, and the version of the whole cluster at that moment."""
        query = f"?labelSelector={labels}" if labels else ""
        answer = _object(self.raw(kind.path(namespace) + query))
        items = [{"kind": kind.name, "apiVersion": kind.group_version, **item} for item in answer["items"]]
        return items, int(answer["metadata"]["resourceVersion"])

    def create(self, item: Object) -> Object:
        """Create an object of one of KINDS."""
        kind = kind_of(item)
        namespace = item["metadata"].get("namespace", "")
        return _object(self.raw(kind.path(namespace), method="POST", body=item))

    def apply(self, item: Object) -> Object:
        """Server-side apply of an object of one of KINDS."""
        kind = kind_of(item)
        path = kind.path(item["metadata"].get("namespace", ""), item["metadata"]["name"])
        query = "?fieldManager=binpackgen-e2e&force=true"
        return _object(self.raw(path + query, method="PATCH", body=item, patch="apply-patch+yaml"))

    def patch(
        self, kind: Kind, name: str, change: Object, namespace: str = "", subresource: str = ""
    ) -> Object:
        """A JSON merge patch."""
        path = kind.path(namespace, name) + (f"/{subresource}" if subresource else "")
        return _object(self.raw(path, method="PATCH", body=change, patch="merge-patch+json"))

    def delete(self, kind: Kind, name: str, namespace: str = "", grace: int | None = None) -> None:
        """Delete one object with what it owns; no error where it is gone already."""
        options: Object = {"propagationPolicy": "Background"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            self.raw(kind.path(namespace, name), method="DELETE", body=options)
        except ApiError as error:
            if error.status != 404:
                raise

    def delete_all(self, kind: Kind, namespace: str) -> None:
        """Delete all objects of a namespace, with what they own."""
        self.raw(kind.path(namespace), method="DELETE", body={"propagationPolicy": "Background"})

    def watch(self, kind: Kind, since: int, stop: threading.Event) -> Iterator[Change]:
        """Changes after the version `since`, until `stop`; the stream is taken up again where it broke.

        A server that was started again serves watches from its start on only; what it passes over is made up for
        from lists of the versions before, so that nothing is missing but what both came and went in between.
        Raises ApiError with status 410 where the server no longer has those versions: a gap that must not be
        passed over.
        """
        version = since
        while not stop.is_set():
            query = f"watch=true&allowWatchBookmarks=true&timeoutSeconds={_STREAM}&resourceVersion={version}"
            try:
                answer = self._pool.request(
                    "GET",
                    f"{self.server}{kind.path()}?{query}",
                    preload_content=False,
                    timeout=urllib3.Timeout(connect=2.0, read=2.0 * _STREAM),
                )
                if answer.status >= 400:
                    raise ApiError(answer.status, f"watch of {kind.plural}: {_message(answer.read())}")
                for line in _lines(answer, stop):
                    event = json.loads(line)
                    item = event["object"]
                    if event["type"] == "ERROR":
                        raise ApiError(item.get("code", 0), f"watch of {kind.plural}: {item.get('message')}")
                    version = int(item["metadata"]["resourceVersion"])
                    if event["type"] != "BOOKMARK":
                        item.setdefault("kind", kind.name)
                        yield Change(version, time.time(), event["type"], kind.name, item)
            except ApiError as error:
                if error.status != 410:
                    stop.wait(0.2)
                    continue
                try:
                    missed, version = self._missed(kind, version)
                except ApiError as again:
                    if again.status == 410:
                        raise
                    stop.wait(0.2)
                    continue
                yield from missed
            except urllib3.exceptions.HTTPError:
                stop.wait(0.1)

    def _missed(self, kind: Kind, since: int) -> tuple[list[Change], int]:
        """Changes between a version and now, from lists of the versions between; and the version of now."""
        newer, now = self.snapshot(kind)
        return list(self._between(kind, since, self._at(kind, since), now, _by_key(newer))), now

    def _between(
        self, kind: Kind, since: int, older: dict[_Key, Object], until: int, newer: dict[_Key, Object]
    ) -> Iterator[Change]:
        """Changes that lead from one version's objects to another's, found by halving."""
        changed = [key for key in older.keys() | newer.keys() if _version(older, key) != _version(newer, key)]
        if not changed:
            return
        if until - since > 1:
            middle = (since + until) // 2
            between = self._at(kind, middle)
            yield from self._between(kind, since, older, middle, between)
            yield from self._between(kind, middle, between, until, newer)
            return
        for key in sorted(changed):
            if key not in newer:
                yield Change(until, time.time(), "DELETED", kind.name, older[key])
            else:
                yield Change(
                    until, time.time(), "MODIFIED" if key in older else "ADDED", kind.name, newer[key]
                )

    def _at(self, kind: Kind, version: int) -> dict[_Key, Object]:
        """All objects as they were at a version."""
        answer = _object(self.raw(f"{kind.path()}?resourceVersion={version}&resourceVersionMatch=Exact"))
        return _by_key({"kind": kind.name, "apiVersion": kind.group_version, **i} for i in answer["items"])


def _by_key(items: Iterable[Object]) -> dict[_Key, Object]:
    return {(item["metadata"].get("namespace", ""), item["metadata"]["name"]): item for item in items}


def _version(items: Mapping[_Key, Object], key: _Key) -> str:
    return str(items[key]["metadata"]["resourceVersion"]) if key in items else ""


def _lines(answer: urllib3.BaseHTTPResponse, stop: threading.Event) -> Iterator[bytes]:
    rest = b""
    try:
        while not stop.is_set():
            chunk = answer.read1(1 << 20)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
    finally:
        answer.close()


def wait_for(
    what: str,
    condition: Callable[[], Any],
    seconds: float,
    interval: float = 0.05,
    alive: Callable[[], None] | None = None,
) -> Any:
    """The first truthy answer of `condition`; ApiErrors count as not yet.

    `alive` raises where waiting has become useless. Raises BinpackgenError when the time is over.
    """
    end = time.monotonic() + seconds
    last = ""
    while True:
        if alive is not None:
            alive()
        try:
            answer = condition()
        except ApiError as error:
            answer, last = None, f": {error}"
        if answer:
            return answer
        if time.monotonic() > end:
            raise BinpackgenError(f"{what}: not after {seconds:.0f} s{last}")
        time.sleep(interval)


def _object(data: bytes) -> Object:
    answer: Object = json.loads(data)
    return answer


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data).get("message", ""))
    except ValueError:
        return data.decode(errors="replace")[:300]
