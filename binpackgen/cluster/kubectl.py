"""Nodes from `kubectl get nodes -o json`, with what real clusters add to them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from ..errors import FindingsError
from ..finding import Finding
from ..profile.codes import DUPLICATE_KEY, INVALID_VALUE, SYNTAX, UNREADABLE
from ..profile.models import Gpu, Taint
from ..profile.types import label_key_problem, label_value_problem
from ..quantity import Quantity, QuantityError
from ..source import Span
from .gpus import gpu_of, is_device, type_label
from .model import ClusterNode, NodeList, some

POOL_LABEL = "binpackgen.dev/pool"

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

#: Taints of nodes that batch work cannot have, and what such a node is.
_LEFT_OUT = {
    **dict.fromkeys(_CONTROL_PLANE, "control plane"),
    "virtual-kubelet.io/provider": "virtual kubelet",
    "eks.amazonaws.com/compute-type": "Fargate",
}

#: Taints that come and go with a node's condition: kubelet, node controllers, autoscalers, network agents.
_PASSING_TAINT = re.compile(
    r"node\.kubernetes\.io/.*|node\.cloudprovider\.kubernetes\.io/.*|karpenter\.sh/.*|readiness\.k8s\.io/.*"
    r"|startup-taint\.cluster-autoscaler\.kubernetes\.io/.*|(DeletionCandidateOf|ToBeDeletedBy)ClusterAutoscaler"
    r"|.+/agent-not-ready"
)

#: Labels that something else keeps: Kubernetes, discovery agents, clouds, distributions, this project.
_KEPT_BY_OTHERS = re.compile(
    r"(.+\.)?(kubernetes\.io|k8s\.io|nvidia\.com|amd\.com|intel\.com|habana\.ai|google\.com|amazonaws\.com"
    r"|azure\.com|karpenter\.sh|k8s\.aws|eksctl\.io|openshift\.io|cattle\.io|k3s\.io|gardener\.cloud"
    r"|binpackgen\.dev)/.*"
    r"|agentpool|storageprofile|storagetier"
)

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MOST_PODS = 2500
_LEAST_MEMORY = 4 * 1024**2


def read_kubectl(text: str, file: str) -> NodeList:
    """The nodes of a List of v1 Node, or of a single Node.

    Raises FindingsError for everything in `text` that is no such thing.
    """
    return _Reader(text, file).read()


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.findings: list[Finding] = []
        self.said: dict[str, list[str]] = defaultdict(list)

    def read(self) -> NodeList:
        items = self.items()
        nodes: list[ClusterNode] = []
        names: set[str] = set()
        minor = -1
        for item in items:
            name = _mapping(item.get("metadata")).get("name")
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                what = (
                    "no metadata.name" if name is None else f"the name {json.dumps(name)[:80]}, which is none"
                )
                self.findings.append(INVALID_VALUE.at(self.place(name), f"a node has {what}"))
                continue
            if name in names:
                self.findings.append(DUPLICATE_KEY.at(self.place(name), f'the list has node "{name}" twice'))
                continue
            names.add(name)
            node = self.node(name, item)
            if node is not None:
                nodes.append(node)
            kubelet = str(_mapping(_mapping(item.get("status")).get("nodeInfo")).get("kubeletVersion"))
            version = re.match(r"v1\.([1-9][0-9]?)\.", kubelet)
            minor = max(minor, int(version[1]) if version else -1)
        if self.findings:
            raise FindingsError(self.findings)
        notes = tuple(
            f"{what}: {len(who)} node{'s' if len(who) > 1 else ''} ({some(who)})"
            for what, who in sorted(self.said.items())
        )
        return NodeList(tuple(nodes), len(items), notes, f"1.{minor}" if minor >= 0 else None)

    def items(self) -> list[Mapping[str, Any]]:
        try:
            data = json.loads(self.text)
        except json.JSONDecodeError as error:
            at = Span(self.file, error.lineno, error.colno, error.lineno, error.colno + 1)
            raise FindingsError(
                [SYNTAX.at(at, f"is no JSON: {error.msg[:1].lower()}{error.msg[1:]}")]
            ) from None
        except (RecursionError, ValueError):
            raise FindingsError(
                [
                    SYNTAX.at(
                        Span.start_of(self.file), "is nested too deeply, or has a number too long, for nodes"
                    )
                ]
            ) from None
        kind = data.get("kind") if isinstance(data, dict) else None
        if kind == "Node":
            return [data]
        items = data.get("items") if kind in ("List", "NodeList") else None
        if not isinstance(items, list):
            what = f"a {kind}" if _is_kind(kind) else "JSON that is no Kubernetes object"
            raise FindingsError(
                [
                    UNREADABLE.at(
                        Span.start_of(self.file),
                        f"holds {what}, and a List of Node is wanted",
                        "kubectl get nodes -o json",
                    )
                ]
            )
        for position, item in enumerate(items):
            kind = item.get("kind", "Node") if isinstance(item, dict) else None
            if kind != "Node":
                raise FindingsError(
                    [
                        UNREADABLE.at(
                            Span.start_of(self.file),
                            f"items[{position}] is {f'a {kind}' if _is_kind(kind) else 'no object'}, not a Node",
                            "kubectl get nodes -o json",
                        )
                    ]
                )
        return items

    def node(self, name: str, item: Mapping[str, Any]) -> ClusterNode | None:
        spec, status = _mapping(item.get("spec")), _mapping(item.get("status"))
        labels = self.labels(name, _mapping(_mapping(item.get("metadata")).get("labels")))
        taints = _mappings(spec.get("taints"))
        reason = next(
            (_LEFT_OUT[key] for taint in taints if (key := str(taint.get("key"))) in _LEFT_OUT), None
        )
        if reason is None and labels.get("kubernetes.io/os") == "windows":
            reason = "Windows"
        if reason is not None:
            self.said[f"left out, {reason}"].append(name)
            return None
        capacity = self.amounts(name, status, "capacity")
        allocatable = self.amounts(name, status, "allocatable") or capacity
        if capacity is None or allocatable is None:
            return None
        capacity = capacity or allocatable
        cpu, memory = _milli(allocatable.get("cpu")), _units(allocatable.get("memory"))
        if cpu <= 0 or memory < _LEAST_MEMORY:
            self.said["left out, no cpu or memory in the status"].append(name)
            return None
        self.remark(name, spec, status, labels)
        return ClusterNode(
            name=name,
            cpu=max(cpu, _milli(capacity.get("cpu"))),
            memory=max(memory, _units(capacity.get("memory"))),
            allocatable_cpu=cpu,
            allocatable_memory=memory,
            gpu=self.gpu(name, capacity, allocatable, labels),
            pods=self.pods(name, allocatable),
            pool=labels.get(POOL_LABEL),
            zone=next((labels[key] for key in _ZONES if labels.get(key)), None),
            labels={key: value for key, value in labels.items() if not _kept_by_others(key)},
            taints=self.taints(name, taints),
        )

    def labels(self, name: str, stated: Mapping[str, Any]) -> dict[str, str]:
        labels: dict[str, str] = {}
        for key, value in stated.items():
            if isinstance(value, str) and _is_label(key, value):
                labels[key] = value
            else:
                self.findings.append(
                    INVALID_VALUE.at(
                        self.place(name, "labels", key, value=value), f'a label of node "{name}" is none'
                    )
                )
        return labels

    def amounts(self, name: str, status: Mapping[str, Any], part: str) -> dict[str, Quantity] | None:
        """Quantities by resource; None after a finding."""
        result: dict[str, Quantity] = {}
        for key, value in _mapping(status.get(part)).items():
            problem = label_key_problem(key)  # resources are named as labels are
            try:
                result[key] = Quantity.from_manifest(value)
            except QuantityError as error:
                problem = str(error)
            if problem:
                self.findings.append(
                    INVALID_VALUE.at(
                        self.place(name, part, key, value=value),
                        f'{part} {key if _is_label(key, "") else ""} of node "{name}": {problem}',
                    )
                )
                return None
        return result

    def gpu(
        self,
        name: str,
        capacity: Mapping[str, Quantity],
        allocatable: Mapping[str, Quantity],
        labels: dict[str, str],
    ) -> Gpu | None:
        devices: dict[str, int] = {}
        for key, quantity in allocatable.items():
            if "/" not in key:
                continue
            if not is_device(key):
                if quantity.value() > 0:
                    self.said[f"left out, {key} has no place in a profile"].append(name)
                continue
            number = quantity.value()
            whole = _units(capacity.get(key))
            if number < whole:
                self.said[f"not counted, {whole - number} of {whole} {key} is not allocatable"].append(name)
            if number > 0:
                devices[key] = number
        try:
            gpu, rest = gpu_of(devices, labels)
        except (ValueError, ValidationError) as error:
            message = str(error) if not isinstance(error, ValidationError) else error.errors()[0]["msg"]
            resource = next(iter(devices))
            self.findings.append(
                INVALID_VALUE.at(
                    self.place(name, "allocatable", resource, value=str(allocatable[resource])),
                    f'node "{name}" {message}',
                )
            )
            return None
        if gpu is not None and type_label(labels) is None:
            self.said[f'no label names the type of the GPUs, which is called "{gpu.type}"'].append(name)
        for key in rest:
            self.said[f"not counted, {key} beside the other devices"].append(name)
        if gpu is not None and gpu.mig is not None and gpu.mig.strategy == "single":
            self.said["GPUs are inferred from the MIG slices"].append(name)
        return gpu

    def pods(self, name: str, allocatable: Mapping[str, Quantity]) -> int | None:
        number = _units(allocatable.get("pods"))
        if number > _MOST_PODS:
            self.said[
                f"{_MOST_PODS} pods a node are stated, the most that a profile can, not {number}"
            ].append(name)
            return _MOST_PODS
        return number if number > 0 else None

    def taints(self, name: str, taints: list[dict[str, Any]]) -> tuple[Taint, ...]:
        kept = []
        for taint in taints:
            if _PASSING_TAINT.fullmatch(str(taint.get("key"))):
                continue
            try:
                kept.append(
                    Taint.model_validate(
                        {
                            "key": taint.get("key"),
                            "value": taint.get("value") or "",
                            "effect": taint.get("effect"),
                        }
                    )
                )
            except ValidationError:
                self.findings.append(
                    INVALID_VALUE.at(
                        self.place(name, "taints", "key", value=taint.get("key")),
                        f'a taint of node "{name}" is none that Kubernetes accepts',
                    )
                )
        return tuple(sorted(kept, key=lambda taint: (taint.key, taint.effect, taint.value)))

    def remark(
        self, name: str, spec: Mapping[str, Any], status: Mapping[str, Any], labels: Mapping[str, str]
    ) -> None:
        """Say what is odd about a node that counts all the same."""
        if spec.get("unschedulable") is True:
            self.said["counted, cordoned"].append(name)
        conditions = _mappings(status.get("conditions"))
        ready = next((item.get("status") for item in conditions if item.get("type") == "Ready"), "True")
        if ready != "True":
            self.said["counted, not Ready"].append(name)
        if any(key in labels for key in _CONTROL_PLANE):
            self.said["counted, control plane without a taint"].append(name)

    def place(self, name: Any, *keys: str, value: Any = None) -> Span:
        """Where the text states `value` below `keys` of a node, else where it names the node."""
        at = max(self.text.find(json.dumps(name)), 0) if isinstance(name, str) else 0
        if keys:
            route = "[^}]*?".join(re.escape(json.dumps(key)) + r"\s*:\s*" for key in keys)
            match = re.compile(f"{route}({re.escape(json.dumps(value))})").search(self.text, at)
            at = match.start(1) if match else at
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return Span(self.file, line, column, line, column + 1)


def _is_kind(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isalpha()


@lru_cache(maxsize=1 << 14)
def _is_label(key: str, value: str) -> bool:
    return not label_key_problem(key) and not label_value_problem(value)


@lru_cache(maxsize=4096)
def _kept_by_others(key: str) -> bool:
    return bool(_KEPT_BY_OTHERS.fullmatch(key))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _milli(quantity: Quantity | None) -> int:
    return quantity.milli_value() if quantity is not None else 0


def _units(quantity: Quantity | None) -> int:
    return quantity.value() if quantity is not None else 0
