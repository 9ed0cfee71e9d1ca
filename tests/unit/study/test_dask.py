"""Sweeps on a Dask cluster of two workers have the same outcome as on this machine."""

from __future__ import annotations

import warnings

import pytest

from binpackgen.errors import BinpackgenError
from binpackgen.study.source import Mix, Source
from binpackgen.study.subject import Subject
from binpackgen.study.trial import Cases
from binpackgen.study.tuning import Opened, Search, tune
from binpackgen.study.workers import dask, processes
from tests.unit.study.conftest import Make

distributed = pytest.importorskip("distributed")


@pytest.mark.filterwarnings("ignore")
def test_two_workers_find_what_one_process_finds(make: Make) -> None:
    """The search does not depend on who runs it."""
    subject = make("packing: {cpuOnlyPods: anywhere}")

    def found(opened: Opened) -> object:
        def source_of(chosen: Subject) -> Source:
            return Mix(chosen, 0.9, 40, chosen.cluster())

        outcome = tune(subject, source_of, Search(candidates=12, seeds=2, held_out=2), opened)
        return outcome.changes, outcome.before, outcome.after

    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
    ):
        warnings.simplefilter("ignore")
        there = found(dask(cluster.scheduler_address))

    assert found(processes(1)) == there


@pytest.mark.filterwarnings("ignore")
def test_an_address_where_nobody_is_is_said() -> None:
    """With the address, in seconds."""
    cases: Cases = {}
    with pytest.raises(BinpackgenError, match=r"127\.0\.0\.1:9"), dask("tcp://127.0.0.1:9")(cases):
        pass
