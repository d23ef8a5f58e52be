"""Bytes in, values out; no I/O."""
