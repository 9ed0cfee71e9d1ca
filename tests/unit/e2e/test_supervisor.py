"""Processes of a run end with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from binpackgen.errors import BinpackgenError
from binpackgen_e2e.processes.supervisor import Supervisor, free_ports

#: Ignores the polite request to end, as a hanging program would.
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether `condition` comes to hold in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def test_the_end_of_a_run_ends_its_processes_and_removes_its_folder() -> None:
    """Also of a program that ignores SIGTERM, and of what a program started itself."""
    with Supervisor() as supervisor:
        plain = supervisor.start("plain", ["sleep", "600"])
        stubborn = supervisor.start("stubborn", [sys.executable, "-c", STUBBORN])
        parent = supervisor.start("parent", ["sh", "-c", "sleep 601 & echo $!; wait"])
        assert within(10, lambda: "up" in stubborn.last_lines() and parent.last_lines() != "")
        child = int(parent.last_lines())
        assert all(map(is_running, (plain.pid, stubborn.pid, parent.pid, child)))
    assert within(2, lambda: not any(map(is_running, (plain.pid, stubborn.pid, parent.pid, child))))
    assert not supervisor.folder.exists()


def test_a_kept_folder_stays_with_the_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Supervisor() as supervisor:
        hello = supervisor.start("hello", ["echo", "hello"])
        assert hello.wait(5)
        folder = supervisor.keep()
    assert (folder / "hello.log").read_text() == "hello\n"


def test_a_process_that_ends_by_itself_is_an_error_with_the_end_of_its_log() -> None:
    with Supervisor() as supervisor:
        failing = supervisor.start("failing", ["sh", "-c", "echo no such flag; exit 3"])
        assert failing.wait(5)
        with pytest.raises(BinpackgenError, match=r"failing ended with status 3.*\nno such flag"):
            supervisor.check()


def test_a_process_killed_on_purpose_is_no_error_and_starts_again() -> None:
    with Supervisor() as supervisor:
        process = supervisor.start("sleeper", ["sleep", "600"])
        first = process.pid
        supervisor.kill("sleeper")
        supervisor.check()
        assert not is_running(first)
        supervisor.restart("sleeper")
        assert process.pid != first
        assert is_running(process.pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_a_run_that_is_killed_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    """No process, no folder, and what had to be undone is undone: the guardian outlives its owner."""
    undone = tmp_path / "undone"
    script = textwrap.dedent(
        f"""
        import signal, sys, time
        from binpackgen_e2e.processes.supervisor import Supervisor
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
        with Supervisor() as supervisor:
            process = supervisor.start("stubborn", [sys.executable, "-c", {STUBBORN!r}])
            while "up" not in process.last_lines():
                time.sleep(0.05)
            with supervisor.undoing(["touch", {str(undone)!r}]):
                print(process.pid, supervisor.folder, flush=True)
                time.sleep(600)
        """
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert owner.stdout is not None
    pid, folder = owner.stdout.readline().split()
    assert is_running(int(pid))
    assert Path(folder).is_dir()
    owner.send_signal(number)
    owner.wait(20)
    owner.stdout.close()
    assert within(15, lambda: not is_running(int(pid)) and not Path(folder).exists() and undone.exists())


def test_free_ports_are_different_ones() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50


def test_a_process_killed_before_the_end_is_forgotten_once() -> None:
    """And once more at the end, which must not end the guardian: it is there until all is gone."""
    with Supervisor() as supervisor:
        supervisor.start("one", ["sleep", "600"])
        supervisor.start("other", ["sleep", "600"])
        supervisor.kill("one")

    assert 0 == supervisor._guardian.returncode
