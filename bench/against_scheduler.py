"""`python -m bench.against_scheduler`: CPU of a real kube-scheduler and of the simulator on the same pods.

A kube-scheduler 1.37 decides over pods of the openb trace on an API server of its own; its user and system time
come from /proc, from before the first pod to after the last, with no other work. The simulator gets the nodes
and pods as the API server handed them out; its time is that of its start and all decisions, the least of several
runs. Both must decide the same. Prints the ratios; at least 200 is the target.
"""

from __future__ import annotations

import time

from binpackgen.simulate.engine import simulator
from binpackgen.simulate.objects import ReadCluster, read_cluster
from binpackgen_e2e.decisions import Decisions, scheduler_alone
from tests.conformance.whole_runs import MOST, Question, configuration, shapes_of, trace_nodes, trace_pods

#: Nodes and pods: a small run, and the whole list.
SIZES = ((300, 2000), (1213, 5074))
STRATEGIES = {"MostAllocated 1/1/5": MOST, "default": None}
RUNS = 5
TARGET = 200
FLAGS = ("--feature-gates=OpportunisticBatching=false",)


def main() -> None:
    """Measure and print."""
    print(
        f"{'profile':22} {'nodes':>6} {'pods':>6} {'scheduler ms a pod':>19} {'simulator us':>13} {'ratio':>6}"
    )
    with scheduler_alone("1.37") as alone:
        for nodes, pods in SIZES:
            for name, strategy in STRATEGIES.items():
                question = Question(configuration(strategy), trace_nodes(1, nodes), trace_pods(1, pods))
                run = alone.decide(question.configuration, question.nodes, question.pods, (), *FLAGS)
                theirs = run.cpu_seconds / len(run.pods)
                ours = simulated(run, question) / len(run.pods)
                print(
                    f"{name:22} {nodes:6} {pods:6} {theirs * 1e3:19.2f} {ours * 1e6:13.1f} {theirs / ours:6.0f}"
                    f"  at least {TARGET}"
                )


def simulated(run: Decisions, question: Question) -> float:
    """Seconds of CPU for all attempts of a run; a decision that is not the scheduler's ends the benchmark."""
    pods = [{"kind": "Pod", **pod} for pod in run.pods]
    read = read_cluster([*({"kind": "Node", **node} for node in run.nodes), *pods])
    return min(_once(read, question, run) for _ in range(RUNS))


def _once(read: ReadCluster, question: Question, run: Decisions) -> float:
    shapes, turns = shapes_of(read)
    profile = question.profile("1.37")
    start = time.process_time()
    simulation = simulator(read.state, profile, shapes)
    placed = [simulation.place(turn) for turn in turns]
    seconds = time.process_time() - start
    expected = [None if node is None else read.state.index[node] for node in run.chosen]
    assert expected == placed
    return seconds


if __name__ == "__main__":
    main()
