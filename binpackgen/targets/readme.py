"""The README of a tree: what to apply, in which order, how to check it and how to roll back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..document import Because, Document, Output, TextFile, Unsupported
from ..plan.model import Plan

#: How the scheduler configuration reaches each control plane, and how to take it back.
_SCHEDULER_STEPS: dict[str, tuple[str, str]] = {
    "kubeadm": (
        "The scheduler: copy `scheduler/` to `/etc/kubernetes/binpackgen` on every control-plane node, merge "
        "`scheduler/kubeadm.yaml` into the cluster's kubeadm configuration, and run `kubeadm init phase "
        "control-plane scheduler --config FILE` there, one node after the other. The patch carries the hash of the "
        "configuration, so the kubelet restarts the scheduler when, and only when, it changed.",
        "Write the scheduler's manifest again without `--config`: `kubeadm init phase control-plane scheduler` with "
        "the previous kubeadm configuration.",
    ),
    "kind": (
        "The cluster: `kind create cluster --config scheduler/kind.yaml` from this folder, since paths in it are relative.",
        "Create the cluster without `scheduler/kind.yaml`.",
    ),
    "k3s": (
        "The scheduler: on every server copy `scheduler/kube-scheduler-config.yaml` to `/etc/rancher/k3s/binpackgen/` and "
        "`scheduler/config.yaml.d/*` to `/etc/rancher/k3s/config.yaml.d/`, then `systemctl restart k3s`, one server after "
        "the other. The scheduler runs inside k3s: a file that it refuses stops the server.",
        "Remove the two files and restart k3s.",
    ),
    "rke2": (
        "The scheduler: on every server copy `scheduler/kube-scheduler-config.yaml` to `/etc/rancher/rke2/binpackgen/` and "
        "`scheduler/config.yaml.d/*` to `/etc/rancher/rke2/config.yaml.d/`, then `systemctl restart rke2-server`, one server "
        "after the other.",
        "Remove the two files and restart rke2-server.",
    ),
    "talos": (
        "The scheduler: patch the control-plane machines once with `talosctl patch mc --nodes NODES --patch "
        "@scheduler/talos.yaml`. Lists are appended, so take the old patch out of the machine configuration before a new one.",
        "Apply the machine configuration without the patch.",
    ),
    "openshift": (
        "The scheduler: `kubectl apply --server-side -f scheduler/openshift.yaml`; the operator rolls it out.",
        "Set `spec.profile: LowNodeUtilization` on the Scheduler `cluster`.",
    ),
    "aks": (
        "The scheduler: `kubectl apply --server-side -f scheduler/aks.yaml`, then wait until the SchedulerConfiguration's "
        "status is Succeeded; a configuration that is refused leaves the last good one in force.",
        "Delete the SchedulerConfiguration.",
    ),
    "eks": (
        "The scheduler: `aws eks update-cluster-config --name CLUSTER --cli-input-yaml file://scheduler/eks.yaml`; the control "
        "plane is updated in minutes.",
        "Update the cluster with type LeastAllocated; leaving the field out keeps what is there.",
    ),
    "gke": (
        "The scheduler: `sh scheduler/gke.sh CLUSTER --location=LOCATION`.",
        "Set the autoscaling profile back to `balanced`.",
    ),
    "gardener": (
        "The scheduler: merge `scheduler/gardener.yaml` into the Shoot and let it reconcile.",
        "Set the Shoot's `spec.kubernetes.kubeScheduler.profile` back to `balanced`.",
    ),
    "second-scheduler": (
        "The scheduler is part of the kustomization below: a Deployment of its own, which pods choose by "
        "`schedulerName`. Wait until it is available before you submit jobs.",
        "Delete the scheduler's Deployment only when no pod names it: those that do stay Pending without an event.",
    ),
}


def compile_readme(plan: Plan, outputs: Iterable[Output]) -> TextFile:
    """The README that fits what the other targets made."""
    made = list(outputs)
    files = {output.path for output in made if not isinstance(output, Unsupported)}
    losses = [output for output in made if isinstance(output, Unsupported)]
    lines = [
        f"# {plan.name}: compiled cluster configuration",
        "",
        f"Made by binpackgen from the profile `{plan.name}` for Kubernetes 1.{plan.minor} ({plan.control_plane}).",
        "Do not edit these files: change the profile and run `binpackgen build`. `binpackgen explain PROFILE FILE` says",
        "where each field comes from.",
        *_section("Does it pack?", [_margin(plan), "", *_weights(plan)]),
    ]
    if losses:
        lines += _section("Loss report: what this control plane cannot express", _losses(losses))
    lines += _section("Before you apply", [f"- {item}" for item in _prerequisites(plan, files)])
    lines += _section("Apply, in this order", _numbered(_steps(plan, made, files)))
    lines += _section("Check", ["```", *_checks(plan, files), "```"])
    lines += _section("Roll back", _numbered(_rollback(plan, files)))
    why = Because("what to apply, in which order, and how to roll back", (("spec",),))
    return TextFile("README.md", "\n".join(lines) + "\n", why)


def _section(title: str, body: Iterable[str]) -> list[str]:
    return ["", f"## {title}", "", *body]


def _numbered(items: Iterable[str]) -> list[str]:
    return [f"{number}. {item}" for number, item in enumerate(items, start=1)]


def _losses(losses: Iterable[Unsupported]) -> list[str]:
    rows = [f"| {loss.what} | {loss.reason} | {loss.alternative} |" for loss in losses]
    return [
        "The profile accepts these losses (`policies.acceptLoss`):",
        "",
        "| what | why | instead |",
        "|---|---|---|",
        *rows,
    ]


def _margin(plan: Plan) -> str:
    worst = plan.scheduler.worst
    if worst is None:
        reason = plan.scheduler.no_margin
        return f"{reason[0].upper()}{reason[1:]}."
    verb = "outvotes" if worst.points > 0 else "does not outvote"
    step = f"one more {worst.device} in use" if worst.device else f"one more pod of job {worst.job}"
    return (
        f"The weakest place is pool {worst.pool}: {step} makes {worst.step} points of NodeResourcesFit, times "
        f"weight {worst.weight} is {worst.step * worst.weight}, and {verb} the {worst.rivals} points that all other "
        f"scorers can add up to: margin {worst.points}."
    )


def _weights(plan: Plan) -> list[str]:
    scheduler = plan.scheduler
    rows = ["| score plugin | weight | why |", "|---|---|---|"]
    rows += [f"| {s.plugin} | {s.weight} | {s.reason} |" for s in scheduler.scorers]
    rows += [
        f"| {off.plugin} | off (default {off.default_weight}) | {off.reason}; cost: {off.cost} |"
        for off in scheduler.switched_off
    ]
    return rows


def _prerequisites(plan: Plan, files: set[str]) -> Iterator[str]:
    if plan.queues:
        yield (
            "Kueue 0.17 or newer (kueue.x-k8s.io/v1beta2) is installed, its integrations list batch/job and "
            "jobset.x-k8s.io/jobset; apply its CRDs server-side, they are too large for client-side apply."
        )
    if any(path.startswith("jobs/") for path in files):
        yield "JobSet 0.11 or newer is installed where a job in `jobs/` is a JobSet."
    if "device-plugin/values.yaml" in files:
        yield "The NVIDIA container toolkit is set up on GPU nodes."
    spaces = sorted(
        {space for queue in plan.queues for space in queue.source.namespaces}
        | {job.namespace for job in plan.jobs}
    )
    if spaces:
        yield f"The namespaces exist: {', '.join(spaces)}. They belong to their teams and are not part of this tree."
    if plan.cap is not None and plan.cap.form == "filter":
        yield "The scheduler image has the NodeUtilizationCap plugin."
    yield "`kubectl apply --dry-run=server -k .` as the last gate: webhooks and admission have the final word."


def _steps(plan: Plan, made: list[Output], files: set[str]) -> Iterator[str]:
    if any(path.startswith("nodes/") for path in files):
        yield "Labels, taints and reserved resources of the nodes: `nodes/<pool>/`, pool by pool, drained one node at a time where the kubelet restarts with smaller allocatable."
    if "device-plugin/values.yaml" in files:
        yield (
            "The device plugin: `helm upgrade --install nvdp nvdp/nvidia-device-plugin --version 0.19.0 --namespace "
            "nvidia-device-plugin --create-namespace -f device-plugin/values.yaml`, then see that the nodes' "
            "allocatable shows the devices."
        )
    yield _SCHEDULER_STEPS[plan.control_plane][0]
    if any(isinstance(output, Document) and output.sync for output in made):
        yield "All API objects: `kubectl apply --server-side --field-manager binpackgen -k .`, or let Argo CD or Flux sync this folder."
    if plan.jobs:
        yield "Jobs are templates to submit, not to sync: `kubectl create -f jobs/<job>.yaml`."


def _checks(plan: Plan, files: set[str]) -> Iterator[str]:
    columns = [
        "NAME:.metadata.name",
        "POOL:.metadata.labels." + plan.spec.node_labels.pool.replace(".", "\\."),
        "CPU:.status.allocatable.cpu",
        "MEMORY:.status.allocatable.memory",
    ]
    devices = sorted({name for pool in plan.pools for name in pool.allocatable.devices})
    columns += [
        f"{name.rpartition('/')[2].upper()}:.status.allocatable." + name.replace(".", "\\.")
        for name in devices
    ]
    yield "# each pool shows its label and what its nodes offer"
    yield f"kubectl get nodes -o custom-columns='{','.join(columns)}'"
    yield "# pods go to the fullest node that holds them, one node after the other"
    yield "kubectl get pods -A -o wide --sort-by=.spec.nodeName"
    yield "# what the scheduler decided for a pod, and which plugins filtered nodes"
    yield "kubectl events --for pod/NAME"
    if plan.queues:
        yield "# what waits, and why"
        yield "kubectl get workloads -A"


def _rollback(plan: Plan, files: set[str]) -> Iterator[str]:
    yield "Check out the previous commit of this folder; a tree is always whole, never half of two builds."
    yield _SCHEDULER_STEPS[plan.control_plane][1]
    yield "`kubectl apply --server-side --field-manager binpackgen -k .` from there. Running pods keep their nodes and priorities."
    if plan.tiers:
        yield "A PriorityClass whose value or preemptionPolicy changed must be deleted and created again: both are immutable."
