"""`python -m bench`: CPU time of whole commands, ours and the peers', in one run.

Prints a table: the least of several runs, and the ratio to the peer. Times move with the machine; the ratios
are what counts.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .measure import Cost, measure
from .peers import peers
from .profiles import fleet_profile, jobs_profile

RUNS = 7


def main() -> None:
    """Measure and print."""
    cache = Path(os.environ.get("BINPACKGEN_CACHE", Path.home() / ".cache/binpackgen"))
    ours = str(Path(sys.executable).with_name("binpackgen"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'command':52} {'CPU ms':>8} {'MiB':>6}  target")
        for text, cost, target in _own(ours, folder):
            print(f"{text:52} {cost.cpu_ms:8.0f} {cost.memory_mib:6.0f}  {target}")
        hundred = measure([ours, "build", "jobs.yaml", "-o", "yaml"], RUNS, folder)
        for peer in peers(folder, cache, 100):
            cost = measure(peer.command, RUNS, peer.cwd)
            ratio = cost.cpu_ms / hundred.cpu_ms
            print(
                f"{peer.name + ', 100 jobs':52} {cost.cpu_ms:8.0f} {cost.memory_mib:6.0f}  {ratio:.2f} x ours"
            )


def _own(ours: str, folder: Path) -> Iterator[tuple[str, Cost, str]]:
    libraries = "import click, pydantic, yaml, jinja2, jsonschema"
    yield "yardstick: the five libraries imported", measure([sys.executable, "-c", libraries], RUNS), ""
    yield "binpackgen --help", measure([ours, "--help"], RUNS), "at most 80"
    yield "binpackgen --version", measure([ours, "--version"], RUNS), "at most 80"
    (folder / "jobs.yaml").write_text(jobs_profile(100))
    stream = [ours, "build", "jobs.yaml", "-o", "yaml"]
    yield "binpackgen build, 100 jobs, to a pipe", measure(stream, RUNS, folder), "at most 250"
    tree = [ours, "build", "jobs.yaml", "-d", "out"]
    yield "binpackgen build, 100 jobs, tree unchanged", measure(tree, RUNS, folder), ""
    yield "binpackgen check, 100 jobs", measure([ours, "check", "jobs.yaml"], RUNS, folder), ""
    for size in (125, 250, 500, 1000):
        file = f"fleet-{size}.yaml"
        (folder / file).write_text(fleet_profile(size, size // 2, size // 2))
        cost = measure([ours, "build", file, "-d", "fleet"], 3, folder)
        target = "under 8000 and 300 MiB" if size == 1000 else ""
        yield f"build, {size} pools, {size // 2} queues, {size // 2} jobs", cost, target


if __name__ == "__main__":
    main()
