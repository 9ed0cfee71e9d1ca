"""A tree on disk: what is written, kept, removed, refused and reported."""

from __future__ import annotations

import errno
import json
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from binpackgen.emit import folder as subject
from binpackgen.emit.folder import Difference, ForeignFilesError, State, compare, write_tree
from binpackgen.emit.lock import LOCK
from binpackgen.emit.tree import Tree
from binpackgen.errors import BinpackgenError

TreeOf = Callable[[dict[str, str]], Tree]

OLD = {"a.txt": "1\n", "sub/b.txt": "1\n", "sub/deep/c.txt": "1\n", "gone/d.txt": "1\n"}
NEW = {"a.txt": "2\n", "sub/b.txt": "1\n", "sub/deep/c.txt": "2\n", "new/e.txt": "2\n"}


def content(folder: Path) -> dict[str, bytes | str]:
    """Every file by path, symbolic links as where they point."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif not path.is_dir():
            found[name] = path.read_bytes()
    return found


def inodes(folder: Path) -> dict[str, tuple[int, int, int]]:
    """What changes when something is written: inode, time of change of content and of the entry."""
    paths = [folder, *folder.rglob("*")]
    return {
        str(path): (path.lstat().st_ino, path.lstat().st_mtime_ns, path.lstat().st_ctime_ns) for path in paths
    }


def states(differences: list[Difference]) -> dict[str, str]:
    return {difference.path: str(difference.state) for difference in differences}


@pytest.fixture
def old(tree_of: TreeOf) -> Tree:
    return tree_of(OLD)


@pytest.fixture
def new(tree_of: TreeOf) -> Tree:
    return tree_of(NEW)


@pytest.fixture
def written(tmp_path: Path, old: Tree) -> Path:
    """A folder that holds the old tree, alone in its parent."""
    folder = tmp_path / "out" / "lab"
    write_tree(old, folder)
    return folder


def test_a_new_folder_holds_the_whole_tree(tmp_path: Path, old: Tree) -> None:
    """Missing parents are made, every file is there, nothing is left beside it."""
    folder = tmp_path / "some" / "out" / "lab"

    mended = write_tree(old, folder)

    assert dict.fromkeys(old.files, "missing") == states(mended)
    assert sorted(old.files) == [difference.path for difference in mended]
    assert old.files == content(folder)
    assert os.listdir(folder.parent) == ["lab"]


def test_an_equal_tree_writes_nothing(written: Path, old: Tree) -> None:
    """A second build leaves every inode and time as it was, that of the parent included."""
    before = inodes(written.parent)

    assert write_tree(old, written) == []
    assert write_tree(old, written, force=True) == []
    assert before == inodes(written.parent)


def test_another_tree_replaces_the_old_one(written: Path, old: Tree, new: Tree) -> None:
    """Changed files are rewritten, new ones added, files and folders of the old tree alone removed."""
    unchanged = (written / "sub/b.txt").stat()

    mended = write_tree(new, written)

    expected = {
        "a.txt": "stale",
        LOCK: "stale",
        "gone/d.txt": "extra",
        "new/e.txt": "missing",
        "sub/deep/c.txt": "stale",
    }
    assert expected == states(mended)
    assert new.files == content(written)
    assert not (written / "gone").exists()
    assert os.listdir(written.parent) == ["lab"]
    same = (written / "sub/b.txt").stat()
    assert (unchanged.st_ino, unchanged.st_mtime_ns) == (same.st_ino, same.st_mtime_ns)


def test_an_empty_folder_is_filled(tmp_path: Path, old: Tree) -> None:
    """A folder that exists and holds nothing is nobody's."""
    (tmp_path / "lab" / "empty").mkdir(parents=True)

    write_tree(old, tmp_path / "lab")

    assert old.files == content(tmp_path / "lab")


def test_a_deleted_file_comes_back(written: Path, old: Tree) -> None:
    """A generated file that someone deleted is written again."""
    (written / "a.txt").unlink()

    assert [Difference("a.txt", State.MISSING)] == write_tree(old, written)
    assert old.files == content(written)


def test_a_hand_edit_stops_the_build(written: Path, new: Tree) -> None:
    """A changed generated file is named, be it part of the new tree or not, and nothing is written."""
    (written / "a.txt").write_text("mine\n")
    (written / "gone/d.txt").write_text("mine\n")
    before = inodes(written.parent)

    with pytest.raises(ForeignFilesError) as caught:
        write_tree(new, written)

    reason = "changed since it was generated"
    assert {"a.txt": reason, "gone/d.txt": reason} == caught.value.files
    assert (
        str(caught.value)
        == f"""\
{written} holds files that would be lost; nothing was written
  a.txt: changed since it was generated
  gone/d.txt: changed since it was generated
change the profile rather than what it compiles to, and move other files away; --force overwrites generated files and keeps the others"""
    )
    assert before == inodes(written.parent)


def test_force_overwrites_hand_edits(written: Path, new: Tree) -> None:
    """With consent the tree is what the profile says, also where an edited file is no longer part of it."""
    (written / "a.txt").write_text("mine\n")
    (written / "gone/d.txt").write_text("mine\n")

    mended = write_tree(new, written, force=True)

    assert {"a.txt": "edited", "gone/d.txt": "edited"}.items() <= states(mended).items()
    assert new.files == content(written)


def test_a_hand_edit_that_the_profile_caught_up_with_is_fine(written: Path, new: Tree) -> None:
    """A file that already says what is wanted loses nothing."""
    (written / "a.txt").write_text(NEW["a.txt"])

    assert "a.txt" not in states(write_tree(new, written))
    assert new.files == content(written)


@pytest.mark.parametrize("equal", [True, False], ids=["equal tree", "other tree"])
def test_foreign_files_stop_the_build(written: Path, old: Tree, new: Tree, equal: bool) -> None:
    """What binpackgen did not write is named, also below folders of the tree, and nothing is written."""
    (written / "notes.txt").write_text("mine\n")
    (written / "sub/mine.txt").write_text("mine\n")
    (written / "link").symlink_to("a.txt")
    before = inodes(written.parent)

    with pytest.raises(ForeignFilesError) as caught:
        write_tree(old if equal else new, written)

    assert dict.fromkeys(["link", "notes.txt", "sub/mine.txt"], "not generated") == caught.value.files
    assert before == inodes(written.parent)


def test_force_keeps_foreign_files(written: Path, new: Tree) -> None:
    """Foreign files come along as they are: content, mode, time, links, pipes, unreadable ones."""
    (written / "mine").mkdir()
    (written / "mine/run.sh").write_text("mine\n")
    (written / "mine/run.sh").chmod(0o751)
    (written / "sub/secret").write_text("mine\n")
    (written / "sub/secret").chmod(0)
    (written / "link").symlink_to("/etc/passwd")
    (written / "broken").symlink_to("nowhere")
    os.mkfifo(written / "pipe")
    before = inodes(written)

    mended = write_tree(new, written, force=True)

    after = inodes(written)
    foreign = ["mine/run.sh", "sub/secret", "link", "broken", "pipe"]
    assert not set(foreign) & set(states(mended))
    assert [before[str(written / path)][:2] for path in foreign] == [
        after[str(written / path)][:2] for path in foreign
    ]
    assert stat.S_IMODE((written / "mine/run.sh").stat().st_mode) == 0o751
    (written / "pipe").unlink()
    (written / "sub/secret").chmod(0o600)
    expected = {"mine/run.sh": b"mine\n", "sub/secret": b"mine\n", "link": "/etc/passwd", "broken": "nowhere"}
    assert {**new.files, **expected} == content(written)


def test_force_with_nothing_but_foreign_files_writes_nothing(written: Path, old: Tree) -> None:
    """An equal tree beside kept files is still an equal tree."""
    (written / "notes.txt").write_text("mine\n")
    before = inodes(written.parent)

    assert write_tree(old, written, force=True) == []
    assert before == inodes(written.parent)


def test_foreign_files_are_copied_where_links_are_not_possible(
    written: Path, new: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system without hard links gives the same folder."""

    def refuse(*arguments: object, **more: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    (written / "notes.txt").write_text("mine\n")
    (written / "notes.txt").chmod(0o640)
    (written / "link").symlink_to("/etc/passwd")

    write_tree(new, written, force=True)

    assert {**new.files, "notes.txt": b"mine\n", "link": "/etc/passwd"} == content(written)
    assert stat.S_IMODE((written / "notes.txt").stat().st_mode) == 0o640


def test_a_folder_of_someone_else_is_not_taken_over(tmp_path: Path, old: Tree) -> None:
    """A folder without a lock that holds files: all are named, and those in the way even with force."""
    (tmp_path / "notes.txt").write_text("mine\n")
    (tmp_path / "a.txt").write_text("mine\n")

    with pytest.raises(ForeignFilesError) as caught:
        write_tree(old, tmp_path)
    assert caught.value.files == {
        "a.txt": "not generated, and the tree needs its place",
        "notes.txt": "not generated",
    }

    with pytest.raises(ForeignFilesError) as caught:
        write_tree(old, tmp_path, force=True)
    assert caught.value.files == {"a.txt": "not generated, and the tree needs its place"}
    assert content(tmp_path) == {"a.txt": b"mine\n", "notes.txt": b"mine\n"}


def test_a_tree_that_lost_its_lock_gets_it_back(written: Path, old: Tree) -> None:
    """Files that say what is wanted are no danger, so an equal tree without a lock is completed."""
    (written / LOCK).unlink()

    assert [Difference(LOCK, State.MISSING)] == write_tree(old, written)
    assert old.files == content(written)


@pytest.mark.parametrize(
    ("obstacle", "reported"),
    [
        (lambda folder: (folder / "new").write_text("mine\n"), "new"),
        (lambda folder: (folder / "new").symlink_to("/etc"), "new"),
        (
            lambda folder: (
                (folder / "new/e.txt").mkdir(parents=True),
                (folder / "new/e.txt/x").write_text(""),
            ),
            "new/e.txt/x",
        ),
    ],
    ids=["file for folder", "link for folder", "folder for file"],
)
def test_what_stands_in_the_way_is_never_destroyed(
    written: Path, new: Tree, obstacle: Callable[[Path], object], reported: str
) -> None:
    """A foreign file where the tree needs a folder, or the other way round, is refused even with force."""
    obstacle(written)
    before = inodes(written.parent)

    with pytest.raises(ForeignFilesError) as caught:
        write_tree(new, written, force=True)

    assert {reported: "not generated, and the tree needs its place"} == caught.value.files
    assert before == inodes(written.parent)


@pytest.mark.parametrize(
    ("first", "second"),
    [({"x": "1\n"}, {"x/y": "2\n"}), ({"x/y": "1\n"}, {"x": "2\n"})],
    ids=["file to folder", "folder to file"],
)
def test_a_generated_file_may_become_a_folder(
    tmp_path: Path, tree_of: TreeOf, first: dict[str, str], second: dict[str, str]
) -> None:
    """The shape of a tree may change from build to build."""
    write_tree(tree_of(first), tmp_path / "lab")

    write_tree(tree_of(second), tmp_path / "lab")

    assert tree_of(second).files == content(tmp_path / "lab")


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n",
        b"[]",
        b"\xff",
        b'{"lockVersion": 2, "files": {}}',
        b'{"lockVersion": 1, "files": []}',
        b'{"lockVersion": 1, "files": {"a.txt": 1}}',
        b"[" * 100_000,
    ],
    ids=["empty", "conflict", "list", "bytes", "version", "files", "digest", "deep"],
)
def test_a_damaged_lock_is_mended(written: Path, old: Tree, new: Tree, damage: bytes) -> None:
    """Without a lock to trust an equal tree is only given a new one, another tree needs consent."""
    (written / LOCK).write_bytes(damage)

    with pytest.raises(ForeignFilesError) as caught:
        write_tree(new, written)
    changed = "changed since it was generated"
    assert {"a.txt": changed, "gone/d.txt": "not generated", "sub/deep/c.txt": changed} == caught.value.files

    assert [Difference(LOCK, State.EDITED)] == write_tree(old, written)
    assert old.files == content(written)


def test_force_gets_over_a_damaged_lock(written: Path, new: Tree) -> None:
    """With consent the tree is complete; what cannot be told apart from a foreign file is kept."""
    (written / LOCK).write_bytes(b"<<<<<<<")

    write_tree(new, written, force=True)

    assert {**new.files, "gone/d.txt": b"1\n"} == content(written)


def test_a_hostile_lock_reaches_nothing_outside(written: Path, new: Tree) -> None:
    """Paths in a lock are compared with what the folder holds, never opened or removed."""
    outside = written.parent / "outside.txt"
    outside.write_text("mine\n")
    lock = json.loads((written / LOCK).read_bytes())
    lock["files"] |= {
        "../outside.txt": "sha256:0",
        str(outside): "sha256:0",
        "": "sha256:0",
        "sub": "sha256:0",
    }
    (written / LOCK).write_text(json.dumps(lock))

    write_tree(new, written, force=True)

    assert new.files == content(written)
    assert outside.read_text() == "mine\n"


def test_links_in_place_of_generated_files_are_not_followed(written: Path, new: Tree, tmp_path: Path) -> None:
    """A generated file or folder that became a link counts as changed; what it points to stays as it is."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("a.txt", "b.txt", "lock"):
        (outside / name).write_text("1\n")
    (outside / "lock").write_bytes((written / LOCK).read_bytes())
    before = inodes(outside)
    for name, target in (("a.txt", "a.txt"), (LOCK, "lock")):
        (written / name).unlink()
        (written / name).symlink_to(outside / target)

    with pytest.raises(ForeignFilesError):
        write_tree(new, written)
    write_tree(new, written, force=True)

    assert {**new.files, "gone/d.txt": b"1\n"} == content(written)
    assert before == inodes(outside)


def test_a_link_in_place_of_a_generated_folder_is_not_followed(
    written: Path, old: Tree, tmp_path: Path
) -> None:
    """Neither reading nor writing goes through a folder that became a link."""
    (written / "sub").rename(tmp_path / "elsewhere")
    (written / "sub").symlink_to(tmp_path / "elsewhere")
    before = inodes(tmp_path / "elsewhere")

    with pytest.raises(ForeignFilesError) as caught:
        write_tree(old, written, force=True)

    assert caught.value.files == {"sub": "not generated, and the tree needs its place"}
    assert states(compare(old, written)) == {
        "sub": "extra",
        "sub/b.txt": "missing",
        "sub/deep/c.txt": "missing",
    }
    assert before == inodes(tmp_path / "elsewhere")


@pytest.mark.parametrize("write", [write_tree, compare])
def test_a_target_that_is_no_folder_is_refused(
    tmp_path: Path, old: Tree, write: Callable[[Tree, Path], object]
) -> None:
    """A file, or a link even to a folder, in the place of the folder is an error and stays."""
    (tmp_path / "file").write_text("mine\n")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(BinpackgenError, match="file is no folder"):
        write(old, tmp_path / "file")
    with pytest.raises(BinpackgenError, match="link is a symbolic link"):
        write(old, tmp_path / "link")
    assert content(tmp_path) == {"file": b"mine\n", "link": "real"}


@pytest.mark.parametrize("name", [".", "..", "/", "a/.."])
def test_a_folder_needs_a_name(old: Tree, name: str) -> None:
    """What cannot be swapped for another folder is refused."""
    with pytest.raises(BinpackgenError, match="has no name of its own"):
        write_tree(old, Path(name))


def test_a_mount_point_inside_is_refused(old: Tree) -> None:
    """A folder that holds another file system cannot be replaced as a whole."""
    if not any(
        os.stat(f"/dev/{name}").st_dev != os.stat("/dev").st_dev
        for name in ("pts", "shm")
        if os.path.isdir(f"/dev/{name}")
    ):
        pytest.skip("nothing is mounted below /dev here")

    with pytest.raises(BinpackgenError, match="is a mount point"):
        compare(old, Path("/dev"))


def test_a_parent_reached_through_a_link_is_fine(tmp_path: Path, old: Tree) -> None:
    """Only the folder itself must be real; where its parent is, is the user's business."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    write_tree(old, tmp_path / "link" / "lab")

    assert old.files == content(tmp_path / "real" / "lab")


def test_a_build_from_inside_the_folder_works(written: Path, new: Tree) -> None:
    """The current folder may be the one that is replaced, named by a relative path."""
    code = (
        "import pickle, sys; from pathlib import Path; from binpackgen.emit.folder import write_tree;"
        "print(len(write_tree(pickle.load(sys.stdin.buffer), Path('../lab'))))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=written,
        env=environment,
        input=pickle.dumps(new),
        capture_output=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == (b"5\n", b"")
    assert new.files == content(written)
    assert os.listdir(written.parent) == ["lab"]


def test_leftovers_of_dead_runs_are_removed(written: Path, old: Tree) -> None:
    """Hidden folders of earlier writes of this folder go, everything else beside it stays."""
    for name in (".lab.binpackgen-0123abcd", ".lab.binpackgen-old"):
        (written.parent / name / "sub").mkdir(parents=True)
        (written.parent / name / "sub/x").write_text("1\n")
    others = [".lab.binpackgen-notes", ".lab2.binpackgen-0123abcd", "lab.binpackgen-0123abcd"]
    for name in others:
        (written.parent / name).mkdir()

    assert write_tree(old, written) == []
    assert sorted([*others, "lab"]) == sorted(os.listdir(written.parent))


def test_permissions_follow_the_umask(tmp_path: Path, old: Tree) -> None:
    """Files and folders get the permissions that any other program of the user would give them."""
    before = os.umask(0o027)
    try:
        write_tree(old, tmp_path / "out" / "lab")
    finally:
        os.umask(before)

    modes = {
        path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in (
            tmp_path / "out/lab",
            tmp_path / "out/lab/sub",
            tmp_path / "out/lab/a.txt",
            tmp_path / "out/lab" / LOCK,
        )
    }
    assert {"out/lab": 0o750, "out/lab/sub": 0o750, "out/lab/a.txt": 0o640, f"out/lab/{LOCK}": 0o640} == modes


def test_compare_names_every_state_and_writes_nothing(written: Path, new: Tree) -> None:
    """Missing, stale, extra and edited files by path; an old lock is stale too."""
    (written / "sub/deep/c.txt").write_text("mine\n")
    (written / "notes.txt").write_text("mine\n")
    before = inodes(written.parent)

    differences = compare(new, written)

    assert [
        Difference("a.txt", State.STALE),
        Difference(LOCK, State.STALE),
        Difference("gone/d.txt", State.EXTRA),
        Difference("new/e.txt", State.MISSING),
        Difference("notes.txt", State.EXTRA),
        Difference("sub/deep/c.txt", State.EDITED),
    ] == differences
    assert before == inodes(written.parent)


def test_compare_of_an_equal_or_absent_folder(written: Path, old: Tree, tmp_path: Path) -> None:
    """Nothing differs after a write; of a folder that is not there everything is missing, and it is not made."""
    assert compare(old, written) == []
    assert dict.fromkeys(old.files, "missing") == states(compare(old, tmp_path / "none" / "lab"))
    assert not (tmp_path / "none").exists()


def test_a_release_that_changes_no_file_makes_no_difference(
    written: Path, tree_of: TreeOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version in the lock is that of the last build that changed something."""
    monkeypatch.setattr("binpackgen.emit.lock.__version__", "99.0.0")
    newer = tree_of(OLD)
    before = inodes(written.parent)

    assert compare(newer, written) == []
    assert write_tree(newer, written) == []
    assert before == inodes(written.parent)

    write_tree(tree_of(NEW), written)
    assert json.loads((written / LOCK).read_bytes())["binpackgen"] == "99.0.0"


def test_names_that_a_terminal_would_obey_are_escaped(written: Path, new: Tree) -> None:
    """Control characters and bytes that are no text in the names of foreign files are shown escaped."""
    (written / "a\x1b[2J\nb").write_text("")
    (written / os.fsdecode(b"\xff")).write_text("")

    with pytest.raises(ForeignFilesError) as caught:
        write_tree(new, written)

    assert list(caught.value.files) == ["'a\\x1b[2J\\nb'", "'\\udcff'"]
    str(caught.value).encode()


def test_a_full_disk_leaves_the_old_tree(
    written: Path, old: Tree, new: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operating system error on the way is told with its place; the folder and its parent are as before."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(BinpackgenError, match="lab cannot be read or written: No space left on device"):
        write_tree(new, written)

    assert old.files == content(written)
    assert os.listdir(written.parent) == ["lab"]


def test_an_interrupt_leaves_the_old_tree(
    written: Path, old: Tree, new: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control-C in the middle cleans up after itself."""

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)

    with pytest.raises(KeyboardInterrupt):
        write_tree(new, written)

    assert old.files == content(written)
    assert os.listdir(written.parent) == ["lab"]


def test_a_file_system_without_exchange_ends_the_same(
    written: Path, new: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two renames give the same folder and leave nothing beside it."""
    monkeypatch.setattr(subject, "_exchange", lambda one, other: False)
    (written / "notes.txt").write_text("mine\n")

    write_tree(new, written, force=True)

    assert {**new.files, "notes.txt": b"mine\n"} == content(written)
    assert os.listdir(written.parent) == ["lab"]


def test_a_failing_second_rename_puts_the_old_folder_back(
    written: Path, old: Tree, new: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without exchange, an error between the two renames still leaves the old tree."""
    rename = Path.rename

    def fail_for_the_new_one(self: Path, target: Path) -> Path:
        if self.name.startswith(".lab.binpackgen-") and self.name != ".lab.binpackgen-old":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    monkeypatch.setattr(subject, "_exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", fail_for_the_new_one)

    with pytest.raises(BinpackgenError, match="Input/output error"):
        write_tree(new, written)

    assert old.files == content(written)
    assert os.listdir(written.parent) == ["lab"]


def test_two_folders_are_exchanged_in_one_step(tmp_path: Path) -> None:
    """This system has the one-step exchange; where it has not, the write falls back to two renames."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("")

    if not subject._exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("no renameat2 or renameatx_np on this file system")

    assert content(tmp_path) == {"one/other": b"", "other/one": b""}


def test_a_failed_exchange_is_an_error(tmp_path: Path) -> None:
    """What the system says about a swap that cannot be done is not taken for a missing function."""
    if not hasattr(__import__("ctypes").CDLL(None), "renameat2"):
        pytest.skip("no renameat2 in the C library")

    with pytest.raises(FileNotFoundError):
        subject._exchange(tmp_path / "none", tmp_path / "neither")
