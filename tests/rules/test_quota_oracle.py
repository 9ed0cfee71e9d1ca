"""Rules about quotas against brute force that shares no code with them."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.rules.rule_examples import judged, profile_text

#: The base has 4 nodes of 4 GPUs.
GPUS = 16


def forest(rng: random.Random) -> dict[str, str | None]:
    """Up to six cohorts, each with an earlier one as parent or none."""
    names = [f"c{i}" for i in range(rng.randint(1, 6))]
    return {name: rng.choice([None, *names[:i]]) if i else None for i, name in enumerate(names)}


@pytest.mark.parametrize("seed", range(60))
def test_jobs_beyond_their_quota_and_sums_beyond_the_pools(seed: int) -> None:
    """Random cohort trees, quotas and jobs: a job is reported exactly if its workers need more GPUs than its
    queue's own quota and, when it borrows, those of all other lending queues of its tree; a kind of node
    exactly if the shares of all queues add up to more than 100 %."""
    rng = random.Random(seed)
    parents = forest(rng)
    queues = [
        {
            "name": f"q{i}",
            "cohort": rng.choice(list(parents)),
            "percent": rng.choice((0, 10, 25, 40, 50)),
            "borrows": rng.random() < 0.5,
            "lends": rng.random() < 0.6,
        }
        for i in range(rng.randint(1, 7))
    ]
    jobs = [{"queue": rng.choice(queues)["name"], "workers": rng.randint(1, 16)} for _ in range(8)]
    lines = ["queueing:", "  cohorts:"]
    lines += [f"    - {{name: {c}{f', parent: {p}' if p else ''}}}" for c, p in parents.items()]
    lines.append("queues:")
    lines += [
        f"  - {{name: {q['name']}, namespaces: [ns], quota: {{a100: {q['percent']}%}}, cohort: {q['cohort']}, "
        f"borrows: {str(q['borrows']).lower()}, lends: {str(q['lends']).lower()}}}"
        for q in queues
    ]
    lines.append("jobs:")
    lines += [
        f"  - {{name: j{i}, template: pytorch-ddp, queue: {job['queue']}, workers: {job['workers']}, image: i, "
        "each: {cpu: 1, memory: 1Gi, gpu: {type: a100, count: 1}}}"
        for i, job in enumerate(jobs)
    ]
    found = judged(profile_text("\n".join(lines) + "\n"))
    assert [] == [f for f in found if f.code.startswith("BP0")]

    def top(cohort: str) -> str:
        parent = parents[cohort]
        return cohort if parent is None else top(parent)

    def most(name: str) -> int:
        mine = next(queue for queue in queues if queue["name"] == name)
        total = GPUS * int(mine["percent"]) // 100
        if mine["borrows"]:
            for other in queues:
                if (
                    other is not mine
                    and other["lends"]
                    and top(str(other["cohort"])) == top(str(mine["cohort"]))
                ):
                    total += GPUS * int(other["percent"]) // 100
        return total

    expected = {f"j{i}" for i, job in enumerate(jobs) if int(job["workers"]) > most(str(job["queue"]))}
    reported = {f.message.split('"')[1] for f in found if f.code == "BP412"}
    # cores and memory follow the GPUs' share, and a worker has far less than its share of them
    assert expected == reported, (queues, jobs)
    over = sum(Fraction(int(queue["percent"]), 100) for queue in queues) > 1
    assert over == any(f.code == "BP404" for f in found)


@pytest.mark.parametrize("seed", range(40))
def test_jobs_beyond_the_pools(seed: int) -> None:
    """Random pods on random pools: reported exactly if counting pods one by one fills all nodes before the
    last worker has a place."""
    rng = random.Random(1000 + seed)
    pools = [
        {
            "name": f"p{i}",
            "count": rng.randint(1, 4),
            "cpu": rng.choice((8, 16, 32)),
            "memory": rng.choice((32, 64)),
            "pods": rng.choice((3, 110)),
        }
        for i in range(rng.randint(1, 4))
    ]
    cpu, memory, workers = rng.randint(1, 12), rng.randint(1, 40), rng.randint(1, 40)
    text = "packing: {dominance: best-effort}\nnodePools:\n" + "".join(
        f"  - {{name: {p['name']}, count: {p['count']}, cpu: {p['cpu']}, memory: {p['memory']}Gi, pods: {p['pods']}, "
        "reserved: {evictionMemory: 0}}\n"
        for p in pools
    )
    text += f"jobs: [{{name: j, template: array, workers: {workers}, image: i, each: {{cpu: {cpu}, memory: {memory}Gi}}}}]\n"
    found = {f.code for f in judged(profile_text(text))}

    placed = 0
    fits_somewhere = False
    for pool in pools:
        for _ in range(int(pool["count"])):
            free_cpu, free_memory, slots = int(pool["cpu"]), int(pool["memory"]), int(pool["pods"])
            while free_cpu >= cpu and free_memory >= memory and slots:
                free_cpu, free_memory, slots = free_cpu - cpu, free_memory - memory, slots - 1
                placed += 1
                fits_somewhere = True
    assert ("BP506" in found) == (not fits_somewhere)
    assert ("BP507" in found) == (fits_somewhere and placed < workers)
