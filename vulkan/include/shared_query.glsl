// The query in shared memory: lanes that each score a row read the same four elements at the same time, a broadcast.

#ifndef SHARED_QUERY_GLSL
#define SHARED_QUERY_GLSL

#include "group_index.glsl"

shared vec4 shared_query[LANES];

#endif
