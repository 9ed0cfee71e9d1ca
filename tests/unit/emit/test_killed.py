"""Writers that are killed at any point, and writers that run at once: the folder always holds one whole tree."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binpackgen.emit.folder import compare, write_tree
from binpackgen.emit.tree import Tree

TreeOf = Callable[[dict[str, str]], Tree]

ROOT = Path(__file__).parents[3]

OLD = {"a.txt": "1\n", "sub/b.txt": "1\n", "gone/d.txt": "1\n"}
NEW = {"a.txt": "2\n", "sub/b.txt": "1\n", "new/e.txt": "2\n"}

#: Runs writers that die at their first, second, ... call into the operating system, until one gets through.
_KILLER = """
import json, os, pickle, shutil, signal, sys
from pathlib import Path
from binpackgen.emit import folder as subject

place, writer = Path(sys.argv[1]), sys.argv[2]
old, new = pickle.load(sys.stdin.buffer)

def write(tree):
    if writer == "in place":
        for path, content in tree.files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(content)
    else:
        subject.write_tree(tree, place, force=True)

if writer == "two renames":
    subject._exchange = lambda one, other: False

def content():
    if not place.exists():
        return None
    return {str(path.relative_to(place)): path.read_text() for path in sorted(place.rglob("*")) if path.is_file()}

def prepare():
    shutil.rmtree(place.parent, ignore_errors=True)
    if old is not None:
        subject.write_tree(old, place)
        (place / "notes.txt").write_text("mine")

def die_at(step):
    count = 0
    def trace(frame, event, function):
        nonlocal count
        name, module = getattr(function, "__name__", ""), getattr(function, "__module__", "")
        system = module in ("posix", "fcntl", "_io", "io") or name in ("write", "flush", "close", "get_errno")
        if event in ("c_call", "c_return") and system:
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(trace)

found, step, status = [], 0, 1
while status:
    step += 1
    prepare()
    child = os.fork()
    if not child:
        die_at(step)
        write(new)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    after = content()
    subject.write_tree(new, place, force=True) if writer != "in place" else None
    found.append([after, content(), sorted(os.listdir(place.parent)) if place.parent.exists() else []])
json.dump(found, sys.stdout)
"""


def python(code: str, *arguments: str, given: object = None) -> subprocess.Popen[bytes]:
    """A Python process of its own that runs `code` and gets `given` on its standard input."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(pickle.dumps(given))
    process.stdin.close()
    process.stdin = None
    return process


def outcomes(tmp_path: Path, writer: str, old: Tree | None, new: Tree) -> list[Any]:
    """For each point where the writer was killed: what the folder held, what the next write made of it."""
    out, err = python(_KILLER, str(tmp_path / "out" / "lab"), writer, given=(old, new)).communicate(
        timeout=250
    )
    assert not err, err.decode()
    found: list[Any] = json.loads(out)
    return found


def texts(tree: Tree, *, notes: bool = True) -> dict[str, str]:
    """A tree's files with the foreign one beside them, as the killed writers' folders are described."""
    files = {path: content.decode() for path, content in tree.files.items()}
    return dict(sorted({**files, **({"notes.txt": "mine"} if notes else {})}.items()))


@pytest.mark.parametrize("writer", ["exchange", "two renames"])
def test_a_writer_killed_anywhere_leaves_the_old_tree_or_the_new_one(
    tmp_path: Path, tree_of: TreeOf, writer: str
) -> None:
    """Killed before and after each system call: one whole tree, foreign files in it, and the next write mends all.

    Without the one-step exchange there is one more outcome, no folder, from which the next write recovers.
    """
    old, new = tree_of(OLD), tree_of(NEW)

    found = outcomes(tmp_path, writer, old, new)

    states = [
        {json.dumps(texts(old)): "old", json.dumps(texts(new)): "new", "null": "none"}[json.dumps(after)]
        for after, _, _ in found
    ]
    assert len(states) > 50
    assert {"old", "new"} | ({"none"} if writer == "two renames" else set()) == set(states)
    assert states == sorted(states, key=["old", "none", "new"].index)
    assert [[texts(new), ["lab"]]] * len(found) == [[mended, beside] for _, mended, beside in found]


def test_a_first_writer_killed_anywhere_leaves_nothing_or_the_tree(tmp_path: Path, tree_of: TreeOf) -> None:
    """Where there was no folder there is none or the whole one."""
    new = tree_of(NEW)

    found = outcomes(tmp_path, "exchange", None, new)

    assert [None, texts(new, notes=False)] == [
        state for i, (state, _, _) in enumerate(found) if not i or state != found[i - 1][0]
    ]
    assert [[texts(new, notes=False), ["lab"]]] * len(found) == [
        [mended, beside] for _, mended, beside in found
    ]


def test_a_writer_that_writes_in_place_fails_the_same_check(tmp_path: Path, tree_of: TreeOf) -> None:
    """Control: a plain loop over the files, killed the same way, leaves mixtures of the trees."""
    old, new = tree_of(OLD), tree_of(NEW)

    found = outcomes(tmp_path, "in place", old, new)

    assert any(after not in (texts(old), texts(new)) for after, _, _ in found)


_WRITER = """
import pickle, sys
from pathlib import Path
from binpackgen.emit.folder import write_tree
for tree in pickle.load(sys.stdin.buffer):
    write_tree(tree, Path(sys.argv[1]))
"""


def test_writers_at_once_leave_one_whole_tree(tmp_path: Path, tree_of: TreeOf) -> None:
    """Three processes write different trees into one folder again and again: no error, never a mixture."""
    folder = tmp_path / "out" / "lab"
    trees = [
        tree_of({"a.txt": name, f"{name}/only.txt": name, "sub/b.txt": f"{name}\n" * 1000}) for name in "xyz"
    ]
    write_tree(trees[0], folder)

    writers = [python(_WRITER, str(folder), given=[*trees[i:], *trees[:i]] * 7) for i in range(3)]
    while any(writer.poll() is None for writer in writers):
        assert folder.is_dir()
    ends = [writer.communicate() for writer in writers]

    assert ends == [(b"", b"")] * 3
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert [compare(tree, folder) for tree in trees if not compare(tree, folder)] == [[]]
    assert os.listdir(folder.parent) == ["lab"]
