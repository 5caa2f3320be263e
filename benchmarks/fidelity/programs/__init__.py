"""Kernels as their authors wrote them, each from its public source, in the Builder's words."""
