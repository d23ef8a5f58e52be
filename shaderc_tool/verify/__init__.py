"""Run kernels and compare with references."""
