"""`neuron-sim run`: unchanged NKI scripts, on the simulator instead of a chip.

The command starts the script in a fresh interpreter (the process is replaced, so that arguments,
exit code, signals and tracebacks are Python's) whose environment carries three things, which
its child processes inherit:

- PYTHONPATH begins with `run/site`, whose `sitecustomize` installs the import hook (aliases.py):
  `neuronxcc.nki` and `nki` are the packages of the simulator;
- PATH begins with `run/bin`, where `neuron-profile` is the command `neuron-sim profile`;
- the variables of settings.py carry the command line's options.
"""
