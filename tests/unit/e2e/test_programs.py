"""Go programs of the repository in the cache of binaries: what makes an entry another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from binpackgen_e2e import binaries
from binpackgen_e2e.binaries import PROGRAMS, Program, UnavailableError, binary

# Stands in for the Go toolchain: leaves its arguments as the binary.
GO_THAT_ECHOES = """\
#!/bin/sh
case $1 in
env) echo go1.26.8 ;;
build) echo "$@" >"$3" ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `tool` on a module x.test/base, which its linker stamps with the version."""
    tools, source = tmp_path / "tools", tmp_path / "tool"
    tools.mkdir()
    (tools / "go").write_text(GO_THAT_ECHOES)
    (tools / "go").chmod(0o755)
    (source / "cmd").mkdir(parents=True)
    (source / "go.mod").write_text("module tool\n\ngo 1.26.0\n\nrequire x.test/base v1.37.2\n")
    (source / "go.sum").write_text("")
    for name in ("tool.go", "tool_test.go", "cmd/main.go"):
        (source / name).write_text("package tool\n")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BINPACKGEN_CACHE", str(tmp_path / "cache"))
    program = Program(source, "x.test/base", "./cmd", "x.test/base/version")
    monkeypatch.setitem(binaries.PROGRAMS, "tool", program)
    return source


def test_the_linker_stamps_the_pinned_version(folder: Path) -> None:
    """The program says the version of the module that it is built on, and its own package is built."""
    stamps = "-X x.test/base/version.gitVersion=v1.37.2 -X x.test/base/version.gitMajor=1 -X x.test/base/version.gitMinor=37"

    built = binary("tool").read_text().split(" ", 3)[3]

    assert built == f"-mod=readonly -buildvcs=false -trimpath -ldflags=-s -w {stamps} ./cmd\n"


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "tool.go", "cmd/main.go"])
def test_a_change_is_another_binary(folder: Path, name: str) -> None:
    """Source at any depth and the pins are what the entry is made from."""
    before = binary("tool")

    with (folder / name).open("a") as file:
        file.write("\n")

    assert before != binary("tool")


def test_go_tests_are_no_part_of_the_binary(folder: Path) -> None:
    """A changed test leaves the binary that is there."""
    before = binary("tool")

    (folder / "tool_test.go").write_text("package other\n")

    assert before == binary("tool")


def test_without_the_repository_there_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package has no plugin sources, and says so."""
    monkeypatch.setitem(binaries.PROGRAMS, "tool", Program(tmp_path / "gone", "x.test/base"))

    with pytest.raises(UnavailableError, match=r"^tool is not available: there is no \S+/gone; only the"):
        binary("tool")


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_repositorys_programs_pin_their_modules(name: str) -> None:
    """go.mod states the version that go.sum holds the sum of."""
    program = PROGRAMS[name]

    pin = binaries._pin(program.folder, program.module)

    assert f"{program.module} {pin.version} h1:" in (program.folder / "go.sum").read_text()
