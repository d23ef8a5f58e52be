// A mistake inside a macro is reported where the macro is used.
#include <metal_stdlib>
using namespace metal;

#define SQUARE(x) ((x) * (x) * undefined_factor)

kernel void square(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = SQUARE(x[i]);  // expect: undeclared identifier 'undefined_factor'
}
