"""Host speed beside other simulators that PyPI has, each in its own process (`make bench-peers`).

problems.py and simulators.py say what runs; command.py runs it and prints the report that a table
of docs/performance.md is made of. Of the programs neuron.py runs in the project's environment,
scale_sim.py and pallas.py in one of their own.
"""
