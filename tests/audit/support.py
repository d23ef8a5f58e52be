"""Artifacts for audit tests: objects from a real assembler, archives, and the gate run on them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shaderc_tool.audit.file_gate import FileAudit, audit_files
from shaderc_tool.diagnostics import Diagnostic
from tests.emit.support import llvm_tool
from tests.fakes.library import library
from tests.formats.test_containers import spirv_module

MACOS_LIBRARY = library("air64-apple-macos14.0", [("kernel_add", "3.1"), ("kernel_mul", "3.1")])
IOS_LIBRARY = library("air64-apple-ios17.0", [("kernel_add", "3.1")])
MODULE = spirv_module()
SOURCE = """\
#include <metal_stdlib>
// kernel void kernel_ghost(device float *x [[buffer(0)]]) {}
template <typename T> kernel void kernel_copy(device T *x [[buffer(0)]]) { x[0] = T(1); }
template [[host_name("kernel_copy_f32")]] kernel void kernel_copy<float>(device float *);
#if __METAL_VERSION__ >= 310
kernel void kernel_bf16(device bfloat *x [[buffer(0)]]) { x[0] = 1; }
#endif
#ifdef HAS_TENSOR
kernel void kernel_tensor(device float *x [[buffer(0)]]) { x[0] = 1; }
#endif
"""


def assemble(text: str, triple: str, folder: Path, name: str = "a.o") -> Path:
    """An object from assembler text by LLVM, for any system."""
    path = folder / name
    path.with_suffix(".s").write_text(text, "utf-8")
    argv = [llvm_tool("llvm-mc"), f"-triple={triple}", "-filetype=obj", "-o", str(path), str(path.with_suffix(".s"))]
    result = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return path


def embedding(symbol: str, payload: Path, length: int, *, elf: bool = True) -> str:
    """Assembler text of a `_data`/`_len` pair."""
    prefix = "" if elf else "_"
    section = ".section .rodata" if elf else ".section __TEXT,__const"
    lines = [section, f".globl {prefix}{symbol}_data", f".globl {prefix}{symbol}_len", ".p2align 4"]
    lines += [f"{prefix}{symbol}_data:", f'.incbin "{payload}"']
    lines += [f".size {symbol}_data, .-{symbol}_data"] if elf else []
    lines += [".p2align 3", f"{prefix}{symbol}_len:", f".quad {length}"]
    lines += [f".size {symbol}_len, 8", f".type {symbol}_data, @object"] if elf else []
    return "\n".join(lines) + "\n"


def started(name: str, payload: Path, *, elf: bool = True) -> str:
    """Assembler text of a `_start`/`_end` pair."""
    prefix = "" if elf else "_"
    section = ".section .rodata" if elf else ".section __DATA,__ggml_metallib"
    return (
        f"{section}\n.globl {prefix}{name}_start\n{prefix}{name}_start:\n"
        f'.incbin "{payload}"\n.globl {prefix}{name}_end\n{prefix}{name}_end:\n.byte 0\n'
    )


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def audit(*files: Path, **asked: Any) -> list[Diagnostic]:
    """The findings of `shaderpack audit FILES`."""
    return audit_files(files, FileAudit(**asked))[0]


def found(diagnostics: Sequence[Diagnostic]) -> list[tuple[str, str]]:
    """(code, subject) of each finding."""
    return [(d.code, d.subject) for d in diagnostics]


def missing(*files: Path, names: Sequence[str], **asked: Any) -> list[str]:
    """Which of the required names the audit does not find."""
    return [d.subject for d in audit(*files, required=tuple(names), **asked) if d.code == "SP4001"]
