"""Manifests of jobs for tests, from jobs as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from binpackgen.canonical import to_yaml
from binpackgen.document import Document, Output
from binpackgen.plan.compile import compile_plan
from binpackgen.plan.model import Plan
from binpackgen.profile.load import load_profile
from binpackgen.targets.jobs import compile_jobs

POOLS: list[dict[str, Any]] = [
    {"name": "v100", "count": 4, "cpu": 64, "memory": "256Gi", "gpu": {"type": "v100", "count": 8}},
    {"name": "a100", "count": 2, "cpu": 32, "memory": "128Gi", "gpu": {"type": "a100", "count": 8}},
    {"name": "cpu", "count": 2, "cpu": 64, "memory": "256Gi"},
]
ONE_GPU = {"cpu": 4, "memory": "16Gi", "gpu": {"type": "v100", "count": 1}}
NO_GPU = {"cpu": 4, "memory": "16Gi"}
QUEUE = {"name": "vision", "namespaces": ["ai"], "quota": {"v100": "50%", "cpu": "50%"}}


def job(template: str = "single-gpu", **more: Any) -> dict[str, Any]:
    """A job called `job` of a profile; keys are those of the profile language."""
    return {"name": "job", "template": template, "each": ONE_GPU, "image": "example.com/x:1"} | more


def jobs_plan(
    *jobs: dict[str, Any], version: str = "1.37", control_plane: str = "kubeadm", **spec: Any
) -> Plan:
    """The plan of a profile called `lab` with these jobs; rules are not asked."""
    profile = {
        "apiVersion": "binpackgen.dev/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": "lab"},
        "spec": {
            "kubernetes": {"version": version, "controlPlane": control_plane},
            "nodePools": POOLS,
            "jobs": list(jobs),
            **spec,
        },
    }
    return compile_plan(load_profile("-", to_yaml(profile).encode()))


def outputs(plan: Plan, templates: Path | None = None) -> list[Output]:
    return list(compile_jobs(plan, templates))


def document(*jobs: dict[str, Any], templates: Path | None = None, **spec: Any) -> Document:
    """The manifest of the first of some jobs."""
    return next(one for one in outputs(jobs_plan(*jobs, **spec), templates) if isinstance(one, Document))


def job_specs(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The Job specs inside a Job, CronJob or JobSet."""
    if body["kind"] == "JobSet":
        return [one["template"]["spec"] for one in body["spec"]["replicatedJobs"]]
    return [body["spec"] if body["kind"] == "Job" else body["spec"]["jobTemplate"]["spec"]]


def pod_specs(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The pod specs inside a Job, CronJob or JobSet."""
    return [spec["template"]["spec"] for spec in job_specs(body)]
