#pragma once
typedef unsigned long size_t;
