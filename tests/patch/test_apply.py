"""All or nothing: planted failures at every write, links, races, permissions, damaged records."""

from __future__ import annotations

from pathlib import Path

import pytest

from shaderc_tool.diagnostics import ShaderpackError
from shaderc_tool.patch import apply
from shaderc_tool.patch.apply import DiskTree, commit
from shaderc_tool.patch.plan import Change, Edit
from shaderc_tool.patch.state import FileDigests, Record, load_record
from tests.patch.trees import snapshot

CHANGES = (
    Change("a.txt", b"a\n", b"A\n"),
    Change("new/deep/b.txt", None, b"B\n"),
    Change("c.txt", b"c\n", None),
    Change("d.txt", b"d\n", b"D\n"),
)


@pytest.fixture
def tree(tmp_path: Path) -> DiskTree:
    for name in "acd":
        (tmp_path / f"{name}.txt").write_bytes(f"{name}\n".encode())
    (tmp_path / "d.txt").chmod(0o755)
    return DiskTree(tmp_path)


def test_all_changes_are_made_and_permissions_stay(tree: DiskTree) -> None:
    commit(tree, CHANGES)
    assert [tree.read(c.path) for c in CHANGES] == [c.after for c in CHANGES]
    assert tree.path("d.txt").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("failing", range(4))
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_at_any_write_undoes_the_earlier_ones(
    tree: DiskTree, failing: int, fault: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(tree.root)
    real, calls = apply._write, iter(range(99))

    def write(path: Path, data: bytes | None) -> None:
        if next(calls) == failing:
            raise fault
        real(path, data)

    monkeypatch.setattr(apply, "_write", write)
    with pytest.raises(type(fault)):
        commit(tree, CHANGES)
    assert snapshot(tree.root) == before


def test_a_real_refusal_of_the_file_system_undoes_the_earlier_writes(tree: DiskTree) -> None:
    (tree.root / "new").write_text("a file where a folder has to be")
    before = snapshot(tree.root)
    with pytest.raises(ShaderpackError) as caught:
        commit(tree, CHANGES)
    assert [d.code for d in caught.value.diagnostics] == ["SP7001"]
    assert snapshot(tree.root) == before


def test_a_file_that_changed_since_the_plan_stops_the_run_before_the_first_write(tree: DiskTree) -> None:
    tree.path("d.txt").write_text("changed meanwhile\n")
    before = snapshot(tree.root)
    with pytest.raises(ShaderpackError) as caught:
        commit(tree, CHANGES)
    assert [(d.code, d.subject) for d in caught.value.diagnostics] == [("SP6012", "d.txt")]
    assert snapshot(tree.root) == before


def test_a_link_within_the_tree_is_followed_and_one_that_leads_out_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "real.txt").write_bytes(b"x\n")
    (root / "link.txt").symlink_to("real.txt")
    (root / "out").symlink_to(tmp_path)
    (tmp_path / "secret.txt").write_bytes(b"s\n")
    tree = DiskTree(root)
    commit(tree, [Change("link.txt", b"x\n", b"y\n")])
    assert (root / "link.txt").is_symlink() and (root / "real.txt").read_bytes() == b"y\n"
    (root / "loop").symlink_to("loop")
    (root / "folder").mkdir()
    for path in ("out/secret.txt", "loop"):
        with pytest.raises(ShaderpackError) as caught:
            tree.read(path)
        assert [d.code for d in caught.value.diagnostics] == ["SP6006"]
    assert tree.read("folder") is None and tree.read("real.txt/x") is None


def test_folders_are_removed_only_when_they_are_empty(tree: DiskTree) -> None:
    made = tree.missing_folders(["new/deep/b.txt", "new/c.txt", "d.txt"])
    assert made == ("new", "new/deep")
    commit(tree, [CHANGES[1]])
    (tree.root / "new/mine.txt").touch()
    commit(tree, [Change("new/deep/b.txt", b"B\n", None)], made)
    assert (tree.root / "new/mine.txt").exists() and not (tree.root / "new/deep").exists()


RECORD = Record((Edit("a.c", "s", "replace", "x\udcff\r\n"),), (("a.c", FileDigests("1", "2")),), ("b.c",), ("n",))


def test_a_record_is_read_as_it_was_written() -> None:
    assert load_record(RECORD.dump(), "r") == RECORD


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"schema": 1', b'"schema": 2'),
        (b'"a.c"', b'"../a.c"'),
        (b'"b.c"', b'"/b.c"'),
        (b'"replace"', b'"eval"'),
        (b'"n"', b"7"),
        (b'"edits"', b'"edit"'),
        (b"}", b""),
        (b"{", b"["),
    ],
)
def test_a_damaged_record_is_a_finding_and_cannot_lead_out_of_the_tree(old: bytes, new: bytes) -> None:
    data = RECORD.dump()
    assert old in data
    with pytest.raises(ShaderpackError) as caught:
        load_record(data.replace(old, new), "r")
    assert [d.code for d in caught.value.diagnostics] == ["SP6011"]
