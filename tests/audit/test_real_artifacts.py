"""Real third-party artifacts: right answers, no false alarm, and llama.cpp's host sources against its kernels."""

from __future__ import annotations

import time
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from shaderc_tool.audit.artifacts import describe_file
from shaderc_tool.audit.consumers import read_uses
from shaderc_tool.audit.host_names import NameUse
from shaderc_tool.audit.kernels import list_kernels
from shaderc_tool.audit.rules_consumers import check_consumers, fill_axes, owned_names, unnamed, users
from shaderc_tool.audit.source_kernels import source_kernels
from shaderc_tool.diagnostics import Diagnostic, Severity
from shaderc_tool.manifest.model import Axis
from tests import corpora
from tests.audit.support import audit, missing

pytestmark = pytest.mark.corpus

LLAMA = "llama-cpp-python"


# --- packages

KNOWN_FINDINGS = {
    "metal-flash-sdpa": {"SP4067"},  # an extension for macOS 11 with a library for macOS 15
    "msplat": {"SP4026"},  # its library records sources and paths
}


@pytest.mark.parametrize(
    "package",
    ["metal-flash-sdpa", "pennylane-metal", "msplat", "metal-linalg", "gpt4all", "mlx", "mlx-metal"],
)
def test_a_wheel_is_sound_and_its_kernels_are_counted(package: str) -> None:
    path = corpora.fetch(package)
    findings = audit(path)
    assert {d.code for d in findings} == KNOWN_FINDINGS.get(package, set())
    assert all(d.severity is Severity.WARNING for d in findings)
    expect = corpora.packages()[package].expect or {}
    kernels = [k for k in list_kernels([describe_file(path)]) if k.form == "metallib"]
    assert len(kernels) >= expect.get("functions", 1)
    assert {kernel.target for kernel in kernels} >= {str(expect["os"])} if "os" in expect else kernels


def test_the_vulkan_backend_gives_every_module_its_name() -> None:
    path = corpora.extract("@node-llama-cpp/linux-x64-vulkan", "libggml-vulkan.so")
    (description,) = [describe_file(path)]
    assert Counter((p.form, p.kind, p.problem) for p in description.payloads) == {("data/len", "spirv", ""): 1499}
    assert len({kernel.name for kernel in list_kernels([description])}) == 1499
    assert audit(path) == []
    assert missing(path, names=["acc_f32", "acc_f3", "acc_f32_"]) == ["acc_f3", "acc_f32_"]


def test_the_metal_backend_s_embedded_sources() -> None:
    path = corpora.extract("@node-llama-cpp/mac-arm64-metal", "libggml-metal.so")
    description = describe_file(path)
    named = [p for p in description.payloads if p.form == "start/end"]
    assert len(named) == 20
    assert {p.kind for p in named} == {"msl"}
    assert (description.platform, description.min_os) == ("macos", (14, 0, 0))
    assert audit(path) == []
    names = {kernel.name for payload in named for kernel in payload.kernels}
    assert len(names) > 1000
    assert missing(path, names=["kernel_flash_attn_ext_q4_0_dk128_dv128", "kernel_turbo3_dot"]) == ["kernel_turbo3_dot"]


def test_a_large_library_takes_less_than_three_seconds() -> None:
    path = corpora.extract("mlx-metal", "mlx.metallib")
    assert path.stat().st_size > 100 << 20
    begun = time.process_time()
    assert audit(path) == []
    assert time.process_time() - begun < 3


# --- llama.cpp's host sources and kernels


@cache
def folder() -> Path:
    (found,) = corpora.unpack(LLAMA).glob("*/vendor/llama.cpp/ggml/src/ggml-metal")
    return found


@cache
def uses() -> list[NameUse]:
    hosts = sorted(path for pattern in ("*.cpp", "*.m", "*.h") for path in folder().glob(pattern))
    return read_uses(hosts, folder(), ("kernel_",))


@cache
def names() -> frozenset[str]:
    return frozenset(k.name for path in folder().glob("kernels/*.metal") for k in source_kernels(path.read_text()))


def read_axes() -> tuple[Axis, ...]:
    """Sizes and types of flash attention, from the host sources that decide them."""
    sizes = Axis(("dk", "dv"), (), "ggml-metal-tuning.cpp", r"dk == (\d+) && dv == (\d+)")
    sources = {sizes.file: (folder() / sizes.file).read_text()}
    return fill_axes([sizes], sources)


def absent(kept: frozenset[str], *axes: Axis) -> list[Diagnostic]:
    return [d for d in check_consumers(uses(), axes, kept, (), "kernels") if d.code == "SP4063"]


def test_every_name_is_there_and_every_kernel_is_named() -> None:
    assert (len(uses()), len(names())) == (93, 1066)
    assert check_consumers(uses(), (), names(), (), "kernels") == []
    assert unnamed(uses(), names()) == set()


def test_the_names_are_the_true_set() -> None:
    """Each kernel belongs to a line, by an owner that no other line shares unless both make the very same names."""
    owned = owned_names(uses(), names())
    assert set().union(*owned.values()) == names()
    vec = next(use for use in uses() if use.text == "kernel_%s_%s_dk%d_dv%d%s")
    assert vec.place.file == "ggml-metal-device.cpp"
    expected = {name for name in names() if name.startswith("kernel_flash_attn_ext_vec_") and "_dk" in name}
    assert owned[vec] == expected


@pytest.mark.parametrize(
    ("kernel", "format_string"),
    [
        ("kernel_soft_max_f32_4", "kernel_soft_max_%s%s"),
        ("kernel_rms_norm_mul_add_f32", "kernel_rms_norm_mul_add_f32%s"),
        ("kernel_argsort_f32_i32_desc", "kernel_argsort_%s_%s_%s"),
        ("kernel_topk_moe_f32", "kernel_topk_moe_f32"),
        ("kernel_bin_fuse_f32_f32_f32_4", "kernel_bin_fuse_%s_%s_%s%s"),
        ("kernel_flash_attn_ext_vec_q5_1_dk192_dv192_q2_ne4", "kernel_%s_%s_dk%d_dv%d%s"),
        ("kernel_flash_attn_ext_vec_q4_0_dk576_dv512", "kernel_%s_%s_dk%d_dv%d%s"),
        ("kernel_mul_mv_ext_q4_0_f32_r1_5", "kernel_mul_mv_ext_%s_%s_r1_%d"),
    ],
)
def test_one_deleted_instantiation_is_found_with_the_host_line(kernel: str, format_string: str) -> None:
    assert kernel in names()
    found = absent(names() - {kernel})
    lines = [(d.place.file, d.place.line) for d in found if d.place and format_string in (d.cause + d.subject)]
    assert lines
    text = (folder() / lines[0][0]).read_text().splitlines()
    assert format_string in text[lines[0][1] - 1]


def test_every_quantised_flash_attention_instantiation_is_needed() -> None:
    """The mirror of `fa_vec_baseline_ne` and its legal sizes: none of the 330 can go unnoticed."""
    types = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
    vec = [n for n in names() if n.startswith(tuple(f"kernel_flash_attn_ext_vec_{t}_" for t in types))]
    assert len(vec) == 330
    assert [n for n in vec if n not in {d.subject for d in absent(names() - {n})}] == []


def test_sizes_from_the_host_source_need_their_kernels() -> None:
    """`fa_vec_baseline_ne` lists the sizes: a new one there needs kernels that nobody wrote."""
    (sizes,) = read_axes()
    assert ("576", "512") in sizes.rows
    more = Axis(sizes.arguments, (*sizes.rows, ("40", "24")))
    types = Axis(("ggml_type_name(op->src[1]->type)",), (("f16",), ("q4_0",)))
    subjects = " ".join(d.message for d in absent(names(), more, types))
    assert "kernel_flash_attn_ext_vec_f16_dk40_dv24" in subjects
    assert "dk128_dv128" not in subjects


def test_any_deleted_kernel_is_found_by_a_baseline_with_the_line_that_makes_it() -> None:
    nobody = [name for name in names() if not users(name, uses())]
    assert nobody == []
