// Templates, instantiations with host names, macros that make kernels, and words that other dialects reserve.
#include <metal_stdlib>
using namespace metal;

#define FOR_UNROLL(x) _Pragma("clang loop unroll(full)") for (x)
#define INSTANTIATE(name, type) \
    template [[host_name("scale_" #name)]] [[kernel]] void scale<type>(device type *, constant float &, uint);

constant bool has_bias [[function_constant(0)]];
constant int columns [[function_constant(10 + 1)]];

template <typename T>
[[kernel]] void scale(device T *x [[buffer(0)]], constant float &factor [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    x[i] = T(float(x[i]) * factor);
}
INSTANTIATE(f32, float)
INSTANTIATE(f16, half)
INSTANTIATE(i32, int)

template <typename type4>
void dequantize(device const uchar *q, short il, thread type4 &reg) {
    for (int i = 0; i < 4; ++i) {
        reg[i] = q[il * 4 + i];
    }
}
template <typename T, typename T4, int N, void (*dequantize_func)(device const uchar *, short, thread T4 &)>
kernel void expand(device const uchar *q [[buffer(0)]], device T4 *y [[buffer(1)]],
                   ushort i [[thread_index_in_threadgroup]], ushort2 g [[threadgroup_position_in_grid]]) {
    T4 reg;
    FOR_UNROLL (short k = 0; k < N; ++k) {
        dequantize_func(q, k, reg);
        y[i + g.x] = (T4)reg * T(2);
    }
}
typedef decltype(expand<float, float4, 2, dequantize>) expand_t;
template [[host_name("expand_f32")]] kernel expand_t expand<float, float4, 2, dequantize>;
template [[host_name("expand_f16")]] kernel decltype(expand<half, half4, 4, dequantize>) expand<half, half4, 4, dequantize>;

template <typename T>
struct Limits {
    static constexpr constant T lowest = T(-1);
};
template <>
struct Limits<float> {
    static constexpr constant float lowest = -INFINITY;
};
template <typename T, int N = 4>
struct Tile {
    T values[N];
    T sum() const {
        T s = T(0);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            s += values[i];
        }
        return s;
    }
    template <typename U>
    void fill(U v) {
        for (int i = 0; i < N; ++i) {
            values[i] = static_cast<T>(v);
        }
    }
};
template <typename T, typename U>
struct Add {
    T operator()(T a, U b) const { return a + T(b); }
};
template <typename... Args>
float total(Args... args) {
    return (0.0f + ... + float(args));
}
template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
T half_of(T x) {
    return x * T(0.5);
}
template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
T half_of(T x) {
    return x >> 1;
}
template <typename T>
float kind() {
    if constexpr (is_same_v<T, half>) {
        return 16.0f;
    } else if constexpr (sizeof(T) == 4) {
        return 32.0f;
    } else {
        return 0.0f;
    }
}
constexpr int square(int x) { return x * x; }
enum class Mode : uint { none, sum = 4, product };
enum { kTile = 16 };

namespace inner {
namespace deep {
float pick(Mode m) { return m == Mode::sum ? 1.0f : 0.0f; }
}
using deep::pick;
kernel void in_namespace(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = pick(Mode::product);
}
}  // namespace inner

float lambdas(float x) {
    int n = 3;
    auto twice = [](float v) { return v * 2.0f; };
    auto shift = [&](float v) -> float { n += 1; return v + n; };
    auto scaled = [=](float v) { return v * n; };
    return twice(x) + shift(x) + scaled(x);
}
float reserved_words(float global, float local) {
    float pipe = global, uniform = local, generic = 1.0f, vec_step = 2.0f;
    int kernel_size = 3, type = 4, vertex_count = 5;
    return pipe + uniform + generic + vec_step + kernel_size + type + vertex_count;
}
kernel void generic_code(device float *x [[buffer(0)]], device const float *bias [[buffer(1), function_constant(has_bias)]],
                         device atomic_int *hits [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    Tile<float> tile;
    tile.fill(x[i]);
    Tile<half, 2> small = {{1.0h, 2.0h}};
    float a[kTile], b[square(3)];
    for (int k = 0; k < kTile; ++k) {
        a[k] = tile.sum();
        b[k % 9] = a[k];
    }
    float sum = a[i & 15] + b[i % 9] + small.sum() + Add<float, int>()(1.0f, 2) + total(1, 2.0f, 3.0h, 4u);
    sum += half_of(3.0f) + half_of(7) + kind<half>() + kind<uint>() + Limits<float>::lowest + Limits<int>::lowest;
    sum += lambdas(sum) + reserved_words(sum, sum);
    switch (i % 3) {
        case 0: sum += 1; break;
        case 1: { float t = sum; sum = t * 2; } break;
        default: sum -= 1;
    }
    do { sum *= 0.5f; } while (sum > 10.0f);
    if (has_bias) {
        sum += bias[i] * columns;
    }
    if (sum > 0) {
        atomic_fetch_max_explicit(&hits[0], int(sum), memory_order_relaxed);
    }
    x[i] = sum;
}
