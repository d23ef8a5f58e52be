// Ways to write entry points and their arguments.
#include <metal_stdlib>
using namespace metal;

#define BASE 2

struct Shape {
    uint2 size;
    ulong stride;
};

kernel void implicit_indices(device const char *src0, constant Shape &shape, device char *dst, threadgroup char *scratch,
                             uint3 tgpig[[threadgroup_position_in_grid]], ushort tiisg[[thread_index_in_simdgroup]],
                             ushort3 ntg[[threads_per_threadgroup]]) {
    scratch[tiisg] = src0[tgpig.x * shape.stride];
    dst[tgpig.y] = scratch[ntg.x - 1];
}
[[kernel]] [[max_total_threads_per_threadgroup(256)]] void bracketed(device float *x [[buffer(0)]],
                                                                     uint i [[thread_position_in_grid]]) {
    x[i] += 1.0f;
}
[[max_total_threads_per_threadgroup(64)]]
kernel void stacked(
    device float *x [[ buffer( BASE + 1 ) ]],
    const device int *y [[ buffer(BASE) ]],
    const constant Shape *shapes [[ buffer(0) ]],
    uint2 tid [[ thread_position_in_grid ]],
    uint2 grid [[ threads_per_grid ]],
    uint index [[ thread_index_in_threadgroup ]],
    uint sg [[ simdgroup_index_in_threadgroup ]],
    uint sgs [[ simdgroups_per_threadgroup ]])
{
    x[tid.y * grid.x + tid.x] = y[index] + shapes[0].size.x + sg + sgs;
}
kernel void raw(device const void *src [[buffer(0)]], device void *dst [[buffer(1)]], const uint i [[thread_position_in_grid]]) {
    device const uint *in = (device const uint *)src;
    device uint *out = reinterpret_cast<device uint *>(dst);
    out[i] = in[i] ^ 1;
}
kernel void unused_arguments(device float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]],
                             uint j [[thread_index_in_quadgroup]]) {
    x[0] = 1.0f;
}
template <typename T>
kernel void copy(device const T *src [[buffer(0)]], device T *dst [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    dst[i] = src[i];
}
template [[host_name("copy_uchar")]] kernel void copy<uchar>(device const uchar *src [[buffer(0)]],
                                                              device uchar *dst [[buffer(1)]],
                                                              uint i [[thread_position_in_grid]]);
template [[host_name("copy_float4")]] [[kernel]] void copy<float4>(device const float4 *, device float4 *, uint);
typedef decltype(copy<half>) copy_t;
template [[host_name("copy_half2")]] kernel decltype(copy<half2>) copy<half2>;
template [[host_name("copy_half")]] kernel copy_t copy<half>;
