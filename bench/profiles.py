"""Profiles of any size for measuring, made of plain text."""

from __future__ import annotations


def jobs_profile(jobs: int) -> str:
    """A small cluster with `jobs` GPU, DDP, array and ETL jobs."""
    lines = [
        "apiVersion: binpackgen.dev/v1alpha1",
        "kind: ClusterProfile",
        f"metadata: {{name: jobs-{jobs}}}",
        "spec:",
        '  kubernetes: {version: "1.37", controlPlane: kubeadm}',
        "  nodePools:",
        "    - {name: a100, count: 40, cpu: 96, memory: 768Gi, gpu: {type: a100, count: 8}}",
        "    - {name: cpu, count: 20, cpu: 64, memory: 256Gi}",
        "  priorityTiers:",
        "    - {name: high, value: 100000}",
        "    - {name: low, value: 1000, default: true, preempts: false}",
        "  queues:",
        "    - {name: main, namespaces: [batch], quota: {a100: 100%, cpu: 100%}}",
        "  jobs:",
    ]
    for index in range(jobs):
        lines += _job(index, "main", "a100")
    return "\n".join(lines) + "\n"


def fleet_profile(pools: int, queues: int, jobs: int) -> str:
    """`pools` pools of 50 GPU types, `queues` queues with two quotas each, `jobs` jobs."""
    types = 50
    lines = [
        "apiVersion: binpackgen.dev/v1alpha1",
        "kind: ClusterProfile",
        f"metadata: {{name: fleet-{pools}}}",
        "spec:",
        '  kubernetes: {version: "1.37", controlPlane: kubeadm}',
        "  nodePools:",
    ]
    for index in range(pools):
        gpus = (1, 2, 4, 8)[index % 4]
        lines += [
            f"    - name: pool-{index}",
            f"      count: {4 + index % 7}",
            f"      cpu: {gpus * (8 + index % 9) + 8}",
            f"      memory: {gpus * 96 + 64}Gi",
            f"      gpu: {{type: type-{index % types}, count: {gpus}}}",
            f"      labels: {{example.com/rack: r{index % 40}}}",
        ]
    lines += ["    - {name: cpu, count: 200, cpu: 64, memory: 256Gi}"]
    lines += [
        "  priorityTiers:",
        "    - {name: high, value: 100000}",
        "    - {name: low, value: 1000, default: true}",
    ]
    lines += ["  queues:"]
    for index in range(queues):
        lines += [
            f"    - name: queue-{index}",
            f"      namespaces: [team-{index}]",
            f"      quota: {{type-{index % types}: {{gpu: 4, cpu: 40, memory: 400Gi}}, cpu: {{cpu: 16, memory: 64Gi}}}}",
            "      borrows: true",
        ]
    lines += ["  jobs:"]
    for index in range(jobs):
        lines += _job(index, f"queue-{index % queues}", f"type-{index % queues % types}")
    return "\n".join(lines) + "\n"


def _job(index: int, queue: str, gpu_type: str) -> list[str]:
    common = [f"      queue: {queue}", "      image: registry.example.com/team/job:1.0", "      deadline: 2h"]
    gpu = f"gpu: {{type: {gpu_type}, count: 1}}"
    kinds = (
        [
            "      template: single-gpu",
            f"      each: {{cpu: {2 + index % 5}, memory: {16 + index % 9}Gi, {gpu}}}",
        ],
        [
            "      template: pytorch-ddp",
            "      workers: 2",
            f"      each: {{cpu: {2 + index % 3}, memory: 24Gi, {gpu}}}",
        ],
        [
            "      template: array",
            "      workers: 4",
            "      completions: 40",
            "      each: {cpu: 4, memory: 16Gi}",
        ],
        ["      template: etl", '      schedule: "0 2 * * *"', "      each: {cpu: 4, memory: 16Gi}"],
    )
    return [
        f"    - name: job-{index}",
        *kinds[index % 4],
        *common,
        "      env: {TEAM: platform, STAGE: production}",
    ]
