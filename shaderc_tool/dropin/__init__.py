"""`shaderpack-glslc`: glslc's command line with a cache and resident compilers behind it.

client  asks the server, or becomes the real glslc; `client.c` is the same in C, for builds of thousands of calls
server  one a user: answers from the store, compiles the rest, ends when idle
"""
