"""kwok: nodes that are only data, and pods on them that start, run for a stated time and end gracefully."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from .supervisor import Supervisor, free_ports

#: Annotation of a pod: how long it runs before it succeeds, as a Go duration. Without it, it runs on.
RUN_FOR = "binpackgen.dev/run-for"
#: Annotation of a pod: how long it takes to end once it is told to, as a Go duration, and what that is without it.
WINDS_DOWN, WINDS_DOWN_MILLISECONDS = "binpackgen.dev/winds-down", 400
#: Annotation of a pod: how long it takes to start on its node, as a Go duration. Without it, it runs at once.
STARTS_AFTER = "binpackgen.dev/starts-after"

_ALIVE = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}

_RUNNING = """
{{ $now := Now | Quote }}
phase: Running
startTime: {{ $now }}
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ $now }}}
- {type: ContainersReady, status: "True", lastTransitionTime: {{ $now }}}
- {type: Ready, status: "True", lastTransitionTime: {{ $now }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {{ $now }}
{{ end }}
"""

_ENDED = """
{{ $now := Now | Quote }}
phase: PHASE
conditions:
- {type: ContainersReady, status: "False", reason: REASON, lastTransitionTime: {{ $now }}}
- {type: Ready, status: "False", reason: REASON, lastTransitionTime: {{ $now }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: CODE
      reason: EXIT
      startedAt: {{ $now }}
      finishedAt: {{ $now }}
{{ end }}
"""


def _ended(phase: str, reason: str, code: int, exit_reason: str) -> str:
    text = _ENDED.replace("PHASE", phase).replace("REASON", reason)
    return text.replace("CODE", str(code)).replace("EXIT", exit_reason)


def _stage(
    name: str, conditions: list[dict[str, Any]], then: dict[str, Any], kind: str = "Pod", **rest: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": conditions},
            "next": then,
            **rest,
        },
    }


def _phase(*values: str) -> dict[str, Any]:
    return {"key": ".status.phase", "operator": "In", "values": list(values)}


_READY = '.status.conditions.[] | select( .type == "Ready" ) | .status'

_NODE_IS_READY = """
{{ $now := Now | Quote }}
conditions:
- type: Ready
  status: "True"
  reason: KubeletReady
  message: simulated by kwok
  lastHeartbeatTime: {{ $now }}
  lastTransitionTime: {{ $now }}
"""

STAGES: tuple[dict[str, Any], ...] = (
    _stage(
        "node-starts",
        [{"key": _READY, "operator": "NotIn", "values": ["True"]}],
        {"statusTemplate": _NODE_IS_READY},
        kind="Node",
    ),
    _stage(
        "pod-starts",
        [_ALIVE, _phase("Pending")],
        {"statusTemplate": _RUNNING},
        delay={
            "durationMilliseconds": 0,
            "durationFrom": {"expressionFrom": f'.metadata.annotations["{STARTS_AFTER}"]'},
        },
    ),
    _stage(
        "pod-succeeds",
        [
            _ALIVE,
            _phase("Running"),
            {"key": f'.metadata.annotations["{RUN_FOR}"]', "operator": "Exists"},
        ],
        {"statusTemplate": _ended("Succeeded", "PodCompleted", 0, "Completed")},
        delay={"durationFrom": {"expressionFrom": f'.metadata.annotations["{RUN_FOR}"]'}},
    ),
    # As a kubelet does: the containers get their signal, end with an error, and then the object goes.
    _stage(
        "pod-is-stopped",
        [{"key": ".metadata.deletionTimestamp", "operator": "Exists"}, _phase("Running")],
        {"statusTemplate": _ended("Failed", "PodFailed", 143, "Error")},
        delay={
            "durationMilliseconds": WINDS_DOWN_MILLISECONDS,
            "durationFrom": {"expressionFrom": f'.metadata.annotations["{WINDS_DOWN}"]'},
        },
    ),
    _stage(
        "pod-is-gone",
        [
            {"key": ".metadata.deletionTimestamp", "operator": "Exists"},
            _phase("Pending", "Succeeded", "Failed"),
        ],
        {"delete": True},
    ),
)


def start_kwok(supervisor: Supervisor, program: Path, kubeconfig: Path) -> None:
    """Start kwok for the nodes with its annotation."""
    file = supervisor.folder / "kwok-stages.yaml"
    file.write_text(yaml.safe_dump_all(STAGES))
    [port] = free_ports(1)
    supervisor.start(
        "kwok",
        [
            str(program),
            f"--kubeconfig={kubeconfig}",
            f"--config={file}",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            f"--server-address=127.0.0.1:{port}",
            "--node-lease-duration-seconds=160",
        ],
    )
