"""`shaderpack inspect` as a user types it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shaderc_tool.cli import cli
from shaderc_tool.formats.metallib import build_library, read_library, write_library
from shaderc_tool.formats.metallib_lint import KINDS
from tests import corpora
from tests.formats.metallib_cases import LARGE_PACKAGES, SMALL_PACKAGES, bitcode, kernels
from tests.formats.test_containers import spirv_module

DOCS = Path(__file__).parents[2] / "docs/inspect.md"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["inspect", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def files(*arguments: str | Path) -> list[dict[str, Any]]:
    code, text, errors = run(*arguments, "--json")
    assert code == 0, errors
    document = json.loads(text)
    assert document["schema"] == 1
    found: list[dict[str, Any]] = document["files"]
    return found


def libraries(file: dict[str, Any]) -> list[dict[str, Any]]:
    return [*file["libraries"], *(library for member in file["members"] for library in libraries(member))]


def check_expectation(package: str) -> None:
    """The whole wheel, and what it holds as its pin says."""
    expect = corpora.packages()[package].expect
    assert expect is not None
    (file,) = files(corpora.fetch(package))
    found = libraries(file)
    assert sum(len(library["functions"]) for library in found) == expect["functions"]
    for library in found:
        assert {key: library[key] for key in ("container", "os", "air", "language")} == {
            key: expect[key] for key in ("container", "os", "air", "language")
        }
        assert all((f["air"], f["language"]) == (expect["air"], expect["language"]) for f in library["functions"])


@pytest.mark.parametrize("package", SMALL_PACKAGES)
def test_json_agrees_with_what_is_known_of_a_wheel(package: str) -> None:
    check_expectation(package)


@pytest.mark.corpus
@pytest.mark.parametrize("package", LARGE_PACKAGES)
def test_json_agrees_with_what_is_known_of_a_large_wheel(package: str) -> None:
    check_expectation(package)


@pytest.mark.corpus
def test_a_library_of_147_megabytes_is_listed_in_400_megabytes() -> None:
    """How long it takes is measured by `python -m bench.inspect_library`."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of a process is read from /proc")
    path = corpora.extract("mlx-metal", "mlx.metallib")
    # getrusage would count what the test process had before exec, VmHWM does not.
    script = (
        "import sys; from shaderc_tool.cli import cli\n"
        "try: cli.main(sys.argv[1:])\n"
        "finally: sys.stderr.write(open('/proc/self/status').read())"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, "inspect", str(path)], capture_output=True, text=True, check=True
    )
    assert result.stdout.count("\n      kernel ") == 17_248
    (peak,) = (int(line.split()[1]) for line in result.stderr.splitlines() if line.startswith("VmHWM:"))
    assert peak < 400 * 1024


def test_the_table_of_a_real_library() -> None:
    path = corpora.extract("msplat", "default.metallib")
    code, text, _ = run(path, "--function", "prefix_sum_kernel", "--arguments")
    assert code == 0
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "library: executable 1.2.7 for macOS 14.0, AIR 2.6, Metal 3.1" in lines
    assert "42 functions, 1 shown" in lines
    assert "kernel prefix_sum_kernel 2.6 3.1 6720" in lines
    assert "0 buffer uint N read" in lines
    assert "2 buffer int output read_write" in lines
    assert any(line.startswith("leaked-path: ") for line in lines)


def test_arguments_in_json() -> None:
    (file,) = files(corpora.extract("msplat", "default.metallib"), "--function", "prefix_sum_kernel", "--arguments")
    (function,) = file["libraries"][0]["functions"]
    (entry,) = function["bitcode"]["entry_points"]
    buffers = [(a["index"], a["name"], a["access"]) for a in entry["arguments"] if a["kind"] == "buffer"]
    assert buffers == [(0, "N", "read"), (1, "input", "read"), (2, "output", "read_write")]
    assert file["libraries"][0]["function_count"] == 42


def test_disassembly_has_typed_pointers() -> None:
    path = corpora.extract("msplat", "default.metallib")
    code, text, _ = run(path, "--function", "prefix_sum_kernel", "--disassemble")
    assert code == 0
    assert "define void @prefix_sum_kernel(i32 addrspace(2)*" in text
    (file,) = files(path, "--function", "prefix_sum_kernel", "--disassemble")
    assert [entry["function"] for entry in file["disassembly"]] == ["prefix_sum_kernel"]


def test_extraction_gives_valid_libraries_and_the_sources(tmp_path: Path) -> None:
    path = corpora.extract("msplat", "default.metallib")
    code, _, text = run(path, "--extract", tmp_path)
    assert code == 0
    assert "46 files written" in text
    whole = read_library(path.read_bytes())
    for function in whole.functions:
        alone = read_library((tmp_path / f"{function.name}.metallib").read_bytes())
        assert [f.recorded_hash for f in alone.functions] == [function.recorded_hash]
        assert alone.functions[0].hash_matches()
    source = (tmp_path / "sources/msplat_metal-msplat_metal.metal").read_text("utf-8")
    assert "kernel void prefix_sum_kernel" in source


def test_extraction_keeps_to_its_folder(tmp_path: Path) -> None:
    names = ["../../outside", "/etc/passwd", "A", "a", "con taining spaces", "x" * 400, "..", "ü"]
    library = tmp_path / "hostile.metallib"
    library.write_bytes(write_library(build_library(kernels(*names), "macos", (14, 0, 0))))
    folder = tmp_path / "out"
    assert run(library, "--extract", folder)[0] == 0
    assert len([p for p in folder.iterdir() if p.suffix == ".metallib"]) == len(names)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hostile.metallib", "out"]
    found = [read_library(p.read_bytes()).functions[0].name for p in folder.iterdir()]
    assert sorted(found) == sorted(names)


def test_several_libraries_are_extracted_to_a_folder_each(tmp_path: Path) -> None:
    one, two = (write_library(build_library(kernels("k"), slug, (17, 0, 0))) for slug in ("ios", "ios-simulator"))
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.writestr("device/lib.metallib", one)
        archive.writestr("simulator/lib.metallib", two)
        archive.writestr("README", "text")
    assert run(tmp_path / "both.zip", "--extract", tmp_path / "out")[0] == 0
    found = sorted((tmp_path / "out").rglob("k.metallib"))
    assert [read_library(p.read_bytes()).platform_name for p in found] == ["iOS", "iOS simulator"]


def test_every_key_and_every_finding_is_documented() -> None:
    text = DOCS.read_text("utf-8")
    documents = [
        files(corpora.fetch("metal-flash-sdpa"))[0],
        files(corpora.extract("msplat", "default.metallib"), "--arguments", "--disassemble")[0],
    ]
    missing = {key for document in documents for key in _keys(document) if f"`{key}`" not in text}
    assert not missing
    assert not [kind for kind in KINDS if f"| `{kind}` |" not in text]


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


def test_a_library_without_functions_is_shown_with_its_finding(tmp_path: Path) -> None:
    path = tmp_path / "empty.metallib"
    path.write_bytes(write_library(build_library([], "macos", (14, 0, 0))))
    code, text, _ = run(path)
    assert code == 0
    assert "no-functions: the library has no functions" in text


@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_a_cut_library_fails_with_its_name_and_the_byte(tmp_path: Path, suffix: str) -> None:
    data = write_library(build_library(kernels("a", "b"), "macos", (14, 0, 0)))
    path = tmp_path / f"cut.metallib{suffix}"
    if suffix:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("cut.metallib", data[:-1])
    else:
        path.write_bytes(data[:-1])
    code, _, text = run(path)
    assert code == 1
    assert "SP4002" in text
    assert "cut.metallib" in text
    assert "0x10" in text


def test_a_missing_an_empty_and_an_unknown_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello, this is not a shader")
    for name in ("missing", "empty", "text"):
        code, _, text = run(tmp_path / name)
        assert code == 1
        assert "SP4009" in text
        assert name in text


def test_a_function_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "lib.metallib"
    path.write_bytes(write_library(build_library(kernels("turbo3"), "macos", (14, 0, 0))))
    code, _, text = run(path, "--function", "turbo4")
    assert code == 1
    assert "SP4001" in text
    assert run(path, "--function", "turbo*")[0] == 0


def test_bitcode_with_a_wrong_hash_is_never_given_to_llvm(tmp_path: Path) -> None:
    library = build_library(kernels("a"), "macos", (14, 0, 0))
    broken = dataclasses.replace(library.functions[0], bitcode=bitcode(5))
    path = tmp_path / "lib.metallib"
    path.write_bytes(write_library(dataclasses.replace(library, functions=(broken,))))
    code, text, _ = run(path, "--arguments", "--disassemble")
    assert code == 0
    assert "bad-hash: " in text
    assert "; wrong hash" in text


def test_an_air_file_and_a_spirv_file(tmp_path: Path) -> None:
    library = read_library(corpora.metallibs("pennylane-metal")[0][1])
    air = tmp_path / "k.air"
    air.write_bytes(library.functions[0].bitcode)
    spirv = tmp_path / "k.spv"
    spirv.write_bytes(spirv_module())
    first, second = files(air, spirv)
    assert first["air"]["entry_points"][0]["name"] == library.functions[0].name
    assert first["air"]["triple"].startswith("air64")
    assert [e["name"] for e in second["shaders"][0]["entry_points"]] == ["main"]
    code, text, _ = run(air, spirv)
    assert code == 0
    assert "AIR 2.8, Metal 4.0" in text
    assert "GLCompute main" in text


def test_a_damaged_air_file(tmp_path: Path) -> None:
    path = tmp_path / "k.air"
    path.write_bytes(b"BC\xc0\xde" + b"\xff" * 64)
    code, _, text = run(path)
    assert code == 1
    assert "SP4002" in text


def test_audit_fails_for_a_library_without_functions(tmp_path: Path) -> None:
    path = tmp_path / "empty.metallib"
    path.write_bytes(write_library(build_library([], "macos", (14, 0, 0))))
    result = CliRunner().invoke(cli, ["audit", str(path)])
    assert result.exit_code == 1
    assert "SP4024" in result.stderr


def test_audit_finds_required_functions_inside_an_extension_module() -> None:
    path = corpora.extract("metal-flash-sdpa", "-darwin.so")
    name = read_library(corpora.metallibs("metal-flash-sdpa")[0][1]).functions[3].name
    assert CliRunner().invoke(cli, ["audit", str(path), "--require", name]).exit_code == 0
    assert CliRunner().invoke(cli, ["audit", str(path), "--require", "kernel_none"]).exit_code == 1
