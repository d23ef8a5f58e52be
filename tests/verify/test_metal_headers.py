"""The host headers compile as C99 and C++17 without a warning, and a changed struct stops the compiler."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.tools import require_tool
from tests.verify.metal_kernels import SOURCES

PROGRAM = """
#include "milady_args.h"
#include "milady_tcq_codebook.h"
int main(void) {
    milady_turbo_dot_args args = {128, 7, 4, 0, 0};
    return args.n_kv == 7 && milady_tcq_codebook[511] > 0 ? 0 : 1;
}
"""
LANGUAGES = [("gcc", "c", "c99"), ("clang", "c", "c99"), ("g++", "c++", "c++17"), ("clang++", "c++", "c++17")]


def _compile(compiler: str, language: str, standard: str, headers: Path, out: Path) -> subprocess.CompletedProcess[str]:
    argv = [require_tool(compiler), "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    return subprocess.run(
        [*argv, f"-I{headers}", "-", "-o", str(out)], input=PROGRAM, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("compiler", "language", "standard"), LANGUAGES)
def test_host_headers_compile(compiler: str, language: str, standard: str, tmp_path: Path) -> None:
    done = _compile(compiler, language, standard, SOURCES, tmp_path / "program")
    assert done.returncode == 0, done.stderr
    subprocess.run([tmp_path / "program"], check=True)


@pytest.mark.parametrize(("compiler", "language", "standard"), LANGUAGES)
def test_a_changed_struct_does_not_compile(compiler: str, language: str, standard: str, tmp_path: Path) -> None:
    for header in ("milady_args.h", "milady_tcq_codebook.h"):
        text = (SOURCES / header).read_text()
        (tmp_path / header).write_text(text.replace("uint32_t q_head; ", "uint64_t q_head; ", 1))
    done = _compile(compiler, language, standard, tmp_path, tmp_path / "program")
    assert done.returncode != 0
    assert "milady_turbo_dot_args_size_check" in done.stderr
