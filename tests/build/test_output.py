"""The output module: nothing half-written, nothing lost, two builds kept apart."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from shaderc_tool.build.output import OutputFolder, write_atomically
from shaderc_tool.diagnostics import ShaderpackError


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_write_replaces_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    assert folder.write("a/x.spv", b"one")
    assert folder.write("a/x.spv", b"two")
    assert not folder.write("a/x.spv", b"two")
    assert (tmp_path / "a/x.spv").read_bytes() == b"two"
    assert names(tmp_path / "a") == {"x.spv"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "x.spv"
    path.write_bytes(b"good")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ShaderpackError) as caught:
        write_atomically(path, b"new")
    assert caught.value.diagnostics[0].code == "SP7001"
    assert "No space left" in caught.value.diagnostics[0].message
    monkeypatch.undo()
    assert path.read_bytes() == b"good"
    assert names(tmp_path) == {"x.spv"}


def test_an_interrupt_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.spv"
    path.write_bytes(b"good")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"good"
    assert names(tmp_path) == {"x.spv"}


def test_the_work_folder_goes_away(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    with pytest.raises(ValueError, match="stop"), folder.work_folder() as work:
        (work / "half.spv").write_bytes(b"half")
        raise ValueError("stop")
    assert names(tmp_path / ".shaderpack") == set()


def test_the_lock_keeps_two_builds_apart(tmp_path: Path) -> None:
    order: list[str] = []
    waiting = threading.Event()
    first, second = OutputFolder(tmp_path), OutputFolder(tmp_path)

    def other() -> None:
        with second.locked(waiting.set):
            order.append("second")

    with first.locked(lambda: pytest.fail("nobody else holds the lock")):
        thread = threading.Thread(target=other)
        thread.start()
        assert waiting.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
