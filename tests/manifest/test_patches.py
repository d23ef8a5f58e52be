"""The manifest's `patches:` key."""

from __future__ import annotations

from pathlib import Path

import pytest

from shaderc_tool.diagnostics import UsageError
from shaderc_tool.manifest.load import parse_manifest
from shaderc_tool.manifest.model import Manifest, PatchCopy

HEAD = """\
schema: 1
pack: demo
targets:
  vulkan: {api: vulkan}
  ios: {api: metal, sdk: iphoneos, min_os: 17.0, std: metal3.1}
kernels:
  a: {vulkan: {file: a.comp, symbol: demo_a}}
"""


def load(text: str, folder: Path) -> Manifest:
    (folder / "p").mkdir(exist_ok=True)
    (folder / "p/one.patch").write_text("PATCH one\n", "utf-8")
    return parse_manifest(HEAD + text, "demo.yaml", folder)


def faults(text: str, folder: Path) -> list[tuple[str, int]]:
    with pytest.raises(UsageError) as caught:
        load(text, folder)
    return [(d.code, d.place.line if d.place else 0) for d in caught.value.diagnostics]


def test_patch_files_and_what_is_copied_with_them(tmp_path: Path) -> None:
    text = """\
patches:
  - file: p/one.patch
    copy:
      - {target: vulkan, to: "x/{symbol}.comp"}
      - {target: ios, to: "y/./{stem}.metal"}
"""
    (patch,) = load(text, tmp_path).patches
    assert patch.file == "p/one.patch"
    assert patch.copies == (PatchCopy("vulkan", "x/{symbol}.comp"), PatchCopy("ios", "y/{stem}.metal"))
    (alone,) = load("patches: {file: p/one.patch, copy: {target: vulkan, to: '{stem}'}}\n", tmp_path).patches
    assert alone.copies == (PatchCopy("vulkan", "{stem}"),)
    assert load("", tmp_path).patches == ()


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("{file: p/two.patch}", "SP1008"),
        ("{file: ../one.patch}", "SP1008"),
        ("{copy: []}", "SP1003"),
        ("{file: p/one.patch, copy: {target: vulkna, to: x}}", "SP1011"),
        ("{file: p/one.patch, copy: {target: ios, to: '{symbol}'}}", "SP1012"),
        ("{file: p/one.patch, copy: {target: vulkan, to: '{name}'}}", "SP1012"),
        ("{file: p/one.patch, copy: {target: vulkan, to: ../x}}", "SP1008"),
        ("{file: p/one.patch, copy: {target: vulkan, to: /x}}", "SP1008"),
        ("{file: p/one.patch, copy: {target: vulkan, to: 'C:/x'}}", "SP1008"),
        ("{file: p/one.patch, copy: {target: vulkan}}", "SP1003"),
        ("{file: p/one.patch, coyp: []}", "SP1002"),
    ],
)
def test_a_fault_has_its_code_and_place(tmp_path: Path, entry: str, code: str) -> None:
    assert faults(f"patches:\n  - {entry}\n", tmp_path) == [(code, 9)]


def test_all_faults_are_reported_in_one_run(tmp_path: Path) -> None:
    text = "patches:\n  - {file: p/two.patch}\n  - {file: p/one.patch, copy: {target: x, to: ../y}}\n"
    assert faults(text, tmp_path) == [("SP1008", 9), ("SP1011", 10), ("SP1008", 10)]
