"""What a lone scheduler says of itself, as far as its end and its cost are read from it."""

from __future__ import annotations

import os
import time
from typing import cast

from binpackgen_e2e.api import Api
from binpackgen_e2e.decisions import cpu_seconds, metrics

METRICS = """\
# HELP scheduler_cache_size [ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache.
# TYPE scheduler_cache_size gauge
scheduler_cache_size{type="assumed_pods"} 0
scheduler_cache_size{type="nodes"} 300
scheduler_pending_pods{queue="active"} 0
scheduler_pending_pods{queue="unschedulable"} 161
scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1839
scheduler_schedule_attempts_total{profile="batch-packer",result="scheduled"} 1e+02
scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"} 161
"""


class Served:
    """A server that answers everything with the metrics."""

    def raw(self, path: str) -> bytes:
        """The metrics."""
        return METRICS.encode()


def test_counts_are_summed_over_profiles() -> None:
    """Names come without their prefix, with the label that tells their kinds apart."""
    expected = {
        "cache_size assumed_pods": 0,
        "cache_size nodes": 300,
        "pending_pods active": 0,
        "pending_pods unschedulable": 161,
        "schedule_attempts_total scheduled": 1939,
        "schedule_attempts_total unschedulable": 161,
    }

    assert expected == metrics(cast("Api", Served()))


def test_the_time_of_a_process_is_its_own() -> None:
    """It grows by what the process computes, as its own clock says, and not while it sleeps."""
    start, clock = cpu_seconds(os.getpid()), time.process_time()
    while time.process_time() < clock + 0.2:
        pass
    time.sleep(0.2)

    assert abs(cpu_seconds(os.getpid()) - start - (time.process_time() - clock)) <= 0.05
