"""Kernels that Apple's compiler built, out of real wheels, on the CPU against NumPy."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib import FunctionType, Library, read_library
from shaderc_tool.verify import air_cpu
from tests.corpora import metallibs
from tests.verify.metal_cases import CASES, GPT4ALL, MLX_METAL, MSPLAT, MetalCase, Prepared, relative_error

SMALL = {"gpt4all", "msplat"}


@cache
def _libraries(package: str) -> list[Library]:
    return [read_library(data) for _, data in metallibs(package)]


def _load(case: MetalCase) -> air_cpu.Kernel:
    (library,) = (lib for lib in _libraries(case.package) if any(f.name == case.kernel for f in lib.functions))
    return air_cpu.load(library, case.kernel, constants=case.constants)


def _dispatch(kernel: air_cpu.Kernel, prepared: Prepared) -> air_cpu.Result:
    return kernel.dispatch(
        prepared.buffers,
        threadgroup=prepared.threadgroup,
        grid=prepared.grid,
        threads=prepared.threads,
        threadgroup_memory=prepared.threadgroup_memory,
    )


def _marked(case: MetalCase) -> Any:
    return pytest.param(case, id=str(case), marks=() if case.package in SMALL else pytest.mark.corpus)


@pytest.mark.parametrize("case", [_marked(case) for case in CASES])
def test_kernel_agrees_with_numpy(case: MetalCase) -> None:
    prepared = case.prepare()
    _dispatch(_load(case), prepared)
    for got, expected in prepared.outputs:
        assert relative_error(got, expected)[1] <= case.tolerance


def _case(cases: list[MetalCase], kernel: str) -> MetalCase:
    return next(case for case in cases if case.kernel == kernel)


def test_a_nan_in_an_input_shows_in_the_error() -> None:
    case = _case(GPT4ALL, "kernel_rms_norm")
    prepared = case.prepare()
    source = prepared.buffers[0]
    source[3, 77] = np.nan
    _dispatch(_load(case), prepared)
    got, expected = prepared.outputs[0]
    assert relative_error(got, expected)[1] == np.inf
    assert relative_error(np.delete(got, 3, 0), np.delete(expected, 3, 0))[1] <= case.tolerance


@pytest.mark.parametrize(
    ("cases", "kernel", "index"),
    [
        (GPT4ALL, "kernel_rms_norm", 0),
        (GPT4ALL, "kernel_mul_mv_q4_0_f32", 0),
        (GPT4ALL, "kernel_mul_mm_q8_0_f32", 1),
        (GPT4ALL, "kernel_argsort_f32_i32_asc", 1),
        (MSPLAT, "fused_adam_kernel", 3),
        (MSPLAT, "radix_sort_histogram_kernel", 2),
    ],
)
def test_a_short_buffer_is_caught(cases: list[MetalCase], kernel: str, index: int) -> None:
    case = _case(cases, kernel)
    prepared = case.prepare()
    flat = prepared.buffers[index].reshape(-1)
    prepared.buffers[index] = flat[:-1].copy()
    with pytest.raises(air_cpu.OutOfBoundsError, match=f"buffer {index} "):
        _dispatch(_load(case), prepared)


def test_too_little_threadgroup_memory_is_caught() -> None:
    case = _case(GPT4ALL, "kernel_argsort_f32_i32_asc")
    prepared = case.prepare()
    kernel = _load(case)
    with pytest.raises(air_cpu.OutOfBoundsError, match="threadgroup memory 0"):
        kernel.dispatch(
            prepared.buffers, threadgroup=prepared.threadgroup, grid=prepared.grid, threadgroup_memory={0: 508}
        )


# --- faults in the kernels themselves, as docs/metal-on-cpu.md tells


def test_group_norm_has_a_race() -> None:
    case = _case(GPT4ALL, "kernel_group_norm")
    prepared = case.prepare()
    _dispatch(_load(case), replace(prepared, threadgroup=(64,)))
    got, expected = prepared.outputs[0]
    assert relative_error(got, expected)[1] > 0.01


def test_mul_mv_reads_rows_that_are_not_there() -> None:
    case = _case(GPT4ALL, "kernel_mul_mv_q4_0_f32")
    prepared = case.prepare()
    packed = prepared.buffers[0]
    prepared.buffers[0] = packed[:22].copy()
    prepared.buffers[4] = prepared.buffers[15] = np.int64(22)
    with pytest.raises(air_cpu.OutOfBoundsError, match="reads 2 bytes at byte 6336 of buffer 0"):
        _dispatch(_load(case), prepared)


@pytest.mark.corpus
def test_layer_norm_writes_before_a_private_array() -> None:
    case = _case(MLX_METAL, "layer_normfloat32")
    prepared = case.prepare()
    prepared.buffers[5] = np.uint32(1000)
    with pytest.raises(air_cpu.OutOfBoundsError, match=r"thread \(126, 0, 0\) .* outside of a private array"):
        _dispatch(_load(case), prepared)


# --- what may be passed as a library


def test_bytes_of_a_metallib() -> None:
    case = _case(MSPLAT, "prefix_sum_kernel")
    prepared = case.prepare()
    ((_, data),) = metallibs("msplat")
    air_cpu.run(data, case.kernel, buffers=prepared.buffers, threadgroup=prepared.threadgroup, grid=prepared.grid)
    np.testing.assert_array_equal(*prepared.outputs[0])
    assert air_cpu.unmodelled(data, case.kernel) == ()
    with pytest.raises(air_cpu.DispatchError, match="no kernel 'prefix_sum'"):
        air_cpu.load(data, "prefix_sum")


def test_bitcode_without_its_hash_is_not_given_to_llvm() -> None:
    ((_, data),) = metallibs("msplat")
    library = read_library(data)
    bitcode = bytes(next(f.bitcode for f in library.functions if f.name == "prefix_sum_kernel"))
    at = data.index(bitcode) + 100
    damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    with pytest.raises(FormatError, match="recorded hash"):
        air_cpu.load(damaged, "prefix_sum_kernel")


def test_the_example_in_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).resolve().parents[2] / "docs/metal-on-cpu.md"
    example = page.read_text("utf-8").split("```python\n")[1].split("```")[0]
    ((_, data),) = metallibs("gpt4all")
    (tmp_path / "default.metallib").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the example reads its file in one line
        exec(example, names)
    x, y = names["x"].astype(np.float64), names["y"]
    np.testing.assert_allclose(y, x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5), rtol=1e-5)


# --- breadth

PACKAGES = ["gpt4all", "msplat", "pennylane-metal", "metal-linalg", "metal-flash-sdpa", "mlx", "mlx-metal"]
SAMPLE = 120


def _uses_textures(missing: tuple[str, ...]) -> bool:
    return any("texture" in name or "sampler" in name for name in missing)


@pytest.mark.corpus
@pytest.mark.parametrize("package", PACKAGES)
def test_95_percent_of_kernels_without_textures_are_modelled(package: str) -> None:
    """Every kernel by its declarations; then a sample is compiled to machine code."""
    found: dict[str, int] = {}
    able, total = [], 0
    for library in _libraries(package):
        for function in library.functions:
            if function.type != FunctionType.KERNEL:
                continue
            missing = air_cpu.unmodelled(bytes(function.bitcode), function.name)
            if _uses_textures(missing):
                continue
            total += 1
            if not missing:
                able.append((library, function.name))
            for name in missing:
                found[name] = found.get(name, 0) + 1
    compiled = failed = 0
    for library, name in random.Random(package).sample(able, min(SAMPLE, len(able))):
        try:
            air_cpu.load(library, name, constants=_some_constants(library, name))
            compiled += 1
        except air_cpu.NotModelledError as error:
            failed += 1
            found.update(dict.fromkeys(error.names, 1))
    print(f"\n{package}: {len(able)} of {total} modelled, {compiled} of {compiled + failed} compiled; not: {found}")
    assert total
    assert len(able) / total * compiled / (compiled + failed) >= 0.95


def _some_constants(library: Library, name: str) -> dict[int | str, Any]:
    from shaderc_tool.formats.air import read_air

    function = next(f for f in library.functions if f.name == name)
    return {constant.index: 1 for constant in read_air(bytes(function.bitcode)).function_constants}
