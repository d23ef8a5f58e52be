"""The content-addressed store: round trip, damage, trimming."""

from __future__ import annotations

import os
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.build.folders import default_cache_folder
from shaderc_tool.build.store import Store

KEY = "ab" + "0" * 62
OTHER = "cd" + "0" * 62


def entry_file(folder: Path) -> Path:
    (path,) = [p for p in folder.rglob("*") if p.is_file()]
    return path


def test_round_trip_and_miss(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.get(KEY) is None
    store.put(KEY, b"data\nwith newline", "a warning")
    entry = store.get(KEY)
    assert entry is not None
    assert (entry.data, entry.messages) == (b"data\nwith newline", "a warning")


def test_a_disabled_store_neither_gives_nor_takes(tmp_path: Path) -> None:
    Store(tmp_path).put(KEY, b"x")
    store = Store(tmp_path, enabled=False)
    store.put(OTHER, b"y")
    assert store.get(KEY) is None
    assert Store(tmp_path).stats().entries == 1


@settings(max_examples=60)
@given(st.data())
def test_every_damage_is_found_and_dropped(data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = Store(folder)
        store.put(KEY, b"0123456789" * 5)
        path = entry_file(folder)
        raw = bytearray(path.read_bytes())
        if data.draw(st.booleans()):
            raw = raw[: data.draw(st.integers(0, len(raw) - 1))]
        else:
            start = raw.index(b"\n") + 1
            raw[data.draw(st.integers(start, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(bytes(raw))
        assert store.get(KEY) is None
        assert store.damaged == [KEY]
        assert not path.exists()


def test_collect_drops_the_least_recently_used_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(KEY, b"x" * 1000)
    store.put(OTHER, b"y" * 1000)
    old = time.time() - 1000
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.parent.name == "ab":
            os.utime(path, (old, old))
    assert store.collect(max_bytes=1500, max_age=1e9).entries == 1
    assert store.get(KEY) is None
    assert store.get(OTHER) is not None
    assert store.collect(max_bytes=10**9, max_age=0.0).entries == 1


def test_clear_and_stats(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(KEY, b"x" * 10)
    entry_file(tmp_path).write_bytes(b"junk")
    assert store.stats(verify=True).damaged == 1
    assert store.clear().entries == 1
    assert store.stats().entries == 0


def test_a_store_that_cannot_be_written_fails_no_build(tmp_path: Path) -> None:
    (tmp_path / "v1").write_bytes(b"a file where the folder should be")
    store = Store(tmp_path)
    store.put(KEY, b"x")
    assert store.get(KEY) is None


def test_the_folder_comes_from_the_environment() -> None:
    assert default_cache_folder({"SHADERPACK_CACHE": "/c"}) == "/c"
    assert default_cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "/x"}) == "/x/shaderpack"
