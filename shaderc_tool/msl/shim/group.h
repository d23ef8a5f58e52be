// Barriers and the simdgroup matrix classes, over the generated intrinsics.

namespace metal {

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16
};
__shim constexpr mem_flags operator|(mem_flags a, mem_flags b) { return (mem_flags)((uint)a | (uint)b); }
__shim constexpr mem_flags operator&(mem_flags a, mem_flags b) { return (mem_flags)((uint)a & (uint)b); }

enum thread_scope {
  thread_scope_thread = 0,
  thread_scope_threadgroup = 1,
  thread_scope_device = 2,
  thread_scope_simdgroup = 4
};

void __wg_barrier(uint, int) __asm("air.wg.barrier");
void __simd_barrier(uint, int) __asm("air.simdgroup.barrier");
__shim void threadgroup_barrier(mem_flags flags) { __wg_barrier((uint)flags, 1); }
__shim void simdgroup_barrier(mem_flags flags) { __simd_barrier((uint)flags, 4); }

template <typename T> struct __m64;
template <> struct __m64<float> { typedef __m64_f32 type; };
template <> struct __m64<half> { typedef __m64_f16 type; };
template <> struct __m64<bfloat> { typedef __m64_bf16 type; };

// what the intrinsics take for an element or a pointer to one: bfloat goes by its bits
__shim float __raw(float x) { return x; }
__shim half __raw(half x) { return x; }
__shim ushort __raw(bfloat x) { return x.__b; }
template <typename T> __shim const __global T* __raw(const __global T* p) { return p; }
template <typename T> __shim const __local T* __raw(const __local T* p) { return p; }
template <typename T> __shim __global T* __raw(__global T* p) { return p; }
template <typename T> __shim __local T* __raw(__local T* p) { return p; }
__shim const __global ushort* __raw(const __global bfloat* p) { return (const __global ushort*)p; }
__shim const __local ushort* __raw(const __local bfloat* p) { return (const __local ushort*)p; }
__shim __global ushort* __raw(__global bfloat* p) { return (__global ushort*)p; }
__shim __local ushort* __raw(__local bfloat* p) { return (__local ushort*)p; }

template <typename T, int C, int R> struct simdgroup_matrix {
  static_assert(C == 8 && R == 8, "MSL: a simdgroup_matrix is 8x8");
  typename __m64<T>::type __m;
  simdgroup_matrix() = default;
  explicit __shim simdgroup_matrix(T diagonal) : __m(__m_diag(__raw(diagonal))) {}
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <typename T, int C, int R = C> __shim simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T v) {
  simdgroup_matrix<T, C, R> out;
  out.__m = __m_fill(__raw(v));
  return out;
}
template <typename T, int C, int R = C> __shim simdgroup_matrix<T, C, R> make_diagonal_simdgroup_matrix(T v) {
  return simdgroup_matrix<T, C, R>(v);
}

template <typename T, int C, int R>
__shim void simdgroup_load(__private simdgroup_matrix<T, C, R>& d, const __global T* p, ulong stride = C,
                           ulong2 origin = (ulong2)(0ul), bool transpose = false) {
  d.__m = __m_load(__raw(p), stride, origin, transpose);
}
template <typename T, int C, int R>
__shim void simdgroup_load(__private simdgroup_matrix<T, C, R>& d, const __local T* p, ulong stride = C,
                           ulong2 origin = (ulong2)(0ul), bool transpose = false) {
  d.__m = __m_load(__raw(p), stride, origin, transpose);
}
template <typename T, int C, int R>
__shim void simdgroup_store(const simdgroup_matrix<T, C, R> s, __global T* p, ulong stride = C,
                            ulong2 origin = (ulong2)(0ul), bool transpose = false) {
  __m_store(s.__m, __raw(p), stride, origin, transpose);
}
template <typename T, int C, int R>
__shim void simdgroup_store(const simdgroup_matrix<T, C, R> s, __local T* p, ulong stride = C,
                            ulong2 origin = (ulong2)(0ul), bool transpose = false) {
  __m_store(s.__m, __raw(p), stride, origin, transpose);
}
template <typename A, typename B, typename X>
__shim void __mac(__private float& kind, __private simdgroup_matrix<float, 8, 8>& d, A a, B b, X c) {
  d.__m = __m_mac_f32(a.__m, b.__m, c.__m);
}
template <typename A, typename B, typename X>
__shim void __mac(__private half& kind, __private simdgroup_matrix<half, 8, 8>& d, A a, B b, X c) {
  d.__m = __m_mac_f16(a.__m, b.__m, c.__m);
}
template <typename A, typename B, typename X>
__shim void __mac(__private bfloat& kind, __private simdgroup_matrix<bfloat, 8, 8>& d, A a, B b, X c) {
  d.__m = __m_mac_bf16(a.__m, b.__m, c.__m);
}
template <typename D, typename A, typename B, typename X>
__shim void simdgroup_multiply_accumulate(__private simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                                          simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<X, 8, 8> c) {
  D kind;
  __mac(kind, d, a, b, c);
}
template <typename D, typename A, typename B>
__shim void simdgroup_multiply(__private simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                               simdgroup_matrix<B, 8, 8> b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>((D)0));
}
template <typename A, typename B>
__shim simdgroup_matrix<A, 8, 8> operator*(simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  simdgroup_matrix<A, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}

}  // namespace metal
