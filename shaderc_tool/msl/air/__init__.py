"""AIR: the LLVM dialect of Metal libraries."""
