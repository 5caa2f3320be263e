"""Calls of kernels: arguments, traces kept as programs, runs, ranks."""
