#include <metal_stdlib>
#include "not_there.h"  // expect: 'not_there.h' file not found
using namespace metal;
