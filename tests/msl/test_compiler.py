"""`compile_msl`: the three results, options, caching, and faults of the compiler itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from shaderc_tool.msl.compiler import compile_msl
from shaderc_tool.msl.options import MslOptions
from tests.msl.compiling import Ended, clean, compile_body, compile_text, require_clang, run

COPY = "kernel void copy(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] += 1.0f; }\n"


def test_a_clean_compile_lists_its_kernels() -> None:
    result = clean(compile_body(COPY))
    (kernel,) = result.kernels
    assert (kernel.name, kernel.stage, kernel.file, kernel.line) == ("copy", "kernel", "test.metal", 3)
    assert result.bitcode is not None
    assert result.bitcode[:4] == bytes.fromhex("dec0170b")
    assert len(result.bitcode) % 16 == 0


@pytest.mark.parametrize(
    ("body", "construct"),
    [
        ("kernel void f(texture2d<float> t [[texture(0)]], device float4 *y) { y[0] = t.read(uint2(0)); }",
         "texture2d"),
        ("kernel void f(depth2d<float> t [[texture(0)]], device float *y [[buffer(0)]]) { y[0] = t.read(uint2(0)); }",
         "depth2d"),
        ("kernel void f(device ulong *y [[buffer(0)]]) { y[0] = ulong(simd_ballot(y[0] > 1)); }", "simd_ballot"),
        ("vertex float4 v(uint i [[vertex_id]]) { return float4(i); }", "vertex functions"),
        ("constexpr sampler s(filter::linear, address::repeat);", "sampler"),
        ("kernel void f(device uint *y [[buffer(0)]]) { y[0] = metal::some_new_function(y[1]); }", "some_new_function"),
        ("uint down(uint n) { return n < 2 ? n : down(n - 1) + down(n - 2); }\n"
         "kernel void f(device uint *y [[buffer(0)]]) { y[0] = down(y[1]); }", "down"),
        ("template <typename T> struct S { T *p; }; kernel void f(device S<float> *s [[buffer(0)]],"
         " device float *x [[buffer(1)]], device float *y [[buffer(2)]])"
         " { s[0].p = y[0] > 1 ? (float *)x : nullptr; y[0] = *s[1].p; }",
         "address space"),
    ],
)  # fmt: skip
def test_what_is_not_modelled_is_named_and_no_mistake(body: str, construct: str) -> None:
    result = compile_body(body)
    assert result.status == "not-modelled", [d.message for d in result.diagnostics]
    assert result.bitcode is None
    assert any(construct in d.message for d in result.diagnostics), [d.message for d in result.diagnostics]
    assert all(d.code == "SP8002" for d in result.diagnostics)


def test_a_mistake_beside_something_not_modelled_is_still_a_mistake() -> None:
    result = compile_body(
        "kernel void f(texture2d<float> t [[texture(0)]], device float4 *y [[buffer(0)]]) {\n"
        "    y[0] = t.read(uint2(0)) + nothing;\n}"
    )
    assert result.status == "error"
    assert [d.place.line for d in result.diagnostics if d.place] == [4]


def test_textures_alone_parse() -> None:
    body = (
        "constexpr sampler s(coord::normalized, filter::linear);\n"
        "float4 shade(texture2d<float, access::sample> t, texture2d<half, access::read_write> u, float2 p) {\n"
        "    u.write(half4(1), uint2(p));\n"
        "    return t.sample(s, p) + float4(u.read(uint2(p))) + float(t.get_width());\n}\n"
    )
    result = compile_body(body)
    assert {d.subject for d in result.diagnostics} == {"texture2d", "sampler"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (MslOptions(std="metal3.2", min_os="14.0"), "too new for macos 14.0"),
        (MslOptions(std="metal9.9"), "unknown language standard"),
    ],
)
def test_impossible_targets_are_refused(options: MslOptions, said: str) -> None:
    require_clang()
    result = compile_msl(COPY, "a.metal", options, run, Path.cwd())
    assert result.status == "error"
    assert said in result.diagnostics[0].message


def test_an_unknown_platform_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="unknown platform"):
        compile_msl(COPY, "a.metal", MslOptions(platform="amiga"), run, Path.cwd())


def test_macros_say_what_is_compiled_for() -> None:
    body = (
        "#if __METAL_VERSION__ != 300 || !defined(__METAL_IOS__) || defined(__METAL_MACOS__) || LIMIT != 7\n"
        "#error wrong\n#endif\n" + COPY
    )
    clean(compile_text(f"#include <metal_stdlib>\nusing namespace metal;\n{body}", std="metal3.0", platform="ios",
                       min_os="16.0", defines=("LIMIT=7",)))  # fmt: skip


def test_includes_are_found_and_listed(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common/deep.h").write_text("#pragma once\n#define ONE 1.0f\n")
    (tmp_path / "near.h").write_text('#pragma once\n#include "deep.h"\n')
    source = f'#include <metal_stdlib>\n#include "near.h"\n#include "deep.h"\nusing namespace metal;\n{COPY}'
    result = clean(compile_text(source, "a.metal", include_dirs=("common",), cwd=tmp_path))
    assert result.dependencies == ("./near.h", "common/deep.h")


def test_output_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    results = []
    for name in ("one", "zwei ü"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "h.h").write_text("#define TWO 2.0f\n")
        source = f'#include <metal_stdlib>\n#include "h.h"\nusing namespace metal;\n{COPY}'
        results.append(clean(compile_text(source, "a.metal", cwd=folder)))
    assert results[0] == results[1]
    assert results[0].bitcode is not None
    assert str(tmp_path).encode() not in results[0].bitcode


def test_without_a_cache_folder_the_result_is_the_same() -> None:
    require_clang()
    source = f"#include <metal_stdlib>\nusing namespace metal;\n{COPY}"
    plain = compile_msl(source, "test.metal", MslOptions(), run, Path.cwd())
    assert plain == compile_body(COPY)


def test_the_precompiled_shim_is_made_once(tmp_path: Path) -> None:
    require_clang()
    made: list[Sequence[str]] = []

    def counting(argv: Sequence[str], cwd: Path, stdin: bytes) -> Ended:
        if "-emit-pch" in argv:
            made.append(argv)
        return run(argv, cwd, stdin)

    source = f"#include <metal_stdlib>\nusing namespace metal;\n{COPY}"
    for platform in ("macos", "ios", "macos"):
        options = MslOptions(platform=platform, min_os="17.0" if platform == "ios" else "14.0", cache_dir=tmp_path)
        assert compile_msl(source, "a.metal", options, counting, Path.cwd()).status == "clean"
    assert len(made) == 1
    assert {path.suffix for path in tmp_path.iterdir()} == {".h", ".pch"}


@pytest.mark.parametrize("damage", ["cut", "empty", "header"])
def test_a_damaged_precompiled_shim_is_made_again(tmp_path: Path, damage: str) -> None:
    require_clang()
    source = f"#include <metal_stdlib>\nusing namespace metal;\n{COPY}"
    options = MslOptions(cache_dir=tmp_path)
    good = compile_msl(source, "a.metal", options, run, Path.cwd())
    (pch,) = tmp_path.glob("*.pch")
    if damage == "header":
        pch.with_suffix(".h").write_text("int changed;\n")
    else:
        pch.write_bytes(pch.read_bytes()[: 100000 if damage == "cut" else 0])
    assert clean(compile_msl(source, "a.metal", options, run, Path.cwd())) == good


@pytest.mark.parametrize("ended", [Ended(-11, b"", b""), Ended(1, b"", b"Stack dump:\n0. Program arguments\n")])
def test_a_crash_of_clang_is_our_fault_not_the_users(ended: Ended) -> None:
    require_clang()

    def crashing(argv: Sequence[str], cwd: Path, stdin: bytes) -> Ended:
        return ended if "-emit-llvm" in argv else run(argv, cwd, stdin)

    result = compile_msl(COPY, "a.metal", MslOptions(), crashing, Path.cwd())
    assert result.status == "not-modelled"
    assert result.diagnostics[0].code == "SP8008"
    assert "not of the source" in result.diagnostics[0].cause


def test_an_empty_file_is_clean() -> None:
    assert clean(compile_text("")).kernels == ()


def test_crlf_and_tabs_keep_their_places() -> None:
    source = "#include <metal_stdlib>\r\nusing namespace metal;\r\n\tfloat f() {\r\n\t\treturn oops;\r\n}\r\n"
    (diagnostic,) = compile_text(source).diagnostics
    assert str(diagnostic.place) == "test.metal:4:10"
