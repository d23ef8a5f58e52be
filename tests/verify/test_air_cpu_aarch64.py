"""The AArch64 context switch: compiled for Linux and macOS, and run under emulation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shaderc_tool.verify.air_cpu.errors import AirCpuError
from shaderc_tool.verify.air_cpu.program import build_program
from tests.tools import require_tool
from tests.verify.air_text import Buffer, Builtin, kernel

BODY = """
  %i = zext i32 %1 to i64
  %p = getelementptr float, float addrspace(1)* %0, i64 %i
  %v = load float, float addrspace(1)* %p
  %sum = call float @air.simd_sum.f32(float %v)
  %s = getelementptr [64 x float], [64 x float] addrspace(3)* @shared, i64 0, i64 %i
  store float %sum, float addrspace(3)* %s
  call void @air.wg.barrier(i32 2, i32 1)
  %j = sub i64 63, %i
  %q = getelementptr [64 x float], [64 x float] addrspace(3)* @shared, i64 0, i64 %j
  %w = load float, float addrspace(3)* %q
  store float %w, float addrspace(1)* %p
  ret void
"""
BEFORE = """
@shared = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4
declare void @air.wg.barrier(i32, i32)
declare float @air.simd_sum.f32(float)
"""
# Two simdgroups exchange their sums over a barrier; then the buffer is one element short.
MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct fault { uint32_t code, thread, site, unused; uint64_t a, b; };
struct control {
    void *threads, *stacks; uint64_t stack_bytes;
    uint32_t size[3], groups[3], total[3], position[3], extent[3], count, stop;
    void *home, *current; struct fault fault; uint64_t range_count; void *ranges;
    uint64_t barriers, operations, missed; uint32_t progress;
};
extern struct control control __asm__("spk.control");
extern uint64_t args[128] __asm__("spk.args"), bounds[128][2] __asm__("spk.bounds");
extern uint32_t run(uint32_t, uint32_t) __asm__("spk.run");
int main(void) {
    static float x[64];
    for (int i = 0; i < 64; i++) x[i] = i;
    control.threads = calloc(64, 72);
    control.stack_bytes = 131072;
    control.stacks = aligned_alloc(16, 64 * 131072);
    for (int i = 0; i < 3; i++) { control.size[i] = control.total[i] = i ? 1 : 64; control.groups[i] = 1; }
    args[0] = bounds[0][0] = (uint64_t)x;
    bounds[0][1] = (uint64_t)(x + 64);
    printf("%u %u %g %g %g %g\\n", run(0, 1), control.fault.code, x[0], x[31], x[32], x[63]);
    bounds[0][1] -= 4;
    printf("%u", run(0, 1));
    printf(" %u %u\\n", control.fault.code, control.fault.thread);
}
"""


def _object(folder: Path, triple: str) -> Path:
    """The kernel with its scheduler as an object file, by the clang of the portable Metal toolchain."""
    code = kernel((Buffer(0, "float"), Builtin("thread_position_in_threadgroup")), BODY, before=BEFORE)
    text = build_program(code, "k", {}, "aarch64").text
    source = folder / "kernel.ll"
    source.write_text("\n".join(line for line in text.split("\n") if not line.startswith("target ")))
    target = folder / "kernel.o"
    argv = [sys.executable, "-m", "ziglang", "clang", "-target", triple, "-O2", "-Wno-override-module", "-c"]
    subprocess.run([*argv, str(source), "-o", str(target)], check=True, cwd=folder)
    return target


def test_kernel_compiles_for_apple_silicon(tmp_path: Path) -> None:
    assert _object(tmp_path, "arm64-apple-macosx12.0").read_bytes()[:4] == b"\xcf\xfa\xed\xfe"


def test_fibers_run_under_emulation(tmp_path: Path) -> None:
    emulator = require_tool("qemu-aarch64")
    made = _object(tmp_path, "aarch64-linux-musl")
    (tmp_path / "main.c").write_text(MAIN)
    argv = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-O1", "main.c", str(made)]
    subprocess.run([*argv, "-o", "program"], check=True, cwd=tmp_path)
    done = subprocess.run([emulator, str(tmp_path / "program")], check=True, capture_output=True, text=True)
    low, high = sum(range(32)), sum(range(32, 64))
    assert done.stdout == f"1 0 {high} {high} {low} {low}\n0 1 63\n"


def test_other_processors_are_named() -> None:
    code = kernel((Buffer(0, "float"), Builtin("thread_position_in_threadgroup")), BODY, before=BEFORE)
    with pytest.raises(AirCpuError, match="riscv64"):
        build_program(code, "k", {}, "riscv64")
