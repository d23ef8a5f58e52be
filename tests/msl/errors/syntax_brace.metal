#include <metal_stdlib>
using namespace metal;

kernel void scale(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i > 4) {
        x[i] *= 2.0f;
}  // expect: expected '}'
