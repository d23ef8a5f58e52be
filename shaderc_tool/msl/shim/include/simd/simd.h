#include "../metal_macros.h"
