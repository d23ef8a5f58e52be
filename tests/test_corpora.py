"""The fetching of third-party files, tried on packages made here so that no network is needed."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests import corpora

_BACKEND = '[build-system]\nrequires = []\nbuild-backend = "scikit_build_core.build"\n'


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of pip's world, and an empty cache."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("SHADERPACK_CORPORA", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("SHADERPACK_REQUIRE_TOOLS", "1")
    return folder


def wheel(folder: Path) -> Path:
    path = folder / "sample-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sample/data.bin", b"MTLB")
        archive.writestr("sample-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n")
        archive.writestr("sample-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("sample-1.0.dist-info/RECORD", "")
    return path


def sdist(folder: Path) -> Path:
    path = folder / "sample-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in (
            ("pyproject.toml", _BACKEND),
            ("PKG-INFO", "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n"),
            ("src/kernel.metal", "kernel void k() {}"),
        ):
            info = tarfile.TarInfo(f"sample-1.0/{name}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def pin(monkeypatch: pytest.MonkeyPatch, path: Path, kind: str, digest: str = "") -> None:
    data = path.read_bytes()
    digest = digest or hashlib.sha256(data).hexdigest()
    package = corpora.Package("sample", kind, "1.0", path.name, digest, len(data), "a test")
    monkeypatch.setattr(corpora, "packages", lambda: {"sample": package})


def test_a_wheel_is_fetched_once_and_unpacked(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = wheel(index)
    pin(monkeypatch, source, "wheel")
    path = corpora.fetch("sample")
    assert path.read_bytes() == source.read_bytes()
    source.unlink()
    assert corpora.fetch("sample") == path
    assert corpora.extract("sample", "data.bin").read_bytes() == b"MTLB"


def test_a_source_archive_comes_without_its_build_backend(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin(monkeypatch, sdist(index), "sdist")
    assert corpora.extract("sample", ".metal").read_text() == "kernel void k() {}"


def test_an_archive_keeps_to_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "package.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for name in ("package/inside", "package/../../outside", "/outside"):
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    corpora._unpack_archive(path, tmp_path / "content")
    assert [p.name for p in tmp_path.rglob("*side")] == ["inside"]


def test_a_wrong_digest_fails(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin(monkeypatch, wheel(index), "wheel", digest="0" * 64)
    with pytest.raises(pytest.fail.Exception, match="pinned is 0000"):
        corpora.fetch("sample")
    assert not list(corpora.cache_folder().glob("*.whl"))


def test_what_cannot_be_fetched_skips_or_fails(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wheel(index)
    pin(monkeypatch, path, "wheel")
    path.unlink()
    with pytest.raises(pytest.fail.Exception):
        corpora.fetch("sample")
    monkeypatch.delenv("SHADERPACK_REQUIRE_TOOLS")
    with pytest.raises(pytest.skip.Exception):
        corpora.fetch("sample")
