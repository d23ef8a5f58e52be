#include <metal_stdlib>
using namespace metal;

kernel void scale(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a = 2.0f
    x[i] *= a;  // expect-before: expected ';'
}
