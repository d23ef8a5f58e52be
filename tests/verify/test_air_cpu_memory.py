"""Bounds checks, buffer passing, function constants and argument buffers of the CPU engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shaderc_tool.verify import air_cpu
from tests.verify.air_call import from_bfloat, to_bfloat
from tests.verify.air_text import Buffer, Builtin, assemble, kernel, module_text

GRID = Builtin("thread_position_in_grid")
COPY = """
  %p = getelementptr i32, i32 addrspace(1)* %0, i32 %2
  %v = load i32, i32 addrspace(1)* %p
  %q = getelementptr i32, i32 addrspace(1)* %1, i32 %2
  store i32 %v, i32 addrspace(1)* %q
  ret void
"""
COPY_PARAMS = (Buffer(0, "i32", name="src"), Buffer(3, "i32", name="dst"), GRID)


def _copy(source: Any, target: Any, threads: int) -> None:
    air_cpu.run(kernel(COPY_PARAMS, COPY), "k", buffers={0: source, 3: target}, threads=(threads,), threadgroup=(16,))


@pytest.mark.parametrize(("held", "wanted"), [(99, 100), (0, 1), (15, 33)])
def test_short_buffer_is_caught_at_the_first_element_outside(held: int, wanted: int) -> None:
    source, target = np.arange(wanted, dtype=np.int32), np.zeros(held, np.int32)
    with pytest.raises(air_cpu.OutOfBoundsError) as caught:
        _copy(source, target, wanted)
    finding = caught.value.diagnostics[0]
    thread, group = held % 16, held // 16
    assert finding.code == "SP5403"
    assert (
        f"thread ({thread}, 0, 0) of threadgroup ({group}, 0, 0) writes 4 bytes at byte {4 * held}" in finding.message
    )
    assert "buffer 3 (dst)" in finding.message
    assert finding.cause == f"it holds {4 * held} bytes"
    np.testing.assert_array_equal(target, source[:held])


def test_a_buffer_that_was_not_passed() -> None:
    with pytest.raises(air_cpu.OutOfBoundsError, match=r"reads buffer 0 \(src\), which was not passed"):
        _copy(None, np.zeros(4, np.int32), 4)


def test_a_buffer_that_the_kernel_does_not_have() -> None:
    with pytest.raises(air_cpu.DispatchError, match="no buffer 1") as caught:
        air_cpu.run(kernel(COPY_PARAMS, COPY), "k", buffers=[None, np.zeros(1)], threads=(1,), threadgroup=(1,))
    assert "0, 3" in caught.value.diagnostics[0].cause


def test_underflow() -> None:
    body = """
  %p = getelementptr i32, i32 addrspace(1)* %0, i64 -1
  store i32 1, i32 addrspace(1)* %p
  ret void
"""
    with pytest.raises(air_cpu.OutOfBoundsError, match="at byte -4 of buffer 0"):
        air_cpu.run(
            kernel((Buffer(0, "i32"),), body), "k", buffers=[np.zeros(4, np.int32)], grid=(1,), threadgroup=(1,)
        )


def test_pointer_that_may_be_in_either_buffer() -> None:
    """A join of two buffers has no single extent: any declared range will do, and no other."""
    body = """
  %odd = trunc i32 %2 to i1
  br i1 %odd, label %one, label %zero
one:
  br label %join
zero:
  br label %join
join:
  %base = phi i32 addrspace(1)* [ %0, %zero ], [ %1, %one ]
  %p = getelementptr i32, i32 addrspace(1)* %base, i32 %2
  %v = load volatile i32, i32 addrspace(1)* %p
  store volatile i32 -1, i32 addrspace(1)* %p
  ret void
"""
    code = kernel((Buffer(0, "i32"), Buffer(1, "i32"), GRID), body)
    a, b = np.zeros(10, np.int32), np.zeros(10, np.int32)
    air_cpu.run(code, "k", buffers=[a, b], threads=(10,), threadgroup=(10,))
    assert (a.tolist(), b.tolist()) == ([-1, 0] * 5, [0, -1] * 5)
    with pytest.raises(air_cpu.OutOfBoundsError, match="from buffer"):
        air_cpu.run(code, "k", buffers=[a, np.zeros(4, np.int32)], threads=(6,), threadgroup=(6,))


@pytest.mark.parametrize("index", [7, 8, -1])
def test_private_array(index: int) -> None:
    body = """
  %a = alloca [8 x i32], align 4
  %i = load volatile i32, i32 addrspace(1)* %0
  %p = getelementptr [8 x i32], [8 x i32]* %a, i32 0, i32 %i
  store volatile i32 5, i32* %p
  %v = load volatile i32, i32* %p
  store i32 %v, i32 addrspace(1)* %0
  ret void
"""
    cell = np.array([index], np.int32)

    def run() -> None:
        code = kernel((Buffer(0, "i32"),), body)
        air_cpu.run(code, "k", buffers=[cell], grid=(1,), threadgroup=(1,))

    if 0 <= index < 8:
        run()
        assert cell[0] == 5
    else:
        with pytest.raises(air_cpu.OutOfBoundsError, match="writes 4 bytes outside of a private array"):
            run()


def test_threadgroup_variable_and_constant_table() -> None:
    before = """
@shared = internal unnamed_addr addrspace(3) global [4 x i32] undef, align 4
@table = internal unnamed_addr addrspace(2) constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 4
"""
    body = """
  %i = load i32, i32 addrspace(1)* %0
  %t = getelementptr [4 x i32], [4 x i32] addrspace(2)* @table, i32 0, i32 %i
  %v = load i32, i32 addrspace(2)* %t
  %s = getelementptr [4 x i32], [4 x i32] addrspace(3)* @shared, i32 0, i32 %i
  store volatile i32 %v, i32 addrspace(3)* %s
  %w = load volatile i32, i32 addrspace(3)* %s
  store i32 %w, i32 addrspace(1)* %0
  ret void
"""
    code = kernel((Buffer(0, "i32"),), body, before=before)
    cell = np.array([2], np.int32)
    air_cpu.run(code, "k", buffers=[cell], grid=(1,), threadgroup=(1,))
    assert cell[0] == 30
    with pytest.raises(air_cpu.OutOfBoundsError, match="constant table"):
        air_cpu.run(code, "k", buffers=[np.array([4], np.int32)], grid=(1,), threadgroup=(1,))


def test_pointer_handed_to_a_function_that_cannot_be_inlined() -> None:
    before = """
define internal void @fill(i32 addrspace(1)* %0, i32 %1) {
  store i32 %1, i32 addrspace(1)* %0
  %next = getelementptr i32, i32 addrspace(1)* %0, i64 1
  %left = sub i32 %1, 1
  %done = icmp eq i32 %left, 0
  br i1 %done, label %end, label %more
more:
  call void @fill(i32 addrspace(1)* %next, i32 %left)
  call void @fill(i32 addrspace(1)* %next, i32 %left)
  br label %end
end:
  ret void
}
"""
    body = """
  call void @fill(i32 addrspace(1)* %0, i32 5)
  ret void
"""
    code = kernel((Buffer(0, "i32"),), body, before=before)
    out = np.zeros(5, np.int32)
    air_cpu.run(code, "k", buffers=[out], grid=(1,), threadgroup=(1,))
    assert out.tolist() == [5, 4, 3, 2, 1]
    with pytest.raises(air_cpu.OutOfBoundsError, match="buffer 0"):
        air_cpu.run(code, "k", buffers=[np.zeros(4, np.int32)], grid=(1,), threadgroup=(1,))


def test_memcpy_is_checked_at_its_length() -> None:
    body = """
  %n = load i64, i64 addrspace(1)* %2
  call void @llvm.memcpy.p1i8.p1i8.i64(i8 addrspace(1)* %0, i8 addrspace(1)* %1, i64 %n, i1 false)
  ret void
"""
    before = "declare void @llvm.memcpy.p1i8.p1i8.i64(i8 addrspace(1)*, i8 addrspace(1)*, i64, i1)\n"
    code = kernel((Buffer(0, "i8"), Buffer(1, "i8"), Buffer(2, "i64")), body, before=before)
    source, target = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    air_cpu.run(code, "k", buffers=[target, source, np.int64(64)], grid=(1,), threadgroup=(1,))
    np.testing.assert_array_equal(target, source)
    with pytest.raises(air_cpu.OutOfBoundsError, match="copies 65 bytes"):
        air_cpu.run(code, "k", buffers=[target, source, np.int64(65)], grid=(1,), threadgroup=(1,))


def test_reference_argument_needs_its_whole_type() -> None:
    code = kernel((Buffer(0, "i64", 2, reference=8, name="params"),), "  ret void")
    with pytest.raises(air_cpu.DispatchError, match="params"):
        air_cpu.run(code, "k", buffers=[np.int32(1)], grid=(1,), threadgroup=(1,))


def test_threadgroup_memory_must_be_given() -> None:
    body = """
  store i32 1, i32 addrspace(3)* %0
  ret void
"""
    code = kernel((Buffer(2, "i32", 3),), body)
    with pytest.raises(air_cpu.DispatchError, match=r"threadgroup\(2\)"):
        air_cpu.run(code, "k", buffers=[], grid=(1,), threadgroup=(1,))
    with pytest.raises(air_cpu.OutOfBoundsError, match="threadgroup memory 2"):
        air_cpu.run(code, "k", buffers=[], grid=(1,), threadgroup=(1,), threadgroup_memory={2: 3})


# --- how arrays are passed


def test_strided_and_read_only_arrays() -> None:
    source: NDArray[np.int32] = np.arange(40, dtype=np.int32)
    source.flags.writeable = False
    target = np.zeros(80, np.int32)
    _copy(source[::2], target[1::4], 20)
    np.testing.assert_array_equal(target[1::4], np.arange(0, 40, 2))
    assert target[::4].sum() == 0


def test_one_array_for_two_arguments_is_one_memory() -> None:
    data = np.arange(16, dtype=np.int32)
    body = COPY.replace(
        "getelementptr i32, i32 addrspace(1)* %1, i32 %2", "getelementptr i32, i32 addrspace(1)* %1, i32 0"
    )
    air_cpu.run(kernel(COPY_PARAMS, body), "k", buffers={0: data, 3: data}, threads=(16,), threadgroup=(16,))
    assert data[0] == 15


def test_overlapping_views_that_would_be_copied_are_refused() -> None:
    data = np.zeros(64, np.int32)
    with pytest.raises(air_cpu.DispatchError, match="share memory"):
        _copy(data[0:16], data[1:17], 4)


@pytest.mark.parametrize(("grid", "threads"), [(None, None), ((1,), (1,))])
def test_either_grid_or_threads(grid: Any, threads: Any) -> None:
    with pytest.raises(air_cpu.DispatchError, match="either grid"):
        air_cpu.run(kernel((), "  ret void"), "k", buffers=[], grid=grid, threads=threads, threadgroup=(1,))


def test_unknown_kernel() -> None:
    with pytest.raises(air_cpu.DispatchError, match="no kernel 'other'") as caught:
        air_cpu.load(kernel((), "  ret void"), "other")
    assert "it has: k" in caught.value.diagnostics[0].cause


# --- function constants and argument buffers

CONSTANTS_BEFORE = """
@scale = internal unnamed_addr addrspace(2) global float undef, align 4
@flag = internal unnamed_addr addrspace(2) global i8 undef, align 1
@_Z5scale.MTL_FC_INIT_0_f = internal addrspace(2) externally_initialized constant float undef, section "air.fc_initializer"
@_Z4flag.MTL_FC_INIT_7_b = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc_initializer"
@llvm.global_ctors = appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 65535, void ()* @init, i8* null }]
declare i1 @air.is_function_constant_defined(i8 addrspace(2)*)
define internal void @init() section "air.static_init" {
  %s = load float, float addrspace(2)* @_Z5scale.MTL_FC_INIT_0_f, align 4
  store float %s, float addrspace(2)* @scale, align 4
  %d = tail call i1 @air.is_function_constant_defined(i8 addrspace(2)* nocapture @_Z4flag.MTL_FC_INIT_7_b)
  %v = load i8, i8 addrspace(2)* @_Z4flag.MTL_FC_INIT_7_b, align 1
  %f = select i1 %d, i8 %v, i8 9
  store i8 %f, i8 addrspace(2)* @flag, align 1
  ret void
}
"""  # noqa: E501
CONSTANTS_BODY = """
  %s = load float, float addrspace(2)* @scale, align 4
  store float %s, float addrspace(1)* %0
  %f = load i8, i8 addrspace(2)* @flag, align 1
  %w = uitofp i8 %f to float
  %p = getelementptr float, float addrspace(1)* %0, i32 1
  store float %w, float addrspace(1)* %p
  ret void
"""
CONSTANTS_NODES = """
!20 = !{float addrspace(2)* @_Z5scale.MTL_FC_INIT_0_f, !"float", !"scale", i32 0, i1 true}
!21 = !{i8 addrspace(2)* @_Z4flag.MTL_FC_INIT_7_b, !"bool", !"flag", i32 7, i1 true}
"""


def _constants_kernel() -> bytes:
    return kernel(
        (Buffer(0, "float"),),
        CONSTANTS_BODY,
        before=CONSTANTS_BEFORE,
        named="!air.function_constants = !{!20, !21}",
        nodes=CONSTANTS_NODES,
    )


@pytest.mark.parametrize(
    ("constants", "expected"),
    [({0: 2.5, 7: True}, [2.5, 1]), ({"scale": 0.1, "flag": False}, [np.float32(0.1), 0]), ({0: -1}, [-1, 9])],
)
def test_function_constants_by_index_and_name(constants: dict[int | str, Any], expected: list[float]) -> None:
    out = np.zeros(2, np.float32)
    air_cpu.run(_constants_kernel(), "k", buffers=[out], grid=(1,), threadgroup=(1,), constants=constants)
    assert out.tolist() == expected


def test_function_constant_without_a_value() -> None:
    with pytest.raises(air_cpu.DispatchError, match=r"scale \(float, index 0\)"):
        air_cpu.load(_constants_kernel(), "k", constants={7: True})


def test_argument_buffer() -> None:
    text = module_text(
        (Buffer(0, "%struct.Args", 1), Buffer(1, "i32"), GRID),
        """
  %ap = getelementptr %struct.Args, %struct.Args addrspace(1)* %0, i32 0, i32 0
  %a = load i32 addrspace(1)*, i32 addrspace(1)* addrspace(1)* %ap
  %np = getelementptr %struct.Args, %struct.Args addrspace(1)* %0, i32 0, i32 1
  %n = load i32, i32 addrspace(1)* %np
  %p = getelementptr i32, i32 addrspace(1)* %a, i32 %2
  %v = load i32, i32 addrspace(1)* %p
  %w = mul i32 %v, %n
  %q = getelementptr i32, i32 addrspace(1)* %1, i32 %2
  store i32 %w, i32 addrspace(1)* %q
  ret void
""",
        before="%struct.Args = type { i32 addrspace(1)*, i32 }\n",
        nodes="""
!30 = !{i32 0, i32 8, i32 0, !"int", !"a", !"air.indirect_argument", !31, i32 8, i32 4, i32 0, !"int", !"n", !"air.indirect_argument", !32}
!31 = !{i32 0, !"air.buffer", !"air.location_index", i32 4, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"int", !"air.arg_name", !"a"}
!32 = !{i32 1, !"air.indirect_constant", !"air.location_index", i32 5, i32 1, !"air.arg_type_name", !"int", !"air.arg_name", !"n"}
""",  # noqa: E501
    )
    text = text.replace(
        '!{i32 0, !"air.buffer", !"air.location_index", i32 0',
        '!{i32 0, !"air.indirect_buffer", !"air.struct_type_info", !30, !"air.buffer_size", i32 16, '
        '!"air.location_index", i32 0',
    )
    code = assemble(text)
    out = np.zeros(4, np.int32)
    values = np.arange(4, dtype=np.int32)
    air_cpu.run(code, "k", buffers=[{4: values, 5: np.int32(3)}, out], threads=(4,), threadgroup=(4,))
    assert out.tolist() == [0, 3, 6, 9]
    with pytest.raises(air_cpu.OutOfBoundsError):
        air_cpu.run(code, "k", buffers=[{4: values[:3], 5: np.int32(3)}, out], threads=(4,), threadgroup=(4,))


# --- bfloat arithmetic, which LLVM 15 cannot do itself


def test_bfloat_arithmetic() -> None:
    body = """
  %p = getelementptr bfloat, bfloat addrspace(1)* %0, i32 %2
  %x = load bfloat, bfloat addrspace(1)* %p
  %two = fadd bfloat %x, %x
  %m = fmul bfloat %two, 0xR3F9E
  %less = fcmp olt bfloat %m, 0xR0000
  %n = fneg bfloat %m
  %abs = select i1 %less, bfloat %n, bfloat %m
  %wide = fpext bfloat %abs to float
  %more = fadd float %wide, 1.0
  %r = fptrunc float %more to bfloat
  %q = getelementptr bfloat, bfloat addrspace(1)* %1, i32 %2
  store bfloat %r, bfloat addrspace(1)* %q
  ret void
"""
    x = to_bfloat(np.linspace(-8, 8, 97, dtype=np.float32))
    out = np.zeros(97, np.uint16)
    params = (Buffer(0, "bfloat"), Buffer(1, "bfloat"), GRID)
    air_cpu.run(kernel(params, body), "k", buffers=[x, out], threads=(97,), threadgroup=(32,))
    factor = from_bfloat(np.array([0x3F9E], np.uint16))
    doubled = from_bfloat(to_bfloat(2 * from_bfloat(x)))
    product = np.abs(from_bfloat(to_bfloat(doubled * factor)))
    np.testing.assert_array_equal(out, to_bfloat(product + np.float32(1)))


def test_bfloat_vectors_conversions_and_fused_operations() -> None:
    body = """
  %p = getelementptr <4 x bfloat>, <4 x bfloat> addrspace(1)* %0, i32 %3
  %x = load <4 x bfloat>, <4 x bfloat> addrspace(1)* %p, align 8
  %sum = fadd fast <4 x bfloat> %x, <bfloat 0xR3F80, bfloat 0xR4000, bfloat 0xR4040, bfloat 0xR4080>
  %fused = call fast <4 x bfloat> @llvm.fmuladd.v4bf16(<4 x bfloat> %sum, <4 x bfloat> %x, <4 x bfloat> %x)
  %less = fcmp fast olt <4 x bfloat> %fused, zeroinitializer
  %minus = fneg <4 x bfloat> %fused
  %abs = select <4 x i1> %less, <4 x bfloat> %minus, <4 x bfloat> %fused
  %q = getelementptr <4 x bfloat>, <4 x bfloat> addrspace(1)* %1, i32 %3
  store <4 x bfloat> %abs, <4 x bfloat> addrspace(1)* %q, align 8
  %first = extractelement <4 x bfloat> %abs, i32 0
  %whole = fptosi bfloat %first to i32
  %back = sitofp i32 %whole to bfloat
  %short = trunc i32 %whole to i16
  %also = uitofp i16 %short to bfloat
  %ratio = fdiv fast bfloat %back, %also
  %bits = bitcast bfloat %ratio to i16
  %r = zext i16 %bits to i32
  %mixed = shl i32 %whole, 16
  %out = or i32 %mixed, %r
  %s = getelementptr i32, i32 addrspace(1)* %2, i32 %3
  store i32 %out, i32 addrspace(1)* %s
  ret void
"""
    before = "declare <4 x bfloat> @llvm.fmuladd.v4bf16(<4 x bfloat>, <4 x bfloat>, <4 x bfloat>)\n"
    x = to_bfloat(np.linspace(-9, 11, 80, dtype=np.float32)).reshape(20, 4)
    out, whole = np.zeros((20, 4), np.uint16), np.zeros(20, np.uint32)
    params = (Buffer(0, "<4 x bfloat>"), Buffer(1, "<4 x bfloat>"), Buffer(2, "i32"), GRID)
    air_cpu.run(kernel(params, body, before=before), "k", buffers=[x, out, whole], threads=(20,), threadgroup=(32,))
    wide = from_bfloat(x)
    total = from_bfloat(to_bfloat(wide + np.array([1, 2, 3, 4], np.float32)))
    expected = np.abs(from_bfloat(to_bfloat(total * wide + wide)))
    np.testing.assert_array_equal(from_bfloat(out), expected)
    truncated = np.trunc(expected[:, 0]).astype(np.uint32)
    np.testing.assert_array_equal(whole >> 16, truncated)
    assert set((whole & 0xFFFF)[truncated > 0].tolist()) == {0x3F80}
