"""Measurements that no value and no rule of the model was fitted to.

The TOML files here name test suites of kernels: repository, commit, file, method, and one row of
parameters per measurement, as the suite has it with the time that its authors recorded. A row is
run as the suite runs it, from a checkout that the user has, up to where the suite would hand the
kernel to its own harness. No foreign code is here. The errors of these kernels are what intervals
of simulated times are made of (neuron_sim.timeline.interval).
"""
