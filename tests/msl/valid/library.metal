// The standard library, piece by piece.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

float exact(float x, float y) {
    return sin(x) + precise::cos(x) + fast::exp(y) + metal::pow(x, y) + fma(x, y, 1.0f) + atan2(y, x) + rsqrt(x) + exp2(y)
         + log2(x) + tanh(y) + fmod(x, y) + rint(x) + trunc(y) + round(x) + ceil(x) + floor(y) + fabs(x) + abs(y)
         + ldexp(x, 3) + max3(x, y, 1.0f) + median3(x, y, 2.0f) + sinpi(x) + degrees(x) + fdim(x, y) + precise::exp(x)
         + precise::divide(x, y) + fmax(x, 0) + fmin(1, y) + clamp(x, 0.0f, 1.0f) + saturate(y) + mix(x, y, 0.5f);
}
float out_arguments(float x) {
    float c, whole;
    int e;
    float s = sincos(x, c);
    return s + c + modf(x, whole) + whole + frexp(x, e) + e;
}
half halves(half x) {
    half a = 1.0h, b = 0.5h;
    return sqrt(x) * a + b + max(x, b) + exp(x) + x * 2 - half(0.25) + (x > 0 ? x : -x) + HALF_MAX + min(a, x) + abs(x);
}
bool classes(float x) {
    return isnan(x) || isinf(x) || !isfinite(x) || isnormal(x) || signbit(x) || x == INFINITY || x == -INFINITY || x != NAN;
}
uint bits(uint x, ulong w, int y) {
    uint a = popcount(x) + clz(x) + ctz(x) + reverse_bits(x) + rotate(x, 3u) + extract_bits(x, 4, 8) + mulhi(x, 7u);
    uint b = insert_bits(x, 5u, 8, 4) + absdiff(x, 3u) + hadd(x, 1u) + addsat(x, 9u) + subsat(x, 9u) + as_type<uint>(1.5f);
    return a + b + uint(extract_bits(w, 3u, 5u)) + uint(abs(y)) + uint(clamp(y, -1, 1)) + uint(max(y, 0));
}
float limits() {
    return numeric_limits<float>::max() + numeric_limits<float>::infinity() + float(numeric_limits<int>::min())
         + float(numeric_limits<uint>::max()) + FLT_MAX + FLT_EPSILON + M_PI_F + float(INT_MAX) + MAXFLOAT;
}
float bfloats(device bfloat *p, uint i) {
    bfloat b = p[i];
    b += bfloat(1.0f);
    p[i] = bfloat(float(b) * 2.0f);
    p[i + 1] = static_cast<bfloat>(3.0f);
    return float(b) + (float)p[i];
}
float matrices(float4 v) {
    float4x4 m = float4x4(1.0f);
    float3x3 r(float3(1, 0, 0), float3(0, 1, 0), float3(0, 0, 1));
    float2x2 s = float2x2(1, 2, 3, 4);
    m[1][2] = 3.0f;
    m[3] = v;
    m[0].xy = v.zw;
    float4x4 n = transpose(m) * m + m * 2.0f - 0.5f * m;
    half4x4 h = half4x4(n);
    float4 w = n * v + v * m + (float4x4(h) * v);
    return w.x + determinant(r) + determinant(s) + (r * v.xyz).y + n[2].w + float(h[1][1]);
}
float groups(float x, uint u, half h, ushort lane) {
    float a = simd_sum(x) + simd_max(x) + simd_shuffle(x, lane) + simd_shuffle_down(x, 1) + simd_shuffle_xor(x, ushort(16));
    float b = simd_broadcast(x, 0) + simd_prefix_inclusive_sum(x) + simd_prefix_exclusive_sum(x) + quad_sum(x);
    float c = float(simd_min(u) + simd_or(u) + simd_and(u)) + float(simd_sum(h)) + simd_broadcast_first(x);
    float4 v = simd_sum(float4(x)) + simd_shuffle_up(float4(x), 2);
    bool every = simd_all(x > 0) || simd_any(x < 0);
    simdgroup_barrier(mem_flags::mem_none);
    return a + b + c + v.x + (every ? 1.0f : 0.0f) + simd_shuffle_and_fill_down(x, 0.0f, 1) + quad_shuffle_xor(x, 1);
}
void products(device const half *a, device const half *b, device float *c, threadgroup float *t) {
    simdgroup_half8x8 ma, mb;
    simdgroup_float8x8 mc = make_filled_simdgroup_matrix<float, 8>(0.f);
    simdgroup_matrix<float, 8, 8> md(0.0f);
    simdgroup_load(ma, a, 8);
    simdgroup_load(mb, b, 8, ulong2(0, 0), true);
    simdgroup_multiply_accumulate(mc, ma, mb, mc);
    simdgroup_multiply(md, ma, mb);
    simdgroup_store(mc, c, 8);
    simdgroup_store(md, t, 8, 0, false);
}
uint atomics(device atomic_uint *a, device atomic_int *b, device atomic_float *f, threadgroup atomic_uint *t,
             volatile device atomic_uint *v) {
    uint old = atomic_fetch_add_explicit(a, 1u, memory_order_relaxed);
    old += atomic_fetch_sub_explicit(a, 1, memory_order_relaxed) + atomic_fetch_or_explicit(t, 4u, memory_order_relaxed);
    old += uint(atomic_fetch_min_explicit(b, -3, memory_order_relaxed)) + atomic_exchange_explicit(v, 2u, memory_order_relaxed);
    atomic_fetch_add_explicit(f, 0.5f, memory_order_relaxed);
    atomic_store_explicit(a, 0, memory_order_relaxed);
    uint expected = atomic_load_explicit(a, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(a, &expected, expected + 2, memory_order_relaxed, memory_order_relaxed)) {
    }
    return old + expected;
}
kernel void library(device float *x [[buffer(0)]], device bfloat *bf [[buffer(1)]], device const half *h [[buffer(2)]],
                    device atomic_uint *a [[buffer(3)]], device atomic_int *b [[buffer(4)]],
                    device atomic_float *f [[buffer(5)]], threadgroup float *t [[threadgroup(0)]],
                    threadgroup atomic_uint *ta [[threadgroup(1)]], uint i [[thread_position_in_grid]],
                    ushort lane [[thread_index_in_simdgroup]], uint width [[threads_per_simdgroup]]) {
    float s = x[i];
    s = exact(s, s) + out_arguments(s) + float(halves(half(s))) + float(bits(i, i, int(i))) + limits() + bfloats(bf, i);
    s += matrices(float4(s)) + groups(s, i, half(s), lane) + float(atomics(a, b, f, ta, a)) + width;
    products(h, h + 64, x, t);
    x[i] = classes(s) ? s : 0.0f;
}
