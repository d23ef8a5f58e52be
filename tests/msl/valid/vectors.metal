// Vector expressions that need care off macOS. Nothing here is a mistake.
#include <metal_stdlib>
using namespace metal;

struct Particle {
    packed_float3 position;
    float mass;
    packed_half4 color;
    uchar4 tag;
};

float4 swizzles(float4 v) {
    v.zyx = v.xyz;
    v.rgba = v.abgr;
    v.xy += v.wz.yx;
    return v.xxyy * v.zyx.xyz.xxyz;
}
float4 constructors(float2 a, float b, half2 h, int3 i) {
    float4 first = float4(a, b, 1);
    float4 second = float4(b, a, 0.5);
    float4 third(1.0f);
    float4 fourth = float4(float3(i), b) + float4(float2(h), a) + float4();
    return first + second + third + fourth;
}
float3 braces(float x) {
    float3 a = {x, x + 1.0f, 2.0f};
    float3 b{1.0f, 2.0f, 3.0f};
    float4 zero = {0.f};
    float4 sums[4] = {{0.f}};
    half4 pair[2] = {half4(0), half4(1)};
    float2 u = {0}, w = {1, 2};
    sums[1] += zero;
    return a + b + float3(pair[1].xyz) + sums[1].xyz + float3(u, w.x);
}
half4 casts(float4 v, half4 h, uint4 u) {
    half4 a = (half4)v * 2.0h;
    half4 b = -(half4)v + (half4)(v + 1.0f);
    half4 c = (half4)v.wzyx, d = (half4)(float4)h;
    half4 e = half4(u) + static_cast<half4>(v);
    return a + b + c + d + e + half4(as_type<float4>(u));
}
float4 narrow_casts(half4 h, float s) {
    const int n = (int)s + (int)h.x;
    return (float4)h * s + (float4)n - (float4)(half)s;
}
bool4 comparisons(float4 a, float4 b) {
    bool4 less = a < b;
    bool4 both = less && bool4(true, false, true, true);
    if (all(a == b) || any(a > b) || all(both)) {
        return !less;
    }
    return bool4(a.x < b.x, false, less.y, less[2]);
}
float4 selections(float4 a, float4 b, bool c) {
    float4 m = select(a, b, a < b);
    float4 n = a < b ? a : b;
    return c ? m : n;
}
float4 scalar_beside_vector(float4 a, half4 h, float s, int i) {
    float4 m = a * s + s * a - 1 / a + a / 2 + 0.5 * a;
    half4 n = h * 0.5f + s * h;
    h *= s;
    m += i;
    return m * float4(n + h);
}
float4 mixed_library(float4 v, float s) {
    return clamp(v, 0.0f, 1.0f) + max(v, 0.5f) + min(v, s) + mix(v, v.wzyx, s) + mix(v, v, v) + fma(v, v, v) + saturate(v)
         + smoothstep(v, v + 1.0f, v) + step(v, v) + sign(v) + fract(v) + powr(v, v) + copysign(v, -v);
}
float geometry(float3 a, float3 b) {
    return dot(a, b) + length(a) + distance(a, b) + dot(normalize(a), cross(a, b)) + length_squared(reflect(a, b));
}
float packed(device Particle *p, uint i) {
    packed_float3 q = p[i].position;
    q.x += 1.0f;
    q *= 2.0f;
    p[i].position = q;
    p[i].position = float3(q) + 1.0f;
    float3 wide = q * 2.0f + p[i].position;
    wide += float3(p[i].position);
    half4 color = half4(p[i].color);
    float4 tag = float4(p[i].tag) / 255.0f;
    return wide.x + q[1] + dot(float3(q), wide) + float(color.y) + tag.z + p[i].position.y;
}
int4 integers(int4 a, uint4 u, short2 s) {
    int4 b = a << 2 | a >> 1 & ~a ^ int4(u);
    b += int4(s, s.yx);
    b = max(b, a) + clamp(b, -4, 4) + abs(b) + min(b, int4(7)) + popcount(a) + int4(clz(u));
    return b % 3;
}
float4 indexed(float4 v, uint i) {
    v[i & 3] = v[(i + 1) & 3];
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
        sum += v[k];
    }
    return float4(sum);
}
kernel void vectors(device float4 *out [[buffer(0)]], device Particle *p [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    float4 v = out[i];
    half4 h = casts(v, half4(v), uint4(v));
    v = swizzles(v) + constructors(v.xy, v.z, h.xy, int3(v.xyz)) + float4(braces(v.x), packed(p, i));
    v += narrow_casts(h, v.x) + selections(v, v.wzyx, v.x > 0) + scalar_beside_vector(v, h, v.x, 3);
    v += mixed_library(v, v.y) + geometry(v.xyz, v.yzw) + float4(integers(int4(v), uint4(v), short2(v.xy)));
    if (all(comparisons(v, v.wzyx))) {
        v = indexed(v, i);
    }
    out[i] = v;
}
