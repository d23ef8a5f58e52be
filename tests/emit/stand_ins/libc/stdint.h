#pragma once
typedef unsigned long long uint64_t;
