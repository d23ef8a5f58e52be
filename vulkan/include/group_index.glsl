// Work-group shape of the row kernels, and row numbers beyond 65535.

#ifndef GROUP_INDEX_GLSL
#define GROUP_INDEX_GLSL

#define LANES 32u
#define HEAD_DIM 128u

layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;

// A dimension of a dispatch is only sure to reach 65535, so hosts fold the rest into the next one: x into y here, and
// y into z for the kernels whose x is the head. The last fold may start groups past the end: compare with the count.
uint folded_xy() {
    return gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
}

uint folded_yz() {
    return gl_WorkGroupID.y + gl_WorkGroupID.z * gl_NumWorkGroups.y;
}

#endif
