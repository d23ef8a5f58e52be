"""Duplicate declarations in merged Metal source: the T15 cases and the collisions that a real merge ran into."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.diagnostics import Severity
from shaderc_tool.emit.msl_merge import MergedSource, find_duplicates, line_places
from tests.emit.support import codes, merge, only


def duplicate_names(merged: MergedSource) -> dict[str, tuple[bool, bool]]:
    return {d.name: (d.identical, d.removed) for d in merged.duplicates}


def test_identical_declarations_are_removed_and_their_lines_kept() -> None:
    shared = """\
// helper
static inline float twice(float x) {
    return 2 * x; // twice
}
struct args_t { uint n; };
"""
    other = shared.replace("// helper", "/* other comment */").replace("2 * x;", "2*x;")
    merged = merge(
        {"x.metal": shared + "kernel void x() {}\n", "y.metal": other + "kernel void y() {}\n"}, "x.metal", "y.metal"
    )
    assert merged.diagnostics == ()
    assert duplicate_names(merged) == {"twice": (True, True), "args_t": (True, True)}
    assert merged.text.count("twice(") == 1
    places = line_places(merged.text)
    at = merged.text.split("\n").index("kernel void y() {}")
    assert str(places[at]) == "y.metal:6"
    first = merged.duplicates[0]
    assert (str(first.first), str(first.second)) == ("x.metal:2", "y.metal:2")


def test_conflicting_declarations_are_reported_with_both_places_and_a_diff() -> None:
    files = {
        "x.metal": "struct block_t {\n    half d;\n};\n",
        "y.metal": "\nstruct block_t {\n    float d;\n};\n",
    }
    diagnostic = only(merge(files, "x.metal", "y.metal"))
    assert (diagnostic.code, diagnostic.subject, diagnostic.severity) == ("SP4040", "block_t", Severity.ERROR)
    assert str(diagnostic.place) == "y.metal:2"
    assert [str(r.place) for r in diagnostic.related] == ["x.metal:1"]
    assert "-    half d;" in diagnostic.detail
    assert "+    float d;" in diagnostic.detail
    assert diagnostic.fix


CLASHES = {
    "kernel": ("kernel void k(device int* a) { a[0] = 1; }", "kernel void k(device uint* a) { a[0] = 2; }"),
    "attribute": ("[[kernel]] void k(device int* a) {}", "kernel void k(device int* b) { b[0] = 1; }"),
    "function": ("static float f(float x) { return x; }", "float f(float y) { return -y; }"),
    "template": ("template <typename T> T g(T x) { return x; }", "template <typename U> U g(U y) { return -y; }"),
    "union": ("union u { int a; float b; };", "union u { int a; };"),
    "enum": ("enum color { RED };", "enum color { RED, BLUE };"),
    "enumerator": ("enum a { ONE = 1 };", "enum b { ONE = 2 };"),
    "anonymous enum": ("enum { ONE = 1 };", "enum { TWO = 2, ONE = 3 };"),
    "enum class": ("enum class e : uint { A };", "enum class e : uint { B };"),
    "typedef struct": ("typedef struct { int a; } args;", "typedef struct { uint a; } args;"),
    "struct and typedef": ("struct args { int a; };", "typedef struct args { int b; } args_t;"),
    "alias": ("typedef float real;", "typedef half real;"),
    "using": ("using real = float;", "typedef half real;"),
    "table": ("constant float t[2] = {1, 2};", "constant float t[3] = {1, 2, 3};"),
    "function constant": ("constant int n [[function_constant(0)]];", "constant int n [[function_constant(1)]];"),
    "second declarator": ("constant int a = 1, b = 2;", "constant int c[2] = {1, 2}, b = 3;"),
    "host name": (
        'template [[host_name("k_f32")]] kernel void impl<float>(device float*);',
        'template [[host_name("k_f32")]] kernel void impl<half>(device half*);',
    ),
    "namespace": ("namespace a { int f() { return 1; } }", "namespace a { int f() { return 2; } }"),
    "specialization": ("template<> int s<int>() { return 1; }", "template<> int s<int>() { return 2; }"),
    "operator": ("v operator+(v a, v b) { return a; }", "v operator+(v x, v y) { return y; }"),
    "member of a specialization": (
        "template <> void n::io<float, 2>::load(int i) { a = i; }",
        "template <> void n::io<float, 2>::load(int j) { b = j; }",
    ),
    "comparison": ("bool operator>(v a, v b) { return a; }", "bool operator>(v x, v y) { return y; }"),
    "template struct": ("template <int N> struct a { int x[N]; };", "template <int M> struct a { int y[M]; };"),
    "after an invocation": ("MAKE(1)\nkernel void k() {}", "MAKE(2)\nkernel void k() { return; }"),
    "attribute struct": ("struct __attribute__((packed)) s { int a; };", "struct alignas(16) s { int a; };"),
}


@pytest.mark.parametrize("pair", CLASHES.values(), ids=CLASHES)
def test_each_kind_of_clash_is_found(pair: tuple[str, str]) -> None:
    merged = merge({"x.metal": pair[0] + "\n", "y.metal": pair[1] + "\n"}, "x.metal", "y.metal")
    diagnostic = only(merged)
    assert diagnostic.code == "SP4040"
    assert diagnostic.place is not None
    assert diagnostic.place.file == "y.metal"


@pytest.mark.parametrize("pair", [p for n, p in CLASHES.items() if n not in ("alias", "using")])
def test_each_kind_is_removed_when_it_is_the_same(pair: tuple[str, str]) -> None:
    text = pair[0] + "\n"
    merged = merge({"x.metal": text, "y.metal": "\n" + text}, "x.metal", "y.metal")
    assert merged.diagnostics == ()
    assert [d.removed for d in merged.duplicates] == [True]
    assert find_duplicates(merged.text) == ()


NO_CLASH = {
    "overload": ("float f(float x) { return x; }", "half f(half x) { return x; }"),
    "template overload": (
        "template <typename T> T g(T x) { return x; }",
        "template <typename T, int N> T g(T x) { return x; }",
    ),
    "prototype": ("float f(float x);", "float f(float x) { return x; }"),
    "forward declaration": ("struct s;", "struct s { int a; };"),
    "same alias": ("typedef float real;", "typedef float real;"),
    "using namespace": ("using namespace metal;", "using namespace metal;"),
    "same macro": ("#define QK 128", "#define QK  128 // again"),
    "macro after undef": ("#define QK 128\n#undef QK", "#define QK 64"),
    "macro if not there": ("#define MAX(a, b) a", "#ifndef MAX\n#define MAX(x, y) y\n#endif"),
    "member names": ("struct a { int n; };", "struct b { float n; };"),
    "locals": ("kernel void a() { int n = 1; }", "kernel void b() { float n = 2; }"),
    "branches": ("#ifdef A\nstruct s { int a; };\n#else\nstruct s { int b; };\n#endif", ""),
    "opposite conditions": ("#ifdef A\nstruct s { int a; };\n#endif", "#if !defined(A)\nstruct s { int b; };\n#endif"),
    "elif": (
        "#if V == 1\nint f() { return 1; }\n#elif V == 2\nint f() { return 2; }\n#else\nint f() { return 3; }\n#endif",
        "",
    ),
    "conjunction": ("#if defined(A) && B > 1\nstruct s { int a; };\n#endif", "#ifndef A\nstruct s { int b; };\n#endif"),
    "namespaces": ("namespace a { struct s { int a; }; }", "namespace b { struct s { int b; }; }"),
    "instantiation by macro": ("#define INST(t) kernel void k_##t() {}\nINST(float)", "INST(half)"),
    "instantiation by macro, semicolon": ("INST(float, f32);", "INST(float, f32);"),
    "host names": (
        'template [[host_name("k_f32")]] kernel void impl<float>(device float*);',
        'template [[host_name("k_f16")]] kernel void impl<half>(device half*);',
    ),
    "specializations": ("template<> int s<int>() { return 1; }", "template<> int s<float>() { return 2; }"),
    "partial specialization": ("template <class T> struct v { T x; };", "template <class T> struct v<T*> { T y; };"),
    "members of specializations": (
        "template <> void io<float>::load(int i) { a = i; }",
        "template <> void io<half>::load(int i) { b = i; }\ntemplate <> void n::io<int>::load(int i) { c = i; }",
    ),
    "function types": ("typedef void (first_t)(int a);", "typedef void (second_t)(int a);"),
    "static assertion": ('static_assert(sizeof(int) == 4, "x");', 'static_assert(sizeof(int) == 4, "x");'),
    "extern": ("extern constant int a;", "extern constant int a;"),
    "nested subscript": ("constant int a[2] = {t[u[0]], 1};\nconstant int b = 1;", "constant int c = 1;"),
    "operators": ("v operator+(v a, v b) { return a; }", "v operator-(v a, v b) { return a; }"),
}


@pytest.mark.parametrize("pair", NO_CLASH.values(), ids=NO_CLASH)
def test_what_may_stand_together_stays(pair: tuple[str, str]) -> None:
    merged = merge({"x.metal": pair[0] + "\n", "y.metal": pair[1] + "\n"}, "x.metal", "y.metal")
    assert merged.diagnostics == ()
    assert merged.duplicates == ()


def test_macro_with_another_body_is_a_warning() -> None:
    diagnostic = only(merge({"x.metal": "#define N 1\n", "y.metal": "#define N 2\n"}, "x.metal", "y.metal"))
    assert (diagnostic.code, diagnostic.severity, diagnostic.subject) == ("SP4046", Severity.WARNING, "N")


def test_a_duplicate_is_kept_where_the_first_may_be_absent() -> None:
    same = "struct s { int a; };\n"
    files = {"x.metal": f"#ifdef A\n{same}#endif\n", "y.metal": same}
    merged = merge(files, "x.metal", "y.metal")
    assert codes(merged) == ["SP4041"]
    assert merged.text.count("struct s") == 2
    weaker = merge({"x.metal": same, "y.metal": f"#ifdef A\n{same}#endif\n"}, "x.metal", "y.metal")
    assert weaker.diagnostics == ()
    assert weaker.text.count("struct s") == 1


def test_a_body_with_two_heads_is_not_torn_apart() -> None:
    heads = "#ifdef A\nkernel void k(int a) {\n#else\nkernel void k(uint a) {\n#endif\n"
    text = heads + "    return;\n}\nstruct s { int a; };\n"
    merged = merge({"x.metal": text, "y.metal": "struct s { int a; };\n"}, "x.metal", "y.metal")
    assert duplicate_names(merged) == {"s": (True, True)}
    twice = merge({"x.metal": text, "y.metal": "\n" + text}, "x.metal", "y.metal")
    assert "SP4041" in codes(twice)
    assert twice.text.count("kernel void k(int a) {") == 2


# --- the collisions of the Metal kernels that were appended to one source


COMMON = """\
#define QK_QJL 256
#define QK_POLAR 128
#define QJL_RESIDUAL_BYTES (QK_POLAR / 8)
typedef struct {
    uint8_t signs[QK_QJL / 8];
    half d;
} block_qjl1_256;
typedef struct {
    half d;
    uint8_t qs[QK_POLAR / 2];
    uint8_t qjl[QJL_RESIDUAL_BYTES];
} block_q4_polar;
"""
TURBO = """\
struct turbo_dot_args { uint n; uint stride; };
struct turbo_dot_multi_args { uint n; uint stride; uint rows; };
constant uint TBQ_SIGNS_32 = 0xa5a5a5a5u;
static inline void hadamard_32(thread float * x) { x[0] += x[1]; }
static inline void precompute_q(threadgroup float * q, uint i) { q[i] *= 2; }
"""
STANDALONE = {
    "turbo3.metal": TURBO + "struct block_turbo3_0 { half norm; };\nkernel void kernel_turbo3_dot() {}\n",
    "turbo4.metal": TURBO + "struct block_turbo4_0 { half norm; };\nkernel void kernel_turbo4_dot() {}\n",
    "turbo3_tcq.metal": "struct turbo_dot_args { uint n; uint stride; };\nkernel void kernel_turbo3_tcq_dot() {}\n",
    "qjl.metal": (
        "#define QJL_HEAD_DIM 128\nstruct block_qjl1_256 { uchar qs[32]; ushort norm_bf16; };\n"
        "kernel void kernel_attn_score_qjl1_256() {}\n"
    ),
    "polar.metal": (
        "#define QK_POLAR 128\n#define QJL_RESIDUAL_BYTES (QK_POLAR / 8)\n"
        "struct block_q4_polar { half d; uchar qs[64]; uchar qjl[16]; };\nkernel void kernel_get_rows_q4_polar() {}\n"
    ),
}


COLLISIONS = {
    "block_qjl1_256",
    "block_q4_polar",
    "turbo_dot_args",
    "turbo_dot_multi_args",
    "TBQ_SIGNS_32",
    "hadamard_32",
    "precompute_q",
}


def test_naive_concatenation_fails_with_exactly_the_known_collisions() -> None:
    """The macros that two files define alike are legal, so they are not among them."""
    text = COMMON + "".join(STANDALONE.values())
    assert {d.name for d in find_duplicates(text)} == COLLISIONS


def test_a_compiler_refuses_the_naive_concatenation_for_the_same_names(tmp_path: Path) -> None:
    for wheel in ("ziglang", "llvmlite"):
        pytest.importorskip(wheel)
    from shaderc_tool.build.process import ProcessRunner
    from shaderc_tool.msl.compiler import compile_msl
    from shaderc_tool.msl.options import MslOptions

    text = "#include <metal_stdlib>\nusing namespace metal;\n" + COMMON + "".join(STANDALONE.values())
    start = ProcessRunner(os.environ)
    options = MslOptions(cache_dir=Path(os.environ.get("SHADERPACK_CACHE", tmp_path)) / "msl")
    result = compile_msl(text, "all.metal", options, lambda a, cwd, stdin: start.run(a, cwd=cwd, stdin=stdin), tmp_path)
    assert result.status == "error"
    again = re.compile(r"(?:redefinition of|definition of type) '(\w+)'")
    assert {name for d in result.diagnostics for name in again.findall(d.message)} == COLLISIONS


def test_merging_removes_what_is_the_same_and_names_the_two_that_differ() -> None:
    files = {"ggml-common.h": COMMON, **STANDALONE}
    merged = merge(files, *files)
    assert [(d.code, d.subject) for d in merged.diagnostics] == [
        ("SP4040", "block_qjl1_256"),
        ("SP4040", "block_q4_polar"),
    ]
    assert {name for name, (_, removed) in duplicate_names(merged).items() if removed} == {
        "turbo_dot_args",
        "turbo_dot_multi_args",
        "TBQ_SIGNS_32",
        "hadamard_32",
        "precompute_q",
    }
    for name in ("turbo3_dot", "turbo4_dot", "turbo3_tcq_dot", "attn_score_qjl1_256", "get_rows_q4_polar"):
        assert merged.text.count(f"kernel_{name}") == 1


# --- any text


WORDS = [
    *"(){}[]<>;,=*&:",
    *(
        "::",
        "->",
        "template",
        "struct",
        "enum",
        "class",
        "union",
        "typedef",
        "using",
        "namespace",
        "kernel",
        "operator",
    ),
    *(
        "extern",
        '"C"',
        "constant",
        "float",
        "a",
        "b",
        "[[host_name(",
        "]]",
        "__attribute__((",
        "inline",
        "static_assert",
    ),
    *(
        "\n#if A\n",
        "\n#else\n",
        "\n#elif B\n",
        "\n#endif\n",
        "\n#define X 1\n",
        "\n#undef X\n",
        '\n#line 7 "f"\n',
        "/*",
        "*/",
    ),
]


@given(st.lists(st.sampled_from(WORDS), max_size=40))
@settings(max_examples=400, deadline=None)
def test_no_text_breaks_the_scanner(words: list[str]) -> None:
    text = " ".join(words)
    merged = merge({"main.metal": text, "other.metal": text}, "main.metal", "other.metal")
    assert all(d.code != "SP3010" for d in merged.diagnostics)
    assert merged.text.endswith("\n") or not text
