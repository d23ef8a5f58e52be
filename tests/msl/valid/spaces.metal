// Address spaces: copies, methods, references, templates over them, program-scope constants.
#include <metal_stdlib>
using namespace metal;

struct Block {
    half d;
    uchar qs[16];
    float scale() const { return float(d) * 2.0f; }
    float at(int i) const { return scale() * qs[i]; }
};
struct Args {
    int ne[4];
    ulong nb[4];
    float eps;
    float3 origin;
};
struct Pointers {
    device const float *src;
    device float *dst;
    constant Args *args;
};
struct Base {
    int first;
};
struct Derived : Base {
    int second;
    int total() const { return first + second; }
};

constant float lut[4] = {0.25f, 0.5f, 0.75f, 1.0f};
constant constexpr int kSize = 8;
constexpr constant static uchar masks[] = {1, 2, 4, 8};
constant Args defaults = {{1, 2, 3, 4}, {1ul, 2ul, 3ul, 4ul}, 1e-5f, {1.0f, 2.0f, 3.0f}};
constant float2 pairs[2] = {{1.0f, 2.0f}, {3.0f, 4.0f}};
constant half kHalf = 0.5h;
static constant float4 axis = float4(1.0f, 0.0f, 0.0f, 1.0f);

struct Traits {
    static constexpr constant int width = 4;
    static constant constexpr float gain = 1.5f;
};

float copies(device const Block *blocks, constant Args &args, threadgroup Block *shared_block, uint i) {
    Block b = blocks[i];
    Args a = args;
    shared_block[0] = b;
    Block c = shared_block[0];
    device const Block &r = blocks[i + 1];
    thread Block *p = &c;
    return b.scale() + a.eps + c.at(3) + r.at(2) + p->at(1) + blocks[i].scale() + args.origin.x + shared_block->at(0);
}
float first_of(constant float *table, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        sum += table[i];
    }
    return sum;
}
template <typename P>
float sum_of(P values, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        sum += values[i];
    }
    return sum;
}
template <typename T>
T load(device const T *p) {
    return *p;
}
template <typename T>
T load(threadgroup const T *p) {
    return *p;
}
template <typename T>
T load(thread const T *p) {
    return *p;
}
float overloads(device float *d, threadgroup float *t) {
    float local = 3.0f;
    float global = load(d) + load(t);
    return load(&local) + global;
}
float tables(int i) {
    float sum = lut[i & 3] + first_of(lut, 4) + first_of(&lut[1], 2) + float(masks[i & 3]) + pairs[1].y;
    sum += defaults.eps + defaults.ne[2] + axis.x + float(kHalf) + Traits::gain + Traits::width;
    float private_table[kSize];
    for (int k = 0; k < kSize; ++k) {
        private_table[k] = lut[k % 4];
    }
    return sum + sum_of(private_table, kSize) + sizeof(lut) / sizeof(lut[0]);
}
void out_parameters(thread float &a, thread float2 *b, device float &c) {
    a += 1.0f;
    b->x = a;
    c = b->y;
}
float arrays(thread float (&values)[4], thread const float4 &v) {
    values[0] = v.x;
    return values[0] + values[3];
}
int derived(device Derived *items, uint i) {
    Derived d = items[i];
    d.first += 1;
    items[i] = d;
    return d.total() + items[i].second;
}
float through(Pointers p, int i) {
    p.dst[i] = p.src[i] * p.args->eps;
    return p.src[i + 1];
}
kernel void spaces(device const Block *blocks [[buffer(0)]],
                   constant Args &args [[buffer(1)]],
                   device float *out [[buffer(2)]],
                   device Derived *items [[buffer(3)]],
                   constant float *weights [[buffer(4)]],
                   threadgroup float *scratch [[threadgroup(0)]],
                   uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
    threadgroup Block shared_blocks[2];
    threadgroup float tile[4][8], row[8];
    threadgroup float2 one;
    threadgroup atomic_uint count;
    tile[lane & 3][lane & 7] = weights[lane];
    row[lane & 7] = tile[0][lane & 7];
    if (lane == 0) {
        one = float2(1.0f, 2.0f);
        atomic_store_explicit(&count, 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed);
    scratch[lane] = row[lane & 7] + one.y;
    float a = copies(blocks, args, shared_blocks, i) + tables(int(i)) + overloads(out, scratch);
    float2 b = {a, a};
    out_parameters(a, &b, out[i]);
    float values[4] = {1, 2, 3, 4};
    a += arrays(values, float4(b, b)) + derived(items, i) + sum_of(scratch, 4) + sum_of(weights, 4);
    Pointers p = {out, out, &args};
    out[i] = a + through(p, int(i)) + atomic_load_explicit(&count, memory_order_relaxed);
}

// Methods and constructors for each address space, as libraries write them.
template <typename T>
struct Complex {
    T real;
    T imag;
    constexpr Complex(T r, T i) thread : real(r), imag(i) {}
    constexpr Complex(T r, T i) constant : real(r), imag(i) {}
    constexpr operator T() const thread { return real; }
    constexpr operator T() const device { return real; }
    constexpr operator T() const constant { return real; }
    T norm() const { return real * real + imag * imag; }
    constexpr Complex operator*(Complex o) const thread {
        return {real * o.real - imag * o.imag, real * o.imag + imag * o.real};
    }
};
constant Complex<float> unit(1.0f, 0.0f);

kernel void complex_numbers(device Complex<float> *x [[buffer(0)]],
                            const constant int offsets[2] [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    Complex<float> a = x[i], b{1.0f, 2.0f};
    x[i] = a * b;
    x[i].imag = b.norm() + x[offsets[0]].norm() + float(x[offsets[1]]) + unit.real;
    bool4 flags = true;
    flags[i & 3] = false;
    if (any(!flags)) {
        x[i].real = 0.0f;
    }
}
