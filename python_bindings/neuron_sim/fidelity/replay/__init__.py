"""Replays profiles of real kernels: their instructions, simulated one by one."""
