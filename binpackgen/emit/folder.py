"""A tree on disk: what differs, and a write that leaves the old folder or the new one and nothing between.

The new tree is built beside the folder under a hidden name, with hard links to what stays the same, flushed
to the disk, and swapped with the folder in one step (renameat2 on Linux, renameatx_np on macOS). Where the
file system has no such step there are two renames; a run that dies between them leaves no folder, and the
next write puts the old one back before it does anything else. Writes into one parent folder wait for each
other.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BinpackgenError
from .lock import LOCK, read_lock, same_build
from .tree import Tree


class State(StrEnum):
    """How a file of the folder differs from the tree."""

    MISSING = "missing"
    STALE = "stale"
    EXTRA = "extra"
    EDITED = "edited"


class Difference(NamedTuple):
    """A file that is missing, stale (not what the profile compiles to now), extra (not part of the tree) or
    edited (changed since it was generated, other than into what is wanted)."""

    path: str
    state: State


class ForeignFilesError(BinpackgenError):
    """The folder holds what a write would destroy, nothing was written; `files` has each path with the reason."""

    def __init__(self, folder: Path, files: Mapping[str, str], advice: str) -> None:
        listing = "".join(f"\n  {path}: {reason}" for path, reason in files.items())
        super().__init__(f"{folder} holds files that would be lost; nothing was written{listing}\n{advice}")
        self.files = dict(files)


_EDITED = "changed since it was generated"
_FOREIGN = "not generated"
_IN_THE_WAY = "not generated, and the tree needs its place"


def compare(tree: Tree, folder: Path) -> list[Difference]:
    """What `write_tree` would have to mend in `folder`, by path; reads only."""
    with _told(folder):
        return [difference for difference, _ in _differences(tree, _look(tree, folder, folder))]


def write_tree(tree: Tree, folder: Path, *, force: bool = False) -> list[Difference]:
    """Make `folder` hold `tree`, all of it or nothing; returns what was mended, by path.

    A folder that holds the tree is not touched. Files that an earlier build wrote and the tree no longer has
    are removed. Raises ForeignFilesError for files that were changed by hand or never generated; with `force`
    the former are overwritten and the latter kept, unless the tree needs their place.
    """
    with _told(folder):
        if folder.name in ("", ".."):
            raise BinpackgenError(f"{folder} has no name of its own; name the folder to write")
        folder.parent.mkdir(parents=True, exist_ok=True)
        # absolute, since the current directory may be the one that is replaced
        place = folder.parent.resolve() / folder.name
        with _alone_in(place.parent):
            _clean_up(place)
            present = _look(tree, place, folder)
            found = _differences(tree, present)
            lost = {
                difference.path: reason
                for difference, reason in found
                if reason == _IN_THE_WAY or (reason is not None and not force)
            }
            if lost:
                raise ForeignFilesError(folder, lost, _advice(force))
            mended = [difference for difference, reason in found if reason != _FOREIGN]
            if mended:
                _replace(tree, place, present)
            return mended


def _advice(force: bool) -> str:
    if force:
        return "move them away"
    return (
        "change the profile rather than what it compiles to, and move other files away; "
        "--force overwrites generated files and keeps the others"
    )


class _Present(NamedTuple):
    """What a folder holds: its lock, and every entry that is no folder, by path.

    An entry's digest is empty where it does not matter and where the entry is no regular file: a symbolic
    link is never read through.
    """

    entries: Mapping[str, str]
    lock: Mapping[str, Any] | None

    @property
    def written(self) -> Mapping[str, str]:
        """Digests of what the last build wrote."""
        return self.lock["files"] if self.lock else {}

    def foreign(self, tree: Tree) -> list[str]:
        """Entries that no build wrote and that have no place in the tree."""
        return [path for path in self.entries if path not in tree.files and path not in self.written]


def _look(tree: Tree, folder: Path, shown: Path) -> _Present:
    if not os.path.lexists(folder):
        return _Present({}, None)
    kind = os.lstat(folder)
    if not stat.S_ISDIR(kind.st_mode):
        found = "a symbolic link" if stat.S_ISLNK(kind.st_mode) else "no folder"
        raise BinpackgenError(f"{shown} is {found}; a tree is written to a folder only")
    regular = dict(sorted(_entries(str(folder), "", kind.st_dev)))
    lock = read_lock(_read(folder / LOCK)) if regular.get(LOCK) else None
    known = {*tree.digests, *(lock["files"] if lock else ())}
    entries = {
        path: _digest(folder / path) if plain and path in known else "" for path, plain in regular.items()
    }
    return _Present(entries, lock)


def _entries(folder: str, prefix: str, device: int) -> Iterator[tuple[str, bool]]:
    """Every entry below `folder` that is no folder, with whether it is a regular file."""
    with os.scandir(folder) as found:
        for entry in found:
            if not entry.is_dir(follow_symlinks=False):
                yield prefix + entry.name, entry.is_file(follow_symlinks=False)
            elif entry.stat(follow_symlinks=False).st_dev != device:
                # its content can be neither moved along nor left behind
                raise BinpackgenError(f"{entry.path} is a mount point, and a tree is replaced as a whole")
            else:
                yield from _entries(entry.path, f"{prefix}{entry.name}/", device)


def _differences(tree: Tree, present: _Present) -> list[tuple[Difference, str | None]]:
    """Every difference with the reason why a write would lose something, if it would."""
    result: list[tuple[Difference, str | None]] = []
    damaged = LOCK in present.entries and present.lock is None
    folders = {folder for path in tree.files for folder in _above(path)}
    for path in sorted({*tree.files, *present.entries}):
        here, wanted, was = (places.get(path) for places in (present.entries, tree.digests, present.written))
        reason = None
        if path == LOCK:
            if present.lock is not None and same_build(present.lock, json.loads(tree.files[LOCK])):
                continue
            state = State.MISSING if here is None else State.EDITED if damaged else State.STALE
        elif here == wanted:
            continue
        elif here is None:
            state = State.MISSING
        elif was is not None and here == was:
            state = State.EXTRA if wanted is None else State.STALE
        elif was is not None or (damaged and wanted is not None):
            state, reason = State.EDITED, _EDITED
        else:
            state = State.EXTRA if wanted is None else State.STALE
            in_the_way = (
                wanted is not None or path in folders or any(place in tree.files for place in _above(path))
            )
            reason = _IN_THE_WAY if in_the_way else _FOREIGN
        result.append((Difference(path if path.isprintable() else ascii(path), state), reason))
    return result


def _above(path: str) -> list[str]:
    """The folders above `path`, outermost first."""
    steps = path.split("/")
    return ["/".join(steps[:end]) for end in range(1, len(steps))]


def _replace(tree: Tree, folder: Path, present: _Present) -> None:
    new = folder.parent / f"{_hidden(folder)}{os.urandom(4).hex()}"
    foreign = present.foreign(tree)
    try:
        folders = sorted({place for path in (*tree.files, *foreign) for place in _above(path)})
        for place in ("", *folders):
            (new / place).mkdir()
        for path, content in tree.files.items():
            same = path in tree.digests and present.entries.get(path) == tree.digests[path]
            if not (same and _link(folder / path, new / path)):
                _write(new / path, content)
        for path in foreign:
            if not _link(folder / path, new / path):
                shutil.copy2(folder / path, new / path, follow_symlinks=False)
        for place in (*reversed(folders), ""):
            _flush(new / place)
        _swap(new, folder)
        _flush(folder.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)  # after a swap this is the old folder


def _link(source: Path, target: Path) -> bool:
    """Give a file a second name; False where the file system cannot."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:  # names that differ in case only, where the file system sees no difference
        raise
    except (OSError, NotImplementedError):
        return False
    return True


def _read(path: Path) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()


def _digest(path: Path) -> str:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems cannot flush a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(new: Path, folder: Path) -> None:
    """Put `new` where `folder` is; what was there is removed or has the name of `new` afterwards."""
    if not os.path.lexists(folder):
        new.rename(folder)
        return
    if _exchange(new, folder):
        return
    old = folder.parent / f"{_hidden(folder)}{_OLD}"
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap the names of two folders in one step, by absolute paths; False where that does not exist."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    # same parameters, and 2 is both RENAME_EXCHANGE (linux/fs.h) and RENAME_SWAP (sys/stdio.h of macOS)
    function = getattr(library, "renameat2", None) or getattr(library, "renameatx_np", None)
    if function is None:
        return False
    if function(-1, os.fsencode(one), -1, os.fsencode(other), 2) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), str(other))


_OLD = "old"


def _hidden(folder: Path) -> str:
    """How the names begin that a write uses beside `folder`."""
    return f".{folder.name}.binpackgen-"


def _clean_up(folder: Path) -> None:
    """Finish what runs that died have left beside `folder`."""
    old = folder.parent / f"{_hidden(folder)}{_OLD}"
    if os.path.lexists(old) and not os.path.lexists(folder):
        old.rename(folder)
    leftover = re.compile(re.escape(_hidden(folder)) + rf"({_OLD}|[0-9a-f]{{8}})")
    for name in os.listdir(folder.parent):
        if leftover.fullmatch(name):
            shutil.rmtree(folder.parent / name, ignore_errors=True)


@contextmanager
def _alone_in(parent: Path) -> Iterator[None]:
    """Let no other write into `parent` run; the lock is on the folder itself and leaves no file."""
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # no locks on this file system: the swap alone still leaves a whole tree
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Say of an operating system error what it prevented."""
    try:
        yield
    except OSError as error:
        at = f" ({error.filename})" if error.filename is not None else ""
        raise BinpackgenError(f"{folder} cannot be read or written: {error.strerror or error}{at}") from error
