#include <metal_stdlib>
using namespace metal;

#if __METAL_VERSION__ < 9900
#error needs a newer language // expect: needs a newer language
#endif
