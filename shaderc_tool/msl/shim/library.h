// Functions that are written in terms of others: relational, geometric, integer, and the parts of the mathematical
// library for which AIR has no intrinsic of its own.

namespace metal {

template <typename T, int N> __shim bool any(vec<T, N> v) {
  T bits = v[0];
  for (int i = 1; i < N; ++i) bits |= v[i];
  return bits != 0;
}
template <typename T, int N> __shim bool all(vec<T, N> v) {
  bool every = v[0] != 0;
  for (int i = 1; i < N; ++i) every = every && v[i] != 0;
  return every;
}
__shim bool any(bool b) { return b; }
__shim bool all(bool b) { return b; }

template <typename T, typename = enable_if_t<is_scalar_v<T>>> __shim T select(T a, T b, bool c) { return c ? b : a; }
template <typename T, typename U, int N> __shim vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<U, N> c) {
  vec<T, N> out;
  for (int i = 0; i < N; ++i) out[i] = c[i] ? b[i] : a[i];
  return out;
}
template <typename T, int N> __shim vec<T, N> select(vec<T, N> a, vec<T, N> b, bool c) { return c ? b : a; }

template <typename F> struct __float_bits;
template <> struct __float_bits<float> {
  typedef uint type;
  enum : uint { magnitude = 0x7fffffffu, infinity = 0x7f800000u, smallest = 0x00800000u };
};
template <> struct __float_bits<half> {
  typedef ushort type;
  enum : ushort { magnitude = 0x7fff, infinity = 0x7c00, smallest = 0x0400 };
};
template <typename F> __shim typename __float_bits<F>::type __magnitude(F x) {
  typedef typename __float_bits<F>::type B;
  return (B)(__builtin_astype(x, B) & (B)__float_bits<F>::magnitude);
}
// on the bits, since fast math lets a compiler assume that there are none of these
__shim bool isnan(float x) { return __magnitude(x) > __float_bits<float>::infinity; }
__shim bool isnan(half x) { return __magnitude(x) > __float_bits<half>::infinity; }
__shim bool isinf(float x) { return __magnitude(x) == __float_bits<float>::infinity; }
__shim bool isinf(half x) { return __magnitude(x) == __float_bits<half>::infinity; }
__shim bool isfinite(float x) { return __magnitude(x) < __float_bits<float>::infinity; }
__shim bool isfinite(half x) { return __magnitude(x) < __float_bits<half>::infinity; }
__shim bool isnormal(float x) { return isfinite(x) && __magnitude(x) >= __float_bits<float>::smallest; }
__shim bool isnormal(half x) { return isfinite(x) && __magnitude(x) >= __float_bits<half>::smallest; }
__shim bool signbit(float x) { return __builtin_astype(x, int) < 0; }
__shim bool signbit(half x) { return __builtin_astype(x, short) < 0; }
template <typename T, typename = enable_if_t<is_floating_point_v<T>>> __shim bool isordered(T a, T b) {
  return !isnan(a) && !isnan(b);
}
template <typename T, typename = enable_if_t<is_floating_point_v<T>>> __shim bool isunordered(T a, T b) {
  return isnan(a) || isnan(b);
}

__shim float __copy_sign(float x, float y) {
  return __builtin_astype((__builtin_astype(x, uint) & 0x7fffffffu) | (__builtin_astype(y, uint) & 0x80000000u), float);
}
__shim half __copy_sign(half x, half y) {
  return __builtin_astype(
      (ushort)((__builtin_astype(x, ushort) & 0x7fff) | (__builtin_astype(y, ushort) & 0x8000)), half);
}
__shim float copysign(float x, float y) { return __copy_sign(x, y); }
__shim half copysign(half x, half y) { return __copy_sign(x, y); }
template <typename T, int N> __shim vec<T, N> copysign(vec<T, N> x, vec<T, N> y) {
  for (int i = 0; i < N; ++i) x[i] = __copy_sign(x[i], y[i]);
  return x;
}

__shim float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : isnan(x) ? 0.0f : x; }
__shim half sign(half x) { return x > 0.0h ? 1.0h : x < 0.0h ? -1.0h : isnan(x) ? 0.0h : x; }
template <typename T, int N> __shim vec<T, N> sign(vec<T, N> x) {
  for (int i = 0; i < N; ++i) x[i] = sign(x[i]);
  return x;
}

__shim float mix(float a, float b, float t) { return a + (b - a) * t; }
__shim half mix(half a, half b, half t) { return a + (b - a) * t; }
template <typename T, int N> __shim vec<T, N> mix(vec<T, N> a, vec<T, N> b, vec<T, N> t) { return a + (b - a) * t; }
template <typename T, int N> __shim vec<T, N> mix(vec<T, N> a, vec<T, N> b, T t) { return a + (b - a) * t; }
__shim float step(float edge, float x) { return x < edge ? 0.0f : 1.0f; }
__shim half step(half edge, half x) { return x < edge ? 0.0h : 1.0h; }
template <typename T, int N> __shim vec<T, N> step(vec<T, N> edge, vec<T, N> x) {
  for (int i = 0; i < N; ++i) x[i] = step(edge[i], x[i]);
  return x;
}
__shim float smoothstep(float a, float b, float x) {
  float t = saturate((x - a) / (b - a));
  return t * t * (3.0f - 2.0f * t);
}
__shim half smoothstep(half a, half b, half x) {
  half t = saturate((x - a) / (b - a));
  return t * t * (3.0h - 2.0h * t);
}
template <typename T, int N> __shim vec<T, N> smoothstep(vec<T, N> a, vec<T, N> b, vec<T, N> x) {
  for (int i = 0; i < N; ++i) x[i] = smoothstep(a[i], b[i], x[i]);
  return x;
}
template <typename T> __shim T powr(T x, T y) { return pow(x, y); }
__shim float fdim(float x, float y) { return x > y ? x - y : 0.0f; }
__shim half fdim(half x, half y) { return x > y ? x - y : 0.0h; }
template <typename T> __shim T degrees(T x) { return x * (make_scalar_t<T>)57.2957795130823208768; }
template <typename T> __shim T radians(T x) { return x * (make_scalar_t<T>)0.01745329251994329577; }
template <typename T> __shim T sinpi(T x) { return sin(x * (make_scalar_t<T>)3.14159265358979323846); }
template <typename T> __shim T cospi(T x) { return cos(x * (make_scalar_t<T>)3.14159265358979323846); }
template <typename T> __shim T tanpi(T x) { return tan(x * (make_scalar_t<T>)3.14159265358979323846); }
template <typename T> __shim T sincos(T x, __private T& c) {
  c = cos(x);
  return sin(x);
}
template <typename T> __shim T modf(T x, __private T& whole) {
  whole = trunc(x);
  return x - whole;
}
__shim int ilogb(float x) { return (int)(__magnitude(x) >> 23) - 127; }
__shim float frexp(float x, __private int& e) {
  uint bits = __builtin_astype(x, uint);
  if (x == 0.0f || !isfinite(x)) {
    e = 0;
    return x;
  }
  int shift = 0;
  if ((bits & 0x7f800000u) == 0) {
    bits = __builtin_astype(x * 16777216.0f, uint);
    shift = 24;
  }
  e = (int)((bits >> 23) & 255u) - 126 - shift;
  return __builtin_astype((bits & 0x807fffffu) | 0x3f000000u, float);
}
__shim half frexp(half x, __private int& e) { return (half)frexp((float)x, e); }
__shim float nextafter(float x, float y) {
  if (isnan(x) || isnan(y)) return x + y;
  if (x == y) return y;
  if (x == 0.0f) return __builtin_astype((__builtin_astype(y, uint) & 0x80000000u) | 1u, float);
  uint bits = __builtin_astype(x, uint);
  return __builtin_astype((x < y) == (x > 0.0f) ? bits + 1u : bits - 1u, float);
}

template <typename T, int N> __shim T length_squared(vec<T, N> v) { return dot(v, v); }
template <typename T, int N> __shim T length(vec<T, N> v) { return sqrt(dot(v, v)); }
__shim float length(float v) { return fabs(v); }
template <typename T, int N> __shim T distance(vec<T, N> a, vec<T, N> b) { return length(a - b); }
template <typename T, int N> __shim T distance_squared(vec<T, N> a, vec<T, N> b) { return dot(a - b, a - b); }
template <typename T, int N> __shim vec<T, N> normalize(vec<T, N> v) { return v * rsqrt(dot(v, v)); }
template <typename T> __shim vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) { return a.yzx * b.zxy - a.zxy * b.yzx; }
template <typename T, int N> __shim vec<T, N> reflect(vec<T, N> i, vec<T, N> n) { return i - n * (dot(n, i) * (T)2); }
template <typename T, int N> __shim vec<T, N> refract(vec<T, N> i, vec<T, N> n, T eta) {
  T d = dot(n, i);
  T k = (T)1 - eta * eta * ((T)1 - d * d);
  return k < (T)0 ? (vec<T, N>)(T)0 : i * eta - n * (eta * d + sqrt(k));
}
template <typename T, int N> __shim vec<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> r) {
  return dot(r, i) < (T)0 ? n : -n;
}

template <typename T> __shim T __median(T a, T b, T c) { return max(min(a, b), min(max(a, b), c)); }
template <typename T> __shim T median3(T a, T b, T c) { return __median(a, b, c); }
template <typename T> __shim T max3(T a, T b, T c) { return max(max(a, b), c); }
template <typename T> __shim T min3(T a, T b, T c) { return min(min(a, b), c); }

template <typename T, typename = enable_if_t<is_integral_v<T>>> __shim T absdiff(T a, T b) {
  return a > b ? a - b : b - a;
}
template <typename T, typename = enable_if_t<is_integral_v<T>>> __shim T hadd(T a, T b) {
  return (a >> 1) + (b >> 1) + (a & b & (T)1);
}
template <typename T, typename = enable_if_t<is_integral_v<T>>> __shim T rhadd(T a, T b) {
  return (a >> 1) + (b >> 1) + ((a | b) & (T)1);
}
template <typename T, typename = enable_if_t<is_integral_v<T> && is_scalar_v<T>>> __shim T rotate(T v, T n) {
  typedef make_unsigned_t<T> U;
  const U bits = (U)(sizeof(T) * 8 - 1);
  return (T)(((U)v << ((U)n & bits)) | ((U)v >> ((U)(-n) & bits)));
}
template <typename T, typename = enable_if_t<is_integral_v<T> && is_scalar_v<T>>> __shim T addsat(T a, T b) {
  return __builtin_elementwise_add_sat(a, b);
}
template <typename T, typename = enable_if_t<is_integral_v<T> && is_scalar_v<T>>> __shim T subsat(T a, T b) {
  return __builtin_elementwise_sub_sat(a, b);
}
__shim int mulhi(int a, int b) { return (int)(((long)a * b) >> 32); }
__shim uint mulhi(uint a, uint b) { return (uint)(((ulong)a * b) >> 32); }
__shim int madhi(int a, int b, int c) { return mulhi(a, b) + c; }
__shim uint madhi(uint a, uint b, uint c) { return mulhi(a, b) + c; }
__shim int mad24(int a, int b, int c) { return a * b + c; }
__shim uint mad24(uint a, uint b, uint c) { return a * b + c; }
__shim int mul24(int a, int b) { return a * b; }
__shim uint mul24(uint a, uint b) { return a * b; }
__shim uint extract_bits(uint v, uint offset, uint bits) {
  return bits == 0 ? 0u : bits >= 32 ? v >> offset : (v >> offset) & ((1u << bits) - 1u);
}
__shim int extract_bits(int v, uint offset, uint bits) {
  return bits == 0 ? 0 : (v << (32 - offset - bits)) >> (32 - bits);
}
__shim ulong extract_bits(ulong v, uint offset, uint bits) {
  return bits == 0 ? 0ul : bits >= 64 ? v >> offset : (v >> offset) & ((1ul << bits) - 1ul);
}
__shim uint insert_bits(uint base, uint insert, uint offset, uint bits) {
  uint mask = bits >= 32 ? ~0u : ((1u << bits) - 1u) << offset;
  return (base & ~mask) | ((insert << offset) & mask);
}

__shim float unpack_unorm8(uint v, int i) { return (float)((v >> (8 * i)) & 255u) / 255.0f; }
__shim float unpack_snorm8(uint v, int i) { return max((float)(char)(v >> (8 * i)) / 127.0f, -1.0f); }
__shim vec<float, 4> unpack_unorm4x8_to_float(uint v) {
  return (vec<float, 4>)(unpack_unorm8(v, 0), unpack_unorm8(v, 1), unpack_unorm8(v, 2), unpack_unorm8(v, 3));
}
__shim vec<float, 4> unpack_snorm4x8_to_float(uint v) {
  return (vec<float, 4>)(unpack_snorm8(v, 0), unpack_snorm8(v, 1), unpack_snorm8(v, 2), unpack_snorm8(v, 3));
}
__shim uint pack_float_to_unorm4x8(vec<float, 4> v) {
  uint out = 0;
  for (int i = 0; i < 4; ++i) out |= (uint)rint(saturate(v[i]) * 255.0f) << (8 * i);
  return out;
}

}  // namespace metal
