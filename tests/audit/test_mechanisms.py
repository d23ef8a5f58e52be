"""The eighteen checks of an earlier project, each with a fault that it lets pass and the rule that catches it.

docs/audit.md has the table; the numbers are the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shaderc_tool.audit.ledger import write_ledger
from shaderc_tool.codes import CODES
from shaderc_tool.emit.archive import Member, gnu_archive
from shaderc_tool.manifest.load import load_manifest
from tests.audit.support import (
    IOS_LIBRARY,
    MACOS_LIBRARY,
    MODULE,
    assemble,
    audit,
    embedding,
    found,
    missing,
    started,
    write,
)
from tests.audit.test_rules import host_object, xcframework
from tests.fakes.library import library

ROOT = Path(__file__).parents[2]
LINUX = "x86_64-linux-gnu"
KERNEL = "kernel_turbo3_dot"
ANCHOR = "// milady: turbo3 kernels begin\n"


def metal_library(*names: str) -> bytes:
    return library("air64-apple-macos14.0", [(name, "3.1") for name in names])


def milady_ledger(*evidence: dict[str, Any], **digests: str) -> dict[str, dict[str, Any]]:
    manifest = load_manifest(ROOT / "manifests/milady.yaml")
    known = {job.output: digests.get("sha256", "aa") for job in manifest.shaders}
    return {row["symbol"]: row for row in write_ledger(manifest, known, [], evidence)["kernels"]}


def evidence(sha256: str, *, ok: bool = True) -> dict[str, Any]:
    return {"output": "vulkan/milady_turbo3.spv", "symbol": "milady_turbo3", "sha256": sha256, "ok": ok, "backend": "x"}


def test_01_a_source_file_that_is_there_and_not_empty(tmp_path: Path) -> None:
    path = write(tmp_path, "turbo3.metal", f"/* kernel void {KERNEL}(device float *x) {{}} */\n".encode())
    assert path.stat().st_size > 0
    assert missing(path, names=[KERNEL]) == [KERNEL]


def test_02_anchor_text_in_the_sources_and_nothing_in_the_library(tmp_path: Path) -> None:
    source = write(tmp_path, "ggml-vulkan.cpp", ANCHOR.encode())
    object_file = assemble(".data\n.globl other\nother: .quad 1\n", LINUX, tmp_path)
    assert ANCHOR in source.read_text()
    assert missing(object_file, names=["milady_turbo3"]) == ["milady_turbo3"]


def test_03_a_sentinel_whose_patch_was_taken_back(tmp_path: Path) -> None:
    text = f"{ANCHOR}kernel void kernel_other(device float *x) {{}}\n// milady: end\n"
    path = write(tmp_path, "patched.metal", text.encode())
    assert missing(path, names=["kernel_other", KERNEL]) == [KERNEL]


def test_04_a_program_whose_help_names_the_cache_types(tmp_path: Path) -> None:
    text = '.section .rodata\n.asciz "--cache-type-k {f16,turbo3,turbo4,turbo3_tcq,qjl,q4_polar}"\n'
    path = assemble(text, LINUX, tmp_path)
    assert re.search(rb"turbo3", path.read_bytes())
    assert missing(path, names=["milady_turbo3", "turbo3"]) == ["milady_turbo3", "turbo3"]


@pytest.mark.parametrize(
    ("has", "wants"),
    [
        ([KERNEL + "_multi"], KERNEL),  # a longer name holds the shorter one
        (["kernel_get_rows_qjl1_256"], "kernel_attn_score_qjl1_256"),  # any one of three was enough
    ],
)
def test_05_a_substring_of_the_library_s_bytes(has: list[str], wants: str, tmp_path: Path) -> None:
    path = write(tmp_path, "default.metallib", metal_library(*has))
    assert missing(path, names=[wants, *has]) == [wants]


def test_06_a_file_name_that_says_turbo3(tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", MODULE)
    named = assemble(embedding("milady_turbo3_tcq", blob, len(MODULE)), LINUX, tmp_path, "turbo3.o")
    assert missing(named, names=["milady_turbo3"]) == ["milady_turbo3"]
    assert found(audit(write(tmp_path, "turbo3.spv", b""))) == [("SP4009", str(tmp_path / "turbo3.spv"))]


def test_07_an_object_that_stands_for_others(tmp_path: Path) -> None:
    text = ".text\n.globl quantize_row_turbo3\nquantize_row_turbo3: ret\n"
    path = assemble(text, LINUX, tmp_path, "ggml-turbo-quant.c.o")
    wanted = ["milady_turbo3", "milady_turbo4", "flash_attn"]
    assert missing(path, names=wanted) == wanted


def test_08_a_symbol_without_its_shader_and_a_staged_source(tmp_path: Path) -> None:
    text = ".data\n.globl milady_turbo3_data\nmilady_turbo3_data: .quad 0\n"
    text += ".globl milady_turbo3_len\nmilady_turbo3_len: .quad 0\n"
    hollow = assemble(text, LINUX, tmp_path)
    staged = write(tmp_path, "turbo3.comp", b"#version 450\n// milady_turbo3_data\nvoid main() {}\n")
    assert missing(hollow, names=["milady_turbo3"]) == ["milady_turbo3"]
    assert ("SP4009", str(staged)) in found(audit(staged))
    assert missing(staged, names=["milady_turbo3"]) == ["milady_turbo3"]


def test_09_evidence_for_other_bytes() -> None:
    assert milady_ledger(evidence("aa"))["milady_turbo3"]["publishable"]
    assert milady_ledger(evidence("bb"))["milady_turbo3"]["why_not"] == ["not verified"]


def test_10_five_of_six_kernels(tmp_path: Path) -> None:
    names = [f"kernel_{name}" for name in ("turbo3_dot", "turbo4_dot", "turbo3_tcq_dot", "qjl", "polar", "six")]
    path = write(tmp_path, "default.metallib", metal_library(*names[:5]))
    assert missing(path, names=names) == ["kernel_six"]


def test_11_a_library_that_is_there_and_empty(tmp_path: Path) -> None:
    empty = write(tmp_path, "default.metallib", metal_library())
    assert found(audit(empty)) == [("SP4024", str(empty))]
    other = host_object(tmp_path, IOS_LIBRARY, "macos, 14, 0")
    assert [code for code, _ in found(audit(other))] == ["SP4067"]


def test_12_names_in_nm_and_strings(tmp_path: Path) -> None:
    comment = write(tmp_path, "blob", f"#include <metal_stdlib>\n// {KERNEL}, qjl, polar\n".encode())
    text = started("ggml_metallib_turbo", comment, elf=False)
    text += ".text\n.globl _quantize_row_qjl\n_quantize_row_qjl: ret\n.globl _flash_attn_ext\n_flash_attn_ext: ret\n"
    data = assemble(text, "arm64-apple-ios17.0", tmp_path).read_bytes()
    archive = write(tmp_path, "libllama.a", gnu_archive([Member("a.o", data, ())]))
    wanted = [KERNEL, "kernel_attn_score_qjl1_256", "kernel_mul_mv_q4_polar_f32"]
    assert missing(archive, names=wanted) == wanted
    root = xcframework(tmp_path, {"ios-arm64": ("ios", "simulator", IOS_LIBRARY, "ios, 17, 0")})
    assert ("SP4076", "ios-arm64") in found(audit(root))


def test_13_a_ledger_that_is_there_and_says_no(tmp_path: Path) -> None:
    write(tmp_path, "slice/libdemo.metallib", IOS_LIBRARY)
    ledger = {"kernels": [{"symbol": KERNEL, "publishable": False, "why_not": ["not verified"]}]}
    write(tmp_path, "slice/capabilities.json", json.dumps(ledger).encode())
    assert found(audit(tmp_path / "slice")) == [("SP4074", KERNEL)]


def test_14_a_symbol_in_the_shared_object_and_other_bytes_behind_it(tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", b"not SPIR-V at all" + bytes(47))
    path = assemble(embedding("milady_turbo3", blob, 64), LINUX, tmp_path)
    assert missing(path, names=["milady_turbo3"]) == ["milady_turbo3"]
    cut = write(tmp_path, "cut", MODULE)
    path = assemble(embedding("milady_turbo3", cut, len(MODULE) + 512), LINUX, tmp_path)
    assert ("SP4062", "milady_turbo3") in found(audit(path))


def test_15_copies_that_drifted_from_what_was_tested(tmp_path: Path) -> None:
    ours = write(tmp_path, "standalone/turbo3.spv", MODULE)
    # Another generator's number: other bytes, still a whole module.
    fork = write(tmp_path, "fork/turbo3.spv", MODULE[:8] + b"\x07\0\0\0" + MODULE[12:])
    assert ("SP4061", "turbo3") in found(audit(ours, fork))


def test_16_a_contract_of_texts_that_agree_with_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "host.mm", b'load(@"kernel_add"); load(@"kernel_turbo3_dot");\n')
    write(tmp_path, "contract.json", b'{"kernels": ["kernel_turbo3_dot"]}')
    path = write(tmp_path, "default.metallib", MACOS_LIBRARY)
    assert ("SP4063", KERNEL) in found(audit(path, consumers=("*.mm",)))


@pytest.mark.parametrize(
    "variable",
    ["ELIZA_DFLASH_ALLOW_INCOMPLETE_VULKAN", "ELIZA_DFLASH_ALLOW_UNVERIFIED_VULKAN_BUILD", "SHADERPACK_ALLOW"],
)
def test_17_a_variable_that_turns_the_gate_off(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    path = write(tmp_path, "default.metallib", MACOS_LIBRARY)
    assert missing(path, names=[KERNEL]) == [KERNEL]
    assert not milady_ledger()["milady_turbo3"]["publishable"]


def test_18_a_log_without_the_word_fail() -> None:
    """A run that failed, or was never made, is not evidence, whatever a log mentions."""
    assert milady_ledger(evidence("aa", ok=False))["milady_turbo3"]["why_not"] == ["not verified"]
    assert milady_ledger()["milady_turbo3"]["why_not"] == ["not verified"]


def test_the_document_lists_every_mechanism() -> None:
    text = (ROOT / "docs/audit.md").read_text("utf-8")
    rows = {int(row) for row in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    tests = {int(name[5:7]) for name in globals() if re.match(r"test_\d\d_", name)}
    assert rows == tests == set(range(1, 19))


def test_every_rule_has_a_section() -> None:
    text = (ROOT / "docs/rules.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (SP\d{4}): (.+)$", text, re.MULTILINE))
    ours = {code: title for code, title in CODES.items() if code.startswith("SP40")}
    assert {code: sections.get(code) for code in ours} == ours
    assert set(sections) <= set(CODES)
