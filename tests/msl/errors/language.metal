// What Metal leaves out of C++.
#include <metal_stdlib>
using namespace metal;

void no_double(device float *y) {
    double x = 1.0;  // expect: 'double' is not supported in Metal
    y[0] = x;
}
struct Shape {
    virtual float area() const;  // expect: 'virtual' is not supported in Metal
};
void no_goto(device float *y) {
    goto end;  // expect: 'goto' is not supported in Metal
end:
    y[0] = 1.0f;
}
void no_allocation(device float *y) {
    thread float *p = new float[4];  // expect: 'new' is not supported in Metal
    y[0] = p[0];
}
void threadgroup_initializer(device float *y) {
    threadgroup float shared_value = 1.0f;  // expect: cannot have an initializer
    y[0] = shared_value;
}
