"""Kernels as their authors wrote them, each from its public source, as Builder calls."""
