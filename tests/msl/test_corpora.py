"""Third-party Metal source: msplat against Apple's own compile of it, and llama.cpp's kernels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shaderc_tool.formats.air import read_air
from shaderc_tool.formats.metallib import read_library
from shaderc_tool.msl.link import link_metallib
from shaderc_tool.msl.options import MslResult
from tests.corpora import unpack
from tests.msl import differential
from tests.msl.compiling import compile_text

pytestmark = pytest.mark.corpus

INCLUDED_ONLY = {"fa_common", "fa_vec_common"}
"""Files that others include and that do not compile alone."""
LARGE = re.compile(r"fa_vec_(?!f32)")
"""66 kernels each, fully unrolled: half a minute a file."""


def _kernels() -> list[Path]:
    (folder,) = [p for p in unpack("llama-cpp-python").rglob("ggml-metal/kernels") if p.is_dir()]
    return [p for p in sorted(folder.glob("*.metal")) if p.stem not in INCLUDED_ONLY]


def _compile(path: Path, defines: tuple[str, ...] = ()) -> MslResult:
    folder = path.parent.parent
    text, name = path.read_text("utf-8"), f"kernels/{path.name}"
    return compile_text(text, name, math="fast", include_dirs=(".", ".."), defines=defines, cwd=folder)


def test_every_msplat_kernel_compiles_with_the_arguments_that_apple_records() -> None:
    assert differential.compiled().status == "clean"
    functions = read_library(differential.apple_library()).functions
    assert [k.name for k in differential.compiled().kernels] == [f.name for f in functions]
    for function in functions:
        ours = differential.entry_point(differential.our_library(), function.name)
        assert ours == differential.entry_point(differential.apple_library(), function.name)


def test_msplat_kernels_compute_what_apples_do() -> None:
    rows = differential.compare_all()
    assert len(rows) == 42
    assert [r for r in rows if not r.agrees] == []


def test_a_planted_difference_is_found() -> None:
    """The comparison sees a changed constant in the source."""
    source = differential.embedded_source()
    assert "0.28209479177387814f" in source
    changed = compile_text(source.replace("0.28209479177387814f", "0.2821f"), math="fast").bitcode
    assert changed is not None
    kernel = "compute_sh_forward_kernel"
    assert differential.compare(kernel).agrees
    assert differential.compare(kernel, link_metallib([changed], "macos", "14.0")).difference > 1e-6


def test_small_llama_units_compile_to_air_that_verifies() -> None:
    units = [p for p in _kernels() if not LARGE.match(p.stem)]
    failed = {}
    for path in units:
        result = _compile(path)
        if result.status != "clean" or result.bitcode is None:
            failed[path.name] = [d.message for d in result.diagnostics]
            continue
        # the bf16 kernels are behind a macro that asks for Metal 3.1 and that is not set
        names = re.findall(r'host_name\("([^"]+)"\)', path.read_text("utf-8"))
        assert {n for n in names if "bf16" not in n} <= {k.name for k in result.kernels}
        assert len(read_air(result.bitcode).entry_points) == len(result.kernels)
    assert failed == {}
    assert len(units) >= 24


@pytest.mark.parametrize("name", ["unary", "binbcast", "mul_mv", "mul_mm", "quantize", "misc", "fa_f16"])
def test_bfloat_kernels_compile_too(name: str) -> None:
    (path,) = [p for p in _kernels() if p.stem == name]
    plain, both = _compile(path), _compile(path, ("GGML_METAL_HAS_BF16=1",))
    assert (plain.status, both.status) == ("clean", "clean")
    assert {k.name for k in plain.kernels} <= {k.name for k in both.kernels}
    assert any("bf16" in k.name for k in both.kernels) or name == "unary"


def test_library_internals_are_no_mistake_of_the_user() -> None:
    """MLX's headers use builtins of Apple's compiler: not modelled, and nothing in them is called an error."""
    root = unpack("mlx-metal") / "mlx/include"
    source = '#include "mlx/backend/metal/kernels/utils.h"\n#include "mlx/backend/metal/kernels/softmax.h"\n'
    result = compile_text(source, "softmax.metal", include_dirs=(".",), cwd=root)
    assert result.status == "not-modelled"
    assert all(d.code == "SP8002" for d in result.diagnostics)


@pytest.mark.parametrize("name", ["fa_vec_f16", "fa_vec_q4_0"])
def test_large_llama_units_compile(name: str) -> None:
    (path,) = [p for p in _kernels() if p.stem == name]
    assert len(_compile(path).kernels) == 66
