// Attributes and argument tables of entry points.
#include <metal_stdlib>
using namespace metal;

kernel void same_buffer(device float *x [[buffer(0)]],
                        device float *y [[buffer(0)]],  // expect: buffer index 0 is used by 'x' and by 'y'
                        uint i [[thread_position_in_grid]]) {
    y[i] = x[i];
}
kernel void high_buffer(device float *x [[buffer(31)]],  // expect: buffer index 31 is out of range
                        uint i [[thread_position_in_grid]]) {
    x[i] = 1.0f;
}
kernel void misspelt(device float *x [[buffer(0)]],
                     uint i [[thread_postion_in_grid]]) {  // expect: did you mean 'thread_position_in_grid'
    x[i] = 1.0f;
}
kernel void float_position(device float *x [[buffer(0)]],
                           float i [[thread_position_in_grid]]) {  // expect: type 'float' is not valid for attribute
    x[uint(i)] = 1.0f;
}
kernel void vector_index(device float *x [[buffer(0)]],
                         uint3 i [[thread_index_in_simdgroup]]) {  // expect: type 'uint3' is not valid for attribute
    x[i.x] = 1.0f;
}
kernel void no_attribute(device float *x [[buffer(0)]],
                         uint i) {  // expect: parameter 'i' of kernel 'no_attribute' needs an attribute
    x[i] = 1.0f;
}
kernel void thread_pointer(device float *x [[buffer(0)]],
                           thread float *scratch,  // expect: cannot point to the thread address space
                           uint i [[thread_position_in_grid]]) {
    x[i] = scratch[0];
}
kernel void bare_pointer(device float *x [[buffer(0)]],
                         float *y [[buffer(1)]],  // expect: has no address space
                         uint i [[thread_position_in_grid]]) {
    x[i] = 1.0f;
}
kernel void mixed_width(device float *x [[buffer(0)]],
                        uint2 i [[thread_position_in_grid]],
                        uint3 n [[threads_per_grid]]) {  // expect: 'n' has 3 components, but 'i' has 2
    x[i.x] = n.x;
}
kernel float returns_value(device float *x [[buffer(0)]],  // expect: kernel 'returns_value' must return void
                           uint i [[thread_position_in_grid]]) {
    return x[i];
}
[[max_total_threads_per_threadgroup(2048)]]  // expect: max_total_threads_per_threadgroup\(2048\)
kernel void too_many_threads(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1.0f;
}
kernel void threadgroup_in_buffer(device float *x [[buffer(0)]],
                                  threadgroup float *s [[buffer(1)]],  // expect: threadgroup pointer with a buffer index
                                  uint i [[thread_position_in_grid]]) {
    x[i] = s[0];
}
kernel void device_in_threadgroup(device float *x [[threadgroup(0)]],  // expect: device pointer with a threadgroup index
                                  uint i [[thread_position_in_grid]]) {
    x[i] = 1.0f;
}
kernel void value_in_buffer(device float *x [[buffer(0)]],
                            float scale [[buffer(1)]],  // expect: neither a pointer nor a reference
                            uint i [[thread_position_in_grid]]) {
    x[i] = scale;
}
kernel void same_threadgroup(device float *x [[buffer(0)]],
                             threadgroup float *a [[threadgroup(0)]],
                             threadgroup float *b [[threadgroup(0)]],  // expect: threadgroup index 0 is used by 'a' and by 'b'
                             uint i [[thread_position_in_grid]]) {
    x[i] = a[0] + b[0];
}
kernel void no_index(device float *x [[buffer]],  // expect: attribute 'buffer' needs an index
                     uint i [[thread_position_in_grid]]) {
    x[i] = 1.0f;
}
template <typename T>
kernel void fill(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = T(1);
}
template [[host_name("fill_f32")]] kernel void fill<float>(device float *, uint);
template [[host_name("fill_f32")]] kernel void fill<half>(device half *, uint);  // expect: two entry points are called 'fill_f32'
template [[host_name("fill_f64")]] kernel void fill<long4x>(device long *, uint);  // expect: long4x
