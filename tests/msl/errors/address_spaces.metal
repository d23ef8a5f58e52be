// Pointers and references that change their address space, and stores to what is read-only.
#include <metal_stdlib>
using namespace metal;

struct Args {
    uint n;
    float scale;
};

constant float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};

float sum_shared(threadgroup const float *values, uint n);
void bump(thread float &x);
float norm(device const float *x);

void device_as_threadgroup(device const float *x, device float *y) {
    y[0] = sum_shared(x, 4);  // expect: no matching function for call to 'sum_shared'
}
void device_as_thread_pointer(device float *x) {
    thread float *p = x;  // expect: 'thread float \*' with .* 'device float \*'
    p[0] = 1.0f;
}
void constant_as_device(constant float *x, device float *y) {
    y[0] = norm(x);  // expect: no matching function for call to 'norm'
}
void store_through_const(device const float *x) {
    x[1] = 2.0f;  // expect: read-only|const
}
void store_to_constant(constant Args &args) {
    args.n = 3;  // expect: const
}
void store_to_table(device float *y) {
    table[1] = 2.0f;  // expect: constant address space
    y[0] = table[0];
}
void bind_device_to_thread(device float *x) {
    bump(x[0]);  // expect: no matching function for call to 'bump'
}
void cast_device_to_threadgroup(device float *x, device float *y) {
    threadgroup float *p = (threadgroup float *)x;  // expect: address space
    y[0] = p[0];
}
void reinterpret_device_as_thread(device float *x, device uint *y) {
    y[0] = *reinterpret_cast<thread uint *>(x);  // expect: address space|reinterpret_cast
}
void threadgroup_to_device(threadgroup float *s, device float *y) {
    device float *p = s;  // expect: 'device float \*' with .* 'threadgroup float \*'
    y[0] = p[0];
}
void return_wrong_space(device float *y) {
    thread float local = 1.0f;
    device float *p = &local;  // expect: 'device float \*' with .* '(thread )?float \*'
    y[0] = p[0];
}
float total;  // expect: program-scope variable 'total' must be in the constant address space
static int counter = 0;  // expect: program-scope variable 'counter' must be in the constant address space
void atomic_in_thread(device uint *y) {
    thread atomic_uint a;
    y[0] = atomic_fetch_add_explicit(&a, 1u, memory_order_relaxed);  // expect: no matching function for call to 'atomic_fetch_add_explicit'
}
float plain_pointer(float *x) {  // expect: pointer 'x' has no address space
    return x[0];
}
void plain_reference(device float *y) {
    float value = y[0];
    float4 &other = *(thread float4 *)&value;  // expect: reference 'other' has no address space
    y[0] = other.x;
}
