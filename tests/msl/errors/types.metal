// Conversions between vectors, and operators on what they do not take.
#include <metal_stdlib>
using namespace metal;

struct Pair {
    float a;
    float b;
};

float single(float4 v);

void missing_component(float3 v, device float *y) {
    y[0] = v.w;  // expect: exceeds type 'float3'
}
void narrower_vector(float4 v, device float *y) {
    float3 a = v;  // expect: 'float3' with an lvalue of type 'float4'
    y[0] = a.x;
}
void wider_vector(float3 v, device float4 *y) {
    y[0] = v;  // expect: 'float4' from incompatible type 'float3'
}
void half_from_float(float4 v, device half4 *y) {
    half4 h = v;  // expect: 'half4' with an lvalue of type 'float4'
    y[0] = h;
}
void float_from_int(int4 v, device float4 *y) {
    y[0] = v;  // expect: 'float4' from incompatible type 'int4'
}
void scalar_from_vector(float2 v, device float *y) {
    y[0] = v;  // expect: 'float' from incompatible type 'float2'
}
void too_few_components(device float3 *y) {
    y[0] = float3(1.0f, 2.0f);  // expect: too few elements|number of components
}
void too_many_components(float3 a, float2 b, device float4 *y) {
    y[0] = float4(a, b);  // expect: number of components
}
void shrinking_constructor(float4 v, device float2 *y) {
    y[0] = float2(v);  // expect: number of components
}
void repeated_component(float4 v, device float4 *y) {
    v.xx = float2(1.0f, 2.0f);  // expect: not assignable
    y[0] = v;
}
void remainder_of_floats(float a, float b, device float *y) {
    y[0] = a % b;  // expect: invalid operands to binary expression
}
void bits_of_floats(float a, float b, device float *y) {
    y[0] = a & b;  // expect: invalid operands to binary expression
}
void structure_as_number(Pair p, device float *y) {
    y[0] = p + 1.0f;  // expect: invalid operands to binary expression
}
void unknown_member(Pair p, device float *y) {
    y[0] = p.c;  // expect: no member named 'c' in 'Pair'
}
void vector_as_argument(float3 v, device float *y) {
    y[0] = single(v);  // expect: no matching function for call to 'single'
}
void bits_of_other_size(half h, device uint *y) {
    y[0] = as_type<uint>(h);  // expect: same size
}
void condition_is_vector(float4 a, float4 b, device float *y) {
    if (a < b) {  // expect: bool
        y[0] = 1.0f;
    }
}
void mixed_maximum(uint a, int b, device uint *y) {
    y[0] = max(a, b);  // expect: call to 'max' is ambiguous
}
void mixed_minimum(half a, float b, device float *y) {
    y[0] = fmin(a, b) + min(a, b, 1);  // expect: ambiguous|no matching
}
void pointer_to_other_type(device float *x, device int *y) {
    y = x;  // expect: 'device int \*' from 'device float \*'
}
