// Names that are not declared, declared twice, or called with the wrong arguments.
#include <metal_stdlib>
using namespace metal;

float weight(float a, float b);

void unknown_name(device float *y) {
    y[0] = missing;  // expect: undeclared identifier 'missing'
}
void misspelt_builtin(float x, device float *y) {
    y[0] = sqrtt(x);  // expect: did you mean 'sqrt'
}
void unknown_type(device float *y) {
    flaot x = 1.0f;  // expect: unknown type name 'flaot'
    y[0] = x;
}
void too_few_arguments(device float *y) {
    y[0] = weight(1.0f);  // expect: no matching function for call to 'weight'
}
void too_many_arguments(device float *y) {
    y[0] = weight(1.0f, 2.0f, 3.0f);  // expect: no matching function for call to 'weight'
}
void defined_twice(device float *y) {
    y[0] = 1.0f;
}
void defined_twice(device float *y) {  // expect: redefinition of 'defined_twice'
    y[0] = 2.0f;
}
void variable_twice(device float *y) {
    float a = 1.0f;
    float a = 2.0f;  // expect: redefinition of 'a'
    y[0] = a;
}
void call_a_number(float x, device float *y) {
    y[0] = x(1.0f);  // expect: not a function
}
float4 wrong_return(float x) {
    return int2(1, 2);  // expect: 'float4'
}
void value_from_void(device float *y) {
    return y[0];  // expect: should not return a value
}
void constant_local(device float *y) {
    const float k = 1.0f;
    k = 2.0f;  // expect: const-qualified
    y[0] = k;
}
void dereference_a_number(float x, device float *y) {
    y[0] = *x;  // expect: indirection requires pointer operand
}
void subscript_a_number(float x, device float *y) {
    y[0] = x[0];  // expect: subscripted value is not
}
void wrong_flag(device float *y) {
    threadgroup_barrier(mem_flags::mem_threadgrp);  // expect: did you mean 'mem_threadgroup'
    y[0] = 1.0f;
}
template <typename T>
T twice(T x) {
    return x + x.scale;  // expect: member
}
void use_twice(device float *y) {
    y[0] = twice(1.0f);
}
template <int N>
struct Sized {
    static_assert(N > 1, "at least two");  // expect: at least two
    float values[N];
};
void use_sized(device float *y) {
    Sized<1> s;
    y[0] = s.values[0];
}
