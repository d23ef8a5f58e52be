// The simplest kernel that moves memory: 16 bytes a lane.

#version 450

layout(local_size_x = 256) in;

layout(std430, set = 0, binding = 0) readonly buffer From {
    uvec4 from[];
};

layout(std430, set = 0, binding = 1) writeonly buffer To {
    uvec4 to[];
};

void main() {
    uint i = gl_WorkGroupID.x * 256u + gl_LocalInvocationID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x * 256u;
    if (i < from.length()) {
        to[i] = from[i];
    }
}
