#version 450
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer B { uint b[]; };
layout(push_constant) uniform P { uint n; } p;
void main() { b[0] = p.n; }
