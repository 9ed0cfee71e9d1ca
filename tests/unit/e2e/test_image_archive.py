"""Images without an engine: what the archive holds, and that its digests are those of its parts."""

from __future__ import annotations

import hashlib
import json
import platform
import tarfile
from pathlib import Path

import pytest

from binpackgen_e2e import image_archive
from binpackgen_e2e.image_archive import write_archive

CONTENT = b"\x7fELF a static binary"
TAG = "localhost/tool:1"


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "tool"
    path.write_bytes(CONTENT)
    return path


def members(archive: Path) -> dict[str, bytes]:
    """The files of a tar by name."""
    with tarfile.open(archive) as tar:
        return {entry.name: file.read() for entry in tar if (file := tar.extractfile(entry)) is not None}


def test_the_manifest_names_parts_by_their_digests(tmp_path: Path, binary: Path) -> None:
    """The configuration and the layer are what their names and the layer's diff ID say."""
    write_archive(tmp_path / "image.tar", binary, at="/tool", tag=TAG)

    parts = members(tmp_path / "image.tar")
    [manifest] = json.loads(parts["manifest.json"])
    config, [layer] = parts[manifest["Config"]], manifest["Layers"]
    digests = {name: hashlib.sha256(parts[name]).hexdigest() for name in (manifest["Config"], layer)}
    assert digests == {manifest["Config"]: manifest["Config"].removesuffix(".json"), layer: layer[:64]}
    assert manifest["RepoTags"] == [TAG]
    assert set(parts) == {"manifest.json", manifest["Config"], layer}
    assert json.loads(config) == {
        "architecture": {"x86_64": "amd64"}.get(platform.machine(), "arm64"),
        "config": {"Entrypoint": ["/tool"], "Env": ["PATH=/"], "WorkingDir": "/"},
        "created": "1970-01-01T00:00:00Z",
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "binpackgen"}],
        "os": "linux",
        "rootfs": {"diff_ids": [f"sha256:{digests[layer]}"], "type": "layers"},
    }


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("/tool", [("tool", 0o755, True)]),
        ("/usr/bin/tool", [("usr", 0o755, False), ("usr/bin", 0o755, False), ("usr/bin/tool", 0o755, True)]),
    ],
)
def test_the_layer_holds_the_binary_and_its_folders(
    tmp_path: Path, binary: Path, at: str, expected: list[tuple[str, int, bool]]
) -> None:
    """The binary stands at its path, executable and of root, below the folders that lead there."""
    write_archive(tmp_path / "image.tar", binary, at=at, tag=TAG)

    with tarfile.open(tmp_path / "image.tar") as outer:
        [name] = [name for name in outer.getnames() if name.endswith(".tar")]
        with tarfile.open(fileobj=outer.extractfile(name)) as layer:
            entries = layer.getmembers()
            file = layer.extractfile(entries[-1])
            assert file is not None
            assert file.read() == CONTENT
    assert [(entry.name, entry.mode, entry.isfile()) for entry in entries] == expected
    assert {(entry.uid, entry.gid, entry.mtime) for entry in entries} == {(0, 0, 0)}


def test_equal_input_gives_equal_bytes(tmp_path: Path, binary: Path) -> None:
    """Neither time, user, mode nor folder of the binary reaches the archive; its content and the tag do."""
    write_archive(tmp_path / "first.tar", binary, at="/tool", tag=TAG)
    other = tmp_path / "elsewhere" / "name"
    other.parent.mkdir()
    other.write_bytes(CONTENT)
    other.chmod(0o600)
    write_archive(tmp_path / "second.tar", other, at="/tool", tag=TAG)
    write_archive(tmp_path / "tag.tar", other, at="/tool", tag="localhost/tool:2")
    other.write_bytes(CONTENT + b".")
    write_archive(tmp_path / "content.tar", other, at="/tool", tag=TAG)

    first, second, tag, content = (
        (tmp_path / f"{name}.tar").read_bytes() for name in ("first", "second", "tag", "content")
    )
    assert first == second
    assert len({first, tag, content}) == 3


def test_the_architecture_has_gos_name(tmp_path: Path, binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image for an ARM machine says arm64, as container engines expect."""
    monkeypatch.setattr(image_archive.platform, "machine", lambda: "aarch64")

    write_archive(tmp_path / "image.tar", binary, at="/tool", tag=TAG)

    parts = members(tmp_path / "image.tar")
    [config] = [json.loads(content) for name, content in parts.items() if len(name) == 64 + len(".json")]
    assert config["architecture"] == "arm64"
