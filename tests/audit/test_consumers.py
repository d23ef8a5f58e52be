"""Kernel names that host sources make: how they are read in each language, and what must be there for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shaderc_tool.audit.host_names import Hole, NameUse, name_uses
from shaderc_tool.audit.rules_consumers import check_consumers, fill_axes, owned_names, users
from shaderc_tool.diagnostics import Severity
from shaderc_tool.manifest.model import Axis
from tests.audit.support import MACOS_LIBRARY, audit, found, write

C = """\
void a(device_t d, int n, const tensor * t) {
    const char * suffix = "";
    if (n % 4 == 0) {
        suffix = "_4";
    }
    snprintf(base, 256, "kernel_scale_%s%s", type_name(t->type), suffix);
}
void b(device_t d, int op) {
    // snprintf(base, 256, "kernel_comment_%s", "f32");
    const char * name = "undefined";
    switch (op) {
        case 1: name = "sum"; break;
        case 2: name = "max"; break;
    }
    snprintf(base, 256, "kernel_reduce_%s_dk%d", name, dk);
    get_pipeline(d, "kernel_" "plain");
    log("kernel_not a name: %d", 3);
}
"""


def texts(source: str, file: str, *prefixes: str) -> list[tuple[str, int]]:
    return [(use.text, use.place.line) for use in name_uses(source, file, prefixes or ("kernel_",))]


def missing(uses: list[NameUse], names: set[str], *axes: Axis) -> list[str]:
    return [d.subject for d in check_consumers(uses, axes, names, (), "x") if d.code == "SP4063"]


def test_c_strings_formats_and_comments() -> None:
    assert texts(C, "a.cpp") == [("kernel_scale_%s%s", 6), ("kernel_reduce_%s_dk%d", 15), ("kernel_plain", 16)]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("a.m", 'id f = [lib newFunctionWithName:@"saxpy"]; /* @"kernel_no" */'),
        ("a.mm", 'auto f = lib->newFunction(NS::String::string("saxpy", NS::UTF8StringEncoding));'),
        ("a.swift", 'let f = library.makeFunction(name: "saxpy") // makeFunction(name: "no")'),
        ("a.py", 'f = library.get_function("saxpy")  # get_function("no")'),
        ("a.cpp", 'auto f = d.get_function(library, R"(saxpy)");'),
    ],
)
def test_a_looked_up_name_counts_whatever_it_starts_with(file: str, source: str) -> None:
    (use,) = name_uses(source, file, ("kernel_",))
    assert (use.text, use.lookup) == ("saxpy", True)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("a.swift", 'let n = "kernel_copy_\\(type)_\\(width)"'),
        ("a.py", 'n = f"kernel_copy_{type}_{width:d}"'),
        ("a.py", 'n = "kernel_copy_%s_%d" % (type, width)'),
        ("a.m", 'NSString * n = [NSString stringWithFormat:@"kernel_copy_%@_%d", type, width];'),
    ],
)
def test_interpolation_is_a_hole(file: str, source: str) -> None:
    (use,) = name_uses(source, file, ("kernel_",))
    holes = [part for part in use.parts if isinstance(part, Hole)]
    assert len(holes) == 2
    assert missing([use], {"kernel_copy_f32_4"}) == []
    assert len(missing([use], {"kernel_move_f32_4"})) == 1


def test_arguments_are_followed_to_their_literals() -> None:
    scale, reduce, _ = name_uses(C, "a.cpp", ("kernel_",))
    type_hole, suffix = (part for part in scale.parts if isinstance(part, Hole))
    assert (type_hole.argument, type_hole.values) == ("type_name(t->type)", ())
    assert [value.parts for value in suffix.values] == [(), ("_4",)]
    name, number = (part for part in reduce.parts if isinstance(part, Hole))
    assert [(v.parts, v.optional, v.correlated) for v in name.values] == [
        (("undefined",), True, False),
        (("sum",), False, True),
        (("max",), False, True),
    ]
    assert number.number


def test_what_must_be_there() -> None:
    uses = name_uses(C, "a.cpp", ("kernel_",))
    names = {
        "kernel_scale_f32",
        "kernel_scale_f32_4",
        "kernel_reduce_sum_dk64",
        "kernel_reduce_max_dk64",
        "kernel_plain",
    }
    assert missing(uses, names) == []
    assert missing(uses, names - {"kernel_plain"}) == ["kernel_plain"]
    assert missing(uses, names - {"kernel_scale_f32_4"}) == ["kernel_scale_<type_name(t->type)>_4"]
    assert missing(uses, names - {"kernel_reduce_max_dk64"}) == ["kernel_reduce_max_dk<dk>"]
    half = names | {"kernel_scale_f16"}
    (inferred,) = [d for d in check_consumers(uses, (), half, (), "x") if d.code == "SP4063"]
    assert (inferred.subject, inferred.severity) == ("kernel_scale_f16_4", Severity.WARNING)


def test_axes_say_which_values_open_arguments_have() -> None:
    uses = name_uses(C, "a.cpp", ("kernel_",))
    names = {
        "kernel_scale_f32",
        "kernel_scale_f32_4",
        "kernel_reduce_sum_dk64",
        "kernel_reduce_max_dk64",
        "kernel_plain",
    }
    types = Axis(("type_name(*)",), (("f32",), ("f16",)))
    assert missing(uses, names, types) == ["kernel_scale_f16"]
    assert missing(uses, names | {"kernel_scale_f16"}, types) == ["kernel_scale_f16_4"]
    sizes = Axis(("dk",), (), "host.h", r"HEAD_DIM\((\d+)\)")
    (filled,) = fill_axes([sizes], {"host.h": "HEAD_DIM(64) HEAD_DIM(128) HEAD_DIM(64)"})
    assert filled.rows == (("64",), ("128",))
    assert missing(uses, names, filled) == ["kernel_reduce_sum_dk128"]


def test_a_kernel_belongs_to_the_most_special_line() -> None:
    source = 'f("kernel_scan_%s%s", t, tail ? "_tail" : ""); g("kernel_scan_mma_%s", t);'
    uses = name_uses(source, "a.c", ("kernel_",))
    names = {"kernel_scan_f32", "kernel_scan_f32_tail", "kernel_scan_mma_f32"}
    assert [owned_names(uses, names)[use] for use in uses] == [names - {"kernel_scan_mma_f32"}, {"kernel_scan_mma_f32"}]
    assert missing(uses, names) == []
    assert users("kernel_scan_mma_f32", uses)[0].text == "kernel_scan_mma_%s"


def test_rows_on_which_others_agree() -> None:
    uses = name_uses('f("kernel_fa_%s_dk%d", t, dk);', "a.c", ("kernel_",))
    names = {f"kernel_fa_{t}_dk{d}" for t in ("q4_0", "q5_0", "q8_0") for d in (32, 64, 96, 128)} | {
        "kernel_fa_f32_dk64"
    }
    assert missing(uses, names) == []
    assert missing(uses, names - {"kernel_fa_q5_0_dk96"}) == ["kernel_fa_q5_0_dk96"]


def test_kernels_that_nothing_names() -> None:
    uses = name_uses(C, "a.cpp", ("kernel_",))
    names = {"kernel_scale_f32", "kernel_idle", "kernel_debug_dump"}
    (idle,) = [d for d in check_consumers(uses, (), names, ("kernel_debug_*",), "x") if d.code == "SP4064"]
    assert idle.subject == "kernel_idle"
    assert idle.severity is Severity.WARNING


def test_t8_a_host_that_names_three_kernels_and_a_library_with_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = '// names\nuse("kernel_add");\nuse("kernel_mul");\nuse("kernel_div");\n'
    write(tmp_path, "src/deep/host.mm", source.encode())
    path = write(tmp_path, "default.metallib", MACOS_LIBRARY)
    diagnostics = audit(path, consumers=("src/**/*.mm",))
    assert found(diagnostics) == [("SP4063", "kernel_div")]
    assert str(diagnostics[0].place).startswith("src/deep/host.mm:4:")
    assert found(audit(path, consumers=("src/**/*.swift",))) == [("SP1014", "")]
