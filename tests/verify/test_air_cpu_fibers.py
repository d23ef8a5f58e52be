"""Threads, barriers and simdgroups of the CPU engine, on kernels small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shaderc_tool.verify import air_cpu
from tests.verify.air_text import Buffer, Builtin, kernel

GRID = Builtin("thread_position_in_grid")
LOCAL = Builtin("thread_position_in_threadgroup")
LANE = Builtin("thread_index_in_simdgroup")
BARRIER = "declare void @air.wg.barrier(i32, i32)\n"
SUM = "declare i32 @air.simd_sum.s.i32(i32)\n"

AXPY = """
  %i = zext i32 %3 to i64
  %a = load float, float addrspace(2)* %0
  %px = getelementptr float, float addrspace(1)* %1, i64 %i
  %py = getelementptr float, float addrspace(1)* %2, i64 %i
  %x = load float, float addrspace(1)* %px
  %y = load float, float addrspace(1)* %py
  %ax = fmul float %a, %x
  %r = fadd float %ax, %y
  store float %r, float addrspace(1)* %py
  ret void
"""
AXPY_PARAMS = (Buffer(0, "float", 2, reference=4), Buffer(1, "float"), Buffer(2, "float"), GRID)


def test_threads_with_a_partial_threadgroup_at_the_edge() -> None:
    x = np.arange(1000, dtype=np.float32)
    y = np.ones(1000, np.float32)
    result = air_cpu.run(
        kernel(AXPY_PARAMS, AXPY), "k", buffers=[np.float32(2), x, y], threads=(1000,), threadgroup=(64,)
    )
    np.testing.assert_array_equal(y, 2 * x + 1)
    assert result.threads == 1000
    assert result.seconds > 0


def test_builtins_in_three_dimensions() -> None:
    """Every builtin against the definition, on an uneven grid of 5 x 4 x 3 threads in threadgroups of 2 x 3 x 2."""
    roles = [
        ("thread_position_in_grid", "<3 x i32>"),
        ("threadgroup_position_in_grid", "<3 x i32>"),
        ("thread_position_in_threadgroup", "<3 x i16>"),
        ("threads_per_threadgroup", "<3 x i32>"),
        ("dispatch_threads_per_threadgroup", "<3 x i32>"),
        ("threads_per_grid", "<3 x i32>"),
        ("threadgroups_per_grid", "<3 x i32>"),
    ]
    scalars = [
        "thread_index_in_threadgroup",
        "thread_index_in_simdgroup",
        "simdgroup_index_in_threadgroup",
        "thread_index_in_quadgroup",
        "quadgroup_index_in_threadgroup",
        "simdgroups_per_threadgroup",
        "threads_per_simdgroup",
    ]
    params: list[Buffer | Builtin] = [Buffer(0, "i32"), *(Builtin(role, kind) for role, kind in roles)]
    params += [Builtin(role) for role in scalars]
    body = ["  %x = extractelement <3 x i32> %1, i32 0", "  %y = extractelement <3 x i32> %1, i32 1"]
    body += ["  %z = extractelement <3 x i32> %1, i32 2", "  %zy = mul i32 %z, 4", "  %zy2 = add i32 %zy, %y"]
    body += ["  %row = mul i32 %zy2, 5", "  %at = add i32 %row, %x", "  %base = mul i32 %at, 28"]
    column = 0
    for position, (_, kind) in enumerate(roles, 1):
        element = kind.split()[-1].rstrip(">")
        for axis in range(3):
            body.append(f"  %e{column} = extractelement {kind} %{position}, i32 {axis}")
            wide = f"zext i16 %e{column} to i32" if element == "i16" else f"add i32 %e{column}, 0"
            body += [f"  %w{column} = {wide}"]
            column += 1
    for position in range(len(scalars)):
        body.append(f"  %w{column} = add i32 %{1 + len(roles) + position}, 0")
        column += 1
    for index in range(column):
        body += [f"  %o{index} = add i32 %base, {index}"]
        body += [f"  %p{index} = getelementptr i32, i32 addrspace(1)* %0, i32 %o{index}"]
        body += [f"  store i32 %w{index}, i32 addrspace(1)* %p{index}"]
    out = np.zeros((3, 4, 5, 28), np.int32)
    air_cpu.run(
        kernel(params, "\n".join([*body, "  ret void"])),
        "k",
        buffers=[out],
        threads=(5, 4, 3),
        threadgroup=(2, 3, 2),
    )
    for z, y, x in np.ndindex(3, 4, 5):
        group = (x // 2, y // 3, z // 2)
        local = (x % 2, y % 3, z % 2)
        extent = (min(2, 5 - group[0] * 2), min(3, 4 - group[1] * 3), min(2, 3 - group[2] * 2))
        index = (local[2] * extent[1] + local[1]) * extent[0] + local[0]
        expected = [x, y, z, *group, *local, *extent, 2, 3, 2, 5, 4, 3, 3, 2, 2]
        expected += [index, index % 32, index // 32, index % 4, index // 4, 1, 32]
        assert out[z, y, x].tolist() == expected


REVERSE = """
  %i = zext i32 %2 to i64
  %p = getelementptr i32, i32 addrspace(1)* %0, i64 %i
  %v = load i32, i32 addrspace(1)* %p
  %s = getelementptr i32, i32 addrspace(3)* %1, i64 %i
  store i32 %v, i32 addrspace(3)* %s
  call void @air.wg.barrier(i32 2, i32 1)
  %j = sub i64 255, %i
  %q = getelementptr i32, i32 addrspace(3)* %1, i64 %j
  %w = load i32, i32 addrspace(3)* %q
  store i32 %w, i32 addrspace(1)* %p
  ret void
"""
REVERSE_PARAMS = (Buffer(0, "i32"), Buffer(0, "i32", 3), LOCAL)


def test_barrier_with_threadgroup_argument() -> None:
    data = np.arange(256, dtype=np.int32)
    result = air_cpu.run(
        kernel(REVERSE_PARAMS, REVERSE, before=BARRIER),
        "k",
        buffers=[data],
        grid=(1,),
        threadgroup=(256,),
        threadgroup_memory={0: 1024},
    )
    np.testing.assert_array_equal(data, np.arange(256)[::-1])
    assert result.barriers == 1


def test_threadgroup_variable_is_read_again_after_the_barrier() -> None:
    """A compiler that takes the barrier for a plain call would forward thread 0's own store."""
    body = """
  %own = load i32, i32 addrspace(3)* @shared
  %first = icmp eq i32 %1, 0
  br i1 %first, label %set, label %wait
set:
  store i32 7, i32 addrspace(3)* @shared
  br label %wait
wait:
  call void @air.wg.barrier(i32 2, i32 1)
  %last = icmp eq i32 %1, 31
  br i1 %last, label %change, label %wait2
change:
  store i32 9, i32 addrspace(3)* @shared
  br label %wait2
wait2:
  call void @air.wg.barrier(i32 2, i32 1)
  %v = load i32, i32 addrspace(3)* @shared
  %p = getelementptr i32, i32 addrspace(1)* %0, i32 %1
  store i32 %v, i32 addrspace(1)* %p
  ret void
"""
    before = "@shared = internal unnamed_addr addrspace(3) global i32 undef, align 4\n" + BARRIER
    out = np.zeros(32, np.int32)
    air_cpu.run(
        kernel((Buffer(0, "i32"), LOCAL), body, before=before), "k", buffers=[out], grid=(1,), threadgroup=(32,)
    )
    assert set(out.tolist()) == {9}


def test_uninitialised_threadgroup_memory_is_a_nan() -> None:
    body = """
  %v = load float, float addrspace(3)* @shared
  store float %v, float addrspace(1)* %0
  ret void
"""
    before = "@shared = internal unnamed_addr addrspace(3) global float undef, align 4\n"
    out = np.zeros(1, np.float32)
    air_cpu.run(kernel((Buffer(0, "float"),), body, before=before), "k", buffers=[out], grid=(2,), threadgroup=(1,))
    assert np.isnan(out[0])


def test_simd_sum_of_a_partial_simdgroup() -> None:
    body = """
  %s = call i32 @air.simd_sum.s.i32(i32 %1)
  %p = getelementptr i32, i32 addrspace(1)* %0, i32 %1
  store i32 %s, i32 addrspace(1)* %p
  ret void
"""
    out = np.zeros(40, np.int32)
    air_cpu.run(kernel((Buffer(0, "i32"), LOCAL), body, before=SUM), "k", buffers=[out], grid=(1,), threadgroup=(40,))
    assert out.tolist() == [sum(range(32))] * 32 + [sum(range(32, 40))] * 8


def test_lanes_in_both_arms_of_a_branch_sum_apart() -> None:
    body = """
  %odd = trunc i32 %1 to i1
  br i1 %odd, label %right, label %left
right:
  %r = call i32 @air.simd_sum.s.i32(i32 100)
  br label %join
left:
  %l = call i32 @air.simd_sum.s.i32(i32 1)
  br label %join
join:
  %v = phi i32 [ %l, %left ], [ %r, %right ]
  %all = call i32 @air.simd_sum.s.i32(i32 %v)
  %p = getelementptr i32, i32 addrspace(1)* %0, i32 %1
  store i32 %v, i32 addrspace(1)* %p
  %q = getelementptr i32, i32 addrspace(1)* %p, i32 32
  store i32 %all, i32 addrspace(1)* %q
  ret void
"""
    out = np.zeros(64, np.int32)
    air_cpu.run(kernel((Buffer(0, "i32"), LOCAL), body, before=SUM), "k", buffers=[out], grid=(1,), threadgroup=(32,))
    assert out[:32].tolist() == [16, 1600] * 16
    assert set(out[32:].tolist()) == {16 * 16 + 16 * 1600}


def test_lanes_meet_again_after_loops_of_different_length() -> None:
    """The exit block comes first in the text, as in Apple's output; lanes that left must wait for the others."""
    body = """
  br label %loop
exit:
  %total = call i32 @air.simd_sum.s.i32(i32 1)
  %p = getelementptr i32, i32 addrspace(1)* %0, i32 %1
  store i32 %total, i32 addrspace(1)* %p
  %q = getelementptr i32, i32 addrspace(1)* %p, i32 32
  store i32 %acc.next, i32 addrspace(1)* %q
  ret void
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %acc = phi i32 [ 0, %entry ], [ %acc.next, %loop ]
  %active = call i32 @air.simd_sum.s.i32(i32 1)
  %acc.next = add i32 %acc, %active
  %next = add i32 %i, 1
  %more = icmp ule i32 %next, %1
  br i1 %more, label %loop, label %exit
"""
    out = np.zeros(64, np.int32)
    air_cpu.run(kernel((Buffer(0, "i32"), LOCAL), body, before=SUM), "k", buffers=[out], grid=(1,), threadgroup=(32,))
    assert set(out[:32].tolist()) == {32}
    # Iteration i is run by the lanes that are not below it.
    assert out[32:].tolist() == [sum(32 - i for i in range(lane + 1)) for lane in range(32)]


def test_a_run_is_repeatable_and_reusable() -> None:
    compiled = air_cpu.load(kernel(AXPY_PARAMS, AXPY), "k")
    for _ in range(3):
        y = np.zeros(64, np.float32)
        compiled.dispatch([np.float32(3), np.ones(64, np.float32), y], grid=(2,), threadgroup=(32,))
        assert set(y.tolist()) == {3.0}


# --- what must be reported


def test_barrier_divergence() -> None:
    body = """
  %odd = trunc i32 %0 to i1
  br i1 %odd, label %one, label %two
one:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %join
two:
  call void @air.wg.barrier(i32 0, i32 1)
  br label %join
join:
  ret void
"""
    # Two calls that LLVM may not merge, because their operands differ.
    with pytest.raises(air_cpu.BarrierDivergenceError, match="wait at different barriers") as caught:
        air_cpu.run(kernel((LOCAL,), body, before=BARRIER), "k", buffers=[], grid=(2,), threadgroup=(64,))
    assert caught.value.diagnostics[0].code == "SP5404"
    assert "barrier 2" in caught.value.diagnostics[0].cause


def test_threads_that_returned_before_a_barrier_are_counted() -> None:
    body = """
  %late = icmp ugt i32 %0, 9
  br i1 %late, label %leave, label %stay
leave:
  ret void
stay:
  call void @air.wg.barrier(i32 2, i32 1)
  ret void
"""
    result = air_cpu.run(kernel((LOCAL,), body, before=BARRIER), "k", buffers=[], grid=(3,), threadgroup=(64,))
    assert (result.barriers, result.incomplete_barriers) == (3, 3)


def test_barriers_in_a_loop_that_some_lanes_have_left() -> None:
    """MLX's gemv: the lanes that are through wait in the sum behind the loop until the others are, barriers and all."""
    body = """
  br label %loop
loop:
  %i = phi i32 [ %1, %entry ], [ %next, %loop ]
  %acc = phi i32 [ 0, %entry ], [ %more, %loop ]
  call void @air.wg.barrier(i32 2, i32 1)
  %more = add i32 %acc, 1
  %next = add i32 %i, 64
  %in = icmp slt i32 %next, 200
  br i1 %in, label %loop, label %end
end:
  %sum = call i32 @air.simd_sum.s.i32(i32 %more)
  %p = getelementptr i32, i32 addrspace(1)* %0, i32 %1
  store i32 %sum, i32 addrspace(1)* %p
  ret void
"""
    out = np.zeros(64, np.int32)
    code = kernel((Buffer(0, "i32"), LOCAL), body, before=BARRIER + SUM)
    result = air_cpu.run(code, "k", buffers=[out], grid=(1,), threadgroup=(64,))
    turns = [len(range(start, 200, 64)) for start in range(64)]
    assert out.tolist() == [sum(turns[:32])] * 32 + [sum(turns[32:])] * 32
    assert (result.barriers, result.incomplete_barriers) == (4, 1)


SPIN = """
  %first = icmp eq i32 %1, 0
  br i1 %first, label %wait, label %other
wait:
  %v = call i32 @air.atomic.global.load.i32(i32 addrspace(1)* %0, i32 0, i32 2, i1 true)
  %set = icmp ne i32 %v, 0
  br i1 %set, label %done, label %wait
other:
  %last = icmp eq i32 %1, 63
  br i1 %last, label %write, label %done
write:
  call void @air.atomic.global.store.i32(i32 addrspace(1)* %0, i32 {flag}, i32 0, i32 2, i1 true)
  br label %done
done:
  ret void
"""
ATOMICS = """
declare i32 @air.atomic.global.load.i32(i32 addrspace(1)*, i32, i32, i1)
declare void @air.atomic.global.store.i32(i32 addrspace(1)*, i32, i32, i32, i1)
"""


def test_a_thread_may_wait_for_another_one_of_its_threadgroup() -> None:
    flag = np.zeros(1, np.int32)
    code = kernel((Buffer(0, "i32"), LOCAL), SPIN.format(flag=1), before=ATOMICS)
    air_cpu.run(code, "k", buffers=[flag], grid=(1,), threadgroup=(64,))
    assert flag[0] == 1


def test_deadlock_when_nobody_sets_the_flag() -> None:
    code = kernel((Buffer(0, "i32"), LOCAL), SPIN.format(flag=0), before=ATOMICS)
    with pytest.raises(air_cpu.DeadlockError, match="spins") as caught:
        air_cpu.run(code, "k", buffers=[np.zeros(1, np.int32)], grid=(1,), threadgroup=(64,))
    assert caught.value.diagnostics[0].code == "SP5405"


def test_endless_loop_meets_the_time_limit() -> None:
    body = """
  br label %loop
loop:
  %v = load volatile i32, i32 addrspace(1)* %0
  %stop = icmp eq i32 %v, 77
  br i1 %stop, label %exit, label %loop
exit:
  ret void
"""
    with pytest.raises(air_cpu.TimeLimitError):
        air_cpu.run(
            kernel((Buffer(0, "i32"),), body),
            "k",
            buffers=[np.zeros(1, np.int32)],
            grid=(1,),
            threadgroup=(1,),
            time_limit=0.2,
        )


def test_private_stack_overflow() -> None:
    """Thread 1 uses a larger private array than its stack, shrunk for the test, can hold."""
    body = """
  %a = alloca [20000 x i32], align 4
  %first = icmp eq i32 %1, 0
  br i1 %first, label %out, label %go
go:
  br label %loop
loop:
  %i = phi i32 [ 0, %go ], [ %next, %loop ]
  %p = getelementptr [20000 x i32], [20000 x i32]* %a, i32 0, i32 %i
  store volatile i32 %i, i32* %p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 20000
  br i1 %more, label %loop, label %out
out:
  ret void
"""
    compiled = air_cpu.load(kernel((Buffer(0, "i32"), LOCAL), body), "k")
    compiled.dispatch([np.zeros(1, np.int32)], grid=(1,), threadgroup=(2,))
    compiled.stack_bytes = 65536
    with pytest.raises(air_cpu.StackOverflowError):
        compiled.dispatch([np.zeros(1, np.int32)], grid=(1,), threadgroup=(2,))


def test_more_threads_than_the_kernel_allows() -> None:
    code = kernel((LOCAL,), "  ret void", attributes='!"air.max_work_group_size", i32 64')
    with pytest.raises(air_cpu.DispatchError, match="allows 64"):
        air_cpu.run(code, "k", buffers=[], grid=(1,), threadgroup=(65,))
    air_cpu.run(code, "k", buffers=[], grid=(1,), threadgroup=(64,))


def test_functions_without_a_model_are_named() -> None:
    body = """
  %v = call i32 @air.foo.bar.i32(i32 1)
  ret void
"""
    with pytest.raises(air_cpu.NotModelledError, match=r"air\.foo\.bar\.i32 is not modelled") as caught:
        air_cpu.load(kernel((LOCAL,), body, before="declare i32 @air.foo.bar.i32(i32)\n"), "k")
    assert caught.value.names == ("air.foo.bar.i32",)
