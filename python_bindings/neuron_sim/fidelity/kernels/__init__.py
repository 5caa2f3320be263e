"""Kernels of the published measurements, written from their descriptions.

Each module has `match(measurement) -> Case | None`: it reads tile sizes, variant and shapes from
the texts of the measurement, and returns None for any it cannot build. Modules without it are parts
of others.
"""
