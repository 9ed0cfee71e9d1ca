"""`python -m bench.openb`: the saturation experiment of the FGD paper on the openb lists, and departures.

    python -m bench.openb                                 saturation, the default list, ten seeds
    python -m bench.openb saturation --lists all          every list; `nodes` is the same with the CPU-only nodes
    python -m bench.openb devices                         pods that share a device: the paper's own protocol
    python -m bench.openb departures durations waiting    pods that come and go
    python -m bench.openb sampling                        5,000 and 10,000 nodes, of which some are looked at

Allocations are means over the seeds; +- is the standard deviation of the last allocation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import pstdev

from . import trace
from .cluster import Compiled, compiled
from .departures import SIZES, Mix, drawn, drawn_with_durations, mean_of, play
from .published import BestFit, Fgd, GpuPacking, Policy, run
from .saturation import Outcome, mean, outcome
from .strategies import Strategy, place, place_sampled, strategies
from .trace import Machine, Request

#: Loads in percent of the GPUs, and arrivals of a run.
LOADS = (80.0, 90.0, 95.0, 105.0)
ARRIVALS = 60_000
#: Copies of the cluster for 5,000 and 10,000 nodes.
COPIES = (4, 8)
#: The paper's first seed.
FIRST_SEED = 42
COLUMNS = ("@100", "@130", "+-", "8-GPU", "cores", "room for 8", "unschedulable", "nodes")


class Bench:
    """What the tables share."""

    def __init__(self, lists: Sequence[str], seeds: int, *, with_fgd: bool) -> None:
        self.lists = lists
        self.with_fgd = with_fgd
        self.seeds = range(FIRST_SEED, FIRST_SEED + seeds)
        self.compiled: Compiled = compiled()
        self.machines = trace.machines()
        self.all_machines = trace.machines(with_cpu_nodes=True)
        self.strategies = strategies(self.compiled, compiled("  packing: {cpuOnlyPods: spare-cores}\n"))
        self.gpus = sum(machine.gpus for machine in self.machines)


def saturation(bench: Bench) -> None:
    """Whole devices, nodes with GPUs."""
    _saturation(bench, bench.machines, "whole devices", with_policies=True)


def nodes(bench: Bench) -> None:
    """Whole devices, all nodes."""
    _saturation(bench, bench.all_machines, "whole devices, with the CPU-only nodes", with_policies=False)


def _saturation(bench: Bench, machines: Sequence[Machine], what: str, *, with_policies: bool) -> None:
    published = trace.published()
    for name in bench.lists:
        pods = trace.requests(name)
        if not any(pod.gpus for pod in pods):
            print(f"\n{name}: no pod asks for a whole device")
            continue
        print(f"\n{name}: {what}\n{'':44}{_header()}")
        for strategy in bench.strategies:
            rows = [saturate(bench, machines, strategy, pods, seed) for seed in bench.seeds]
            print(f"  {strategy.name:42}{_row(rows)}", flush=True)
        if not with_policies:
            continue
        for label, policy, seeds in _policies(bench, pods):
            rows = [_policy(machines, policy, pods, bench.gpus, seed) for seed in seeds]
            print(f"  {label + ' (beyond stock)':42}{_row(rows)}", flush=True)
        for policy_name in ("Random", "DotProd", "GpuClustering", "GpuPacking", "BestFit", "FGD"):
            if (name, policy_name) in published:
                full, most = published[name, policy_name]
                print(f"  {'paper, shared devices: ' + policy_name:42}{full:8.2f}{most:8.2f}")


def devices(bench: Bench) -> None:
    """Pods share devices, as in the paper; a stock scheduler has no such filter."""
    published = trace.published()
    for name in bench.lists:
        pods = trace.requests(name, whole=False)
        print(f"\n{name}: shared devices, beyond the stock scheduler\n{'':44}{_header()}{'paper @130':>12}")
        for label, policy, seeds in _policies(bench, pods):
            rows = [_policy(bench.machines, policy, pods, bench.gpus, seed) for seed in seeds]
            theirs = published.get((name, label))
            print(f"  {label:42}{_row(rows)}{'' if theirs is None else f'{theirs[1]:12.2f}'}", flush=True)


def _policies(bench: Bench, pods: Sequence[Request]) -> Iterator[tuple[str, Policy, range]]:
    yield "GpuPacking", GpuPacking(), bench.seeds
    yield "BestFit", BestFit(), bench.seeds
    if bench.with_fgd:
        yield "FGD", Fgd(pods), bench.seeds[:3]


def saturate(
    bench: Bench, machines: Sequence[Machine], strategy: Strategy, pods: Sequence[Request], seed: int
) -> Outcome:
    """One strategy at one seed."""
    kinds, arrivals = _arrivals(pods, bench.gpus, seed)
    placed = place(bench.compiled.state(machines), strategy, kinds, arrivals)
    return outcome(machines, kinds, arrivals, placed)


def _policy(
    machines: Sequence[Machine], policy: Policy, pods: Sequence[Request], gpus: int, seed: int
) -> Outcome:
    kinds, arrivals = _arrivals(pods, gpus, seed)
    return outcome(machines, kinds, arrivals, run(machines, kinds, arrivals, policy))


def _arrivals(pods: Sequence[Request], gpus: int, seed: int) -> tuple[list[Request], list[int]]:
    order = trace.inflated(pods, gpus, seed)
    kinds = sorted(set(order))
    index = {kind: position for position, kind in enumerate(kinds)}
    return kinds, [index[request] for request in order]


def _header() -> str:
    return "".join(f"{column:>14}" if len(column) > 6 else f"{column:>8}" for column in COLUMNS)


def _row(rows: Sequence[Outcome]) -> str:
    one = mean(rows)
    spread = pstdev(row.allocated for row in rows)
    return (
        f"{one.at_full:8.2f}{one.allocated:8.2f}{spread:8.2f}{one.large:8.1f}{one.cores:8.1f}{one.headroom:14.1f}"
        f"{one.unschedulable:14.1f}{one.nodes:8.0f}"
    )


def departures_table(bench: Bench) -> None:
    """Pods that find no node leave; exponential durations."""
    for name in bench.lists:
        pods = trace.requests(name)
        mixes = {
            load: [drawn(pods, bench.gpus, load, ARRIVALS, seed) for seed in bench.seeds] for load in LOADS
        }
        _loss(bench, f"{name}: a loss system", mixes)


def durations(bench: Bench) -> None:
    """Pods that find no node leave; the list's own durations."""
    for name in bench.lists:
        pods = trace.runs(name)
        mixes = {
            load: [drawn_with_durations(pods, bench.gpus, load, ARRIVALS, seed) for seed in bench.seeds]
            for load in LOADS
        }
        _loss(bench, f"{name}: a loss system, the list's own durations", mixes)


def _loss(bench: Bench, title: str, mixes: Mapping[float, Sequence[Mix]]) -> None:
    made = bench.compiled.nodes(bench.machines)
    sizes = "".join(f"{f'{size} GPUs':>9}" for size in SIZES)
    print(f"\n{title}; GPUs offered, in use, and pods turned away in %\n{'':44}  offered   in use{sizes}")
    for load, runs in mixes.items():
        for strategy in bench.strategies:
            one = mean_of([play(made, strategy, mix) for mix in runs])
            shares = "".join(f"{one.rejected.get(size, 0):9.2f}" for size in SIZES)
            print(
                f"  {f'{load:g} % {strategy.name}':42}{one.offered:9.1f}{one.in_use:9.2f}{shares}", flush=True
            )


def waiting(bench: Bench) -> None:
    """Pods that find no node wait: the oldest first, or the largest; in units of the mean duration."""
    made = bench.compiled.nodes(bench.machines)
    sizes = "".join(f"{f'{size} GPUs':>16}" for size in SIZES)
    for name in bench.lists:
        pods = trace.requests(name)
        for larger_first in (False, True):
            order = "the largest first" if larger_first else "the oldest first"
            print(
                f"\n{name}: waiting, {order}; mean and 95th percentile in mean durations of a pod\n"
                f"{'':44}   in use{sizes}"
            )
            for load in LOADS:
                mixes = [drawn(pods, bench.gpus, load, ARRIVALS, seed) for seed in bench.seeds]
                for strategy in bench.strategies:
                    one = mean_of(
                        [play(made, strategy, mix, waits=True, larger_first=larger_first) for mix in mixes]
                    )
                    cells = (one.waited.get(size, (0.0, 0.0)) for size in SIZES)
                    texts = "".join(f"{f'{average:.3f} {most:.3f}':>16}" for average, most in cells)
                    print(f"  {f'{load:g} % {strategy.name}':42}{one.in_use:9.2f}{texts}", flush=True)


def sampling(bench: Bench) -> None:
    """The cluster several times over: every node scored, or as many as the scheduler chooses by itself."""
    names = ("default", "MostAllocated 1/1/5", "compiled")
    compared = [strategy for strategy in bench.strategies if strategy.name in names]
    for name in bench.lists:
        pods = trace.requests(name)
        for copies in COPIES:
            machines = bench.machines * copies
            print(f"\n{name}: whole devices, {len(machines)} nodes\n{'':44}{_header()}")
            state = bench.compiled.state(machines)
            cases = [_arrivals(pods, bench.gpus * copies, seed) for seed in bench.seeds[:2]]
            for strategy in compared:
                every: list[Outcome] = []
                some: list[Outcome] = []
                for kinds, arrivals in cases:
                    placed = place(state, strategy, kinds, arrivals)
                    every.append(outcome(machines, kinds, arrivals, placed))
                    placed = place_sampled(state, strategy, kinds, arrivals)
                    some.append(outcome(machines, kinds, arrivals, placed))
                print(f"  {strategy.name + ', every node':42}{_row(every)}", flush=True)
                print(f"  {strategy.name + ', a sample':42}{_row(some)}", flush=True)


TABLES: dict[str, Callable[[Bench], None]] = {
    "saturation": saturation,
    "nodes": nodes,
    "devices": devices,
    "departures": departures_table,
    "durations": durations,
    "waiting": waiting,
    "sampling": sampling,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.openb",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "tables", nargs="*", help=", ".join(TABLES), choices=[*TABLES, []], default=[], metavar="TABLE"
    )
    parser.add_argument("--lists", default="default", help="names with commas, or all")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--fgd", action="store_true", help="with FGD, ten seconds a run")
    arguments = parser.parse_args()
    if not trace.folder().is_dir():
        raise SystemExit(
            f"{trace.folder()} is not there; {trace.SOURCE}; name its folder in the environment variable {trace.FOLDER}"
        )
    names = trace.lists() if arguments.lists == "all" else arguments.lists.split(",")
    bench = Bench(names, arguments.seeds, with_fgd=arguments.fgd)
    for table in arguments.tables or ["saturation"]:
        TABLES[table](bench)


if __name__ == "__main__":
    main()
