"""Published kernels, timed from their authors' own files.

The TOML files here name repositories, commits, files, functions and arguments; the numbers that
were measured are in data/latencies.json. No foreign code is here: kernels are loaded from checkouts
that the user has, by the same front ends as `neuron-sim run`.
"""
